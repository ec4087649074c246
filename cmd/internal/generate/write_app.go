package generate

import (
	"strconv"

	"github.com/iopathy/iopathy/ingest"
)

// What applications and their tracers would have told had each request been one
// of theirs.

// fioLogFormat is fio's log of latencies with log_unix_epoch and log_offset:
// milliseconds, ns, direction, bytes, offset, priority.
var fioLogFormat = Format{
	Name: "fio-log", Ext: "_lat.1.log", At: Completed, Device: func(v *Disk) string { return "fio:" + v.Name },
	Open: rowsOf("", func(*Disk) func(c []byte, r *Request) int {
		var times lead
		var sizes memo
		return func(c []byte, r *Request) int {
			n := times.put(c, r.At[Completed]/1e6)
			c[n], c[n+1] = ',', ' '
			n += 2
			n += digits(c[n:], r.LatencyNS())
			c[n], c[n+1], c[n+2], c[n+3], c[n+4] = ',', ' ', r.letter('0', '1'), ',', ' '
			n += 5
			n += sizes.put(c[n:], r.Size)
			c[n], c[n+1] = ',', ' '
			n += 2
			n += digits(c[n:], r.Offset)
			return n + copy(c[n:], ", 0x0000\n")
		}
	}),
}

// dftracerFormat is a .pfw of dftracer. Its reader knows no devices: each has a
// host of its own, which the log names.
var dftracerFormat = Format{
	Name: "dftracer", Ext: ".pfw", At: Completed, Host: alone, Device: func(*Disk) string { return "dftracer" },
	Open: func(v *Disk, out []*Output) Log {
		l := &dftracerLog{out: out[0], id: 3}
		b := append(out[0].Text, "[\n"...)
		for i, n := range [][3]string{{"HH", alone(v), "101"}, {"FH", "/dev/" + v.Name, "202"}} {
			b = decimal(append(b, `{"id":`...), int64(i+1))
			b = append(b, `,"name":"`+n[0]+`","cat":"dftracer","pid":1,"tid":1,"ph":"M","args":{"name":"`+n[1]+`","value":`+n[2]+"}}\n"...)
		}
		out[0].Written(b)
		return l
	},
}

type dftracerLog struct {
	out *Output
	id  int64
}

func (l *dftracerLog) Stage(_ Stage, r *Request) {
	b := decimal(append(l.out.Text, `{"id":`...), l.id)
	l.id++
	b = append(append(b, `,"name":"`...), call(r)...)
	b = decimal(append(b, `","cat":"POSIX","pid":`...), int64(r.PID))
	b = decimal(append(b, `,"tid":`...), r.thread())
	b = decimal(append(b, `,"ts":`...), r.At[Queued]/1e3)
	b = decimal(append(b, `,"dur":`...), r.LatencyNS()/1e3)
	b = decimal(append(b, `,"ph":"X","args":{"hhash":101,"fhash":202,"ret":`...), r.Size)
	if r.Op != ingest.OpFlush {
		b = decimal(append(b, `,"count":`...), r.Size)
		b = decimal(append(b, `,"offset":`...), r.Offset)
	}
	l.out.Written(append(b, "}}\n"...))
}

func (l *dftracerLog) End() { l.out.Written(append(l.out.Text, "]\n"...)) }

// darshanFormat is the text of darshan-dxt-parser. Its headings tell how many
// rows follow, so that a device's requests are told in files of some thousand.
var darshanFormat = Format{
	Name: "darshan-dxt", Ext: ".dxt.txt", At: Completed, Device: func(v *Disk) string { return "mount:" + mount(v) },
	Open: func(v *Disk, out []*Output) Log {
		b := append(out[0].Text, "# darshan log version: 3.41\n# compression method: ZLIB\n# exe: ./app\n# uid: 1000\n# jobid: 1\n"...)
		b = decimal(append(b, "# start_time: "...), startNS/1e9)
		b = decimal(append(b, "\n# end_time: "...), v.ToNS/1e9)
		b = append(b, "\n# nprocs: 1\n# metadata: lib_ver = 3.4.4\n\n# mounted file systems (mount point and fs type)\n# -------------------------------------------------------\n# mount entry:\t"...)
		b = append(append(b, mount(v)...), "\txfs\n\n# *******************************************************\n# DXT_POSIX module data\n# *******************************************************\n"...)
		out[0].Written(b)
		return &darshanLog{out: out[0], host: v.Host, mount: mount(v)}
	},
}

func mount(v *Disk) string { return "/mnt/" + v.Name }

// darshanRows is how many rows a file has.
const darshanRows = 4096

type darshanLog struct {
	out          *Output
	host, mount  string
	rows         []byte
	files        int64
	reads, wrote int64
}

func (l *darshanLog) Stage(_ Stage, r *Request) {
	word, n := "   read", &l.reads
	switch r.Op {
	case ingest.OpFlush:
		return
	case ingest.OpWrite:
		word, n = "  write", &l.wrote
	}
	b := append(append(l.rows, " X_POSIX       0"...), word...)
	b = padded(b, *n, 9)
	b = padded(append(b, ' '), r.Offset, 15)
	b = padded(append(b, ' '), r.Size, 15)
	b = seconds(append(b, "      "...), r.At[Queued]-startNS, 4)
	b = seconds(append(b, "      "...), r.At[Completed]-startNS, 4)
	l.rows = append(b, '\n')
	if *n++; l.reads+l.wrote == darshanRows {
		l.End()
	}
}

// End tells the rows in hand.
func (l *darshanLog) End() {
	if l.reads+l.wrote == 0 {
		return
	}
	l.files++
	b := decimal(append(l.out.Text, "\n# DXT, file_id: "...), 1000+l.files)
	b = append(append(b, ", file_name: "...), l.mount...)
	b = decimal(append(b, "/data."...), l.files)
	b = append(append(b, "\n# DXT, rank: 0, hostname: "...), l.host...)
	b = decimal(append(b, "\n# DXT, number of threads: 1\n# DXT, write_count: "...), l.wrote)
	b = decimal(append(b, ", read_count: "...), l.reads)
	b = append(append(b, "\n# DXT, mnt_pt: "...), l.mount...)
	b = append(b, ", fs_type: xfs\n# Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)\n"...)
	l.out.Written(append(b, l.rows...))
	l.rows, l.reads, l.wrote = l.rows[:0], 0, 0
}

// mappedCSVFormat is a table as an array's software might export it, with the
// mapping that reads it.
var mappedCSVFormat = Format{
	Name: "mapped-csv", Ext: ".export.csv", At: Completed, Device: theName,
	Settings: `ingest:
  mappings:
    - name: export
      layout: csv
      delimiter: ";"
      header: [finished_us, volume, service_us]
      latency_kind: q2c
      time: {column: finished_us, unit: us}
      fields:
        host: {column: node}
        device: {column: volume}
        op: {column: verb}
        offset: {column: block, unit: sectors}
        size: {column: bytes}
        latency: {column: service_us, unit: us}
        comm: {column: client}
      ops: {read: [GET], write: [PUT], flush: [SYNC]}
`,
	Open: func(v *Disk, out []*Output) Log {
		out[0].Written(append(out[0].Text, "finished_us;node;volume;verb;block;bytes;service_us;client\n"...))
		return &mappedLog{out: out[0], names: ";" + v.Host + ";" + v.Name + ";"}
	},
}

type mappedLog struct {
	out   *Output
	names string
}

// verbs are the words of the export, by ingest.Op.
var verbs = [...]string{"OTHER", "GET", "PUT", "SYNC", "TRIM"}

func (l *mappedLog) Stage(_ Stage, r *Request) {
	b := append(decimal(l.out.Text, r.At[Completed]/1e3), l.names...)
	b = append(append(b, verbs[r.Op]...), ';')
	b = append(decimal(b, r.Offset/sector), ';')
	b = append(decimal(b, r.Size), ';')
	b = append(decimal(b, r.LatencyNS()/1e3), ';')
	l.out.Written(append(append(b, r.Comm.String()...), '\n'))
}

func (l *mappedLog) End() {}

// mappedJSONFormat is JSON lines as an application might log them, with the
// mapping that reads them.
var mappedJSONFormat = Format{
	Name: "mapped-json", Ext: ".io.jsonl", At: Completed, Device: theName,
	Settings: `ingest:
  mappings:
    - name: io-log
      layout: jsonl
      header: [io.done_ns, io.took_ns]
      latency_kind: q2c
      time: {column: io.done_ns, unit: ns}
      fields:
        host: {column: node}
        device: {column: io.disk}
        op: {column: io.verb}
        offset: {column: io.at}
        size: {column: io.bytes}
        latency: {column: io.took_ns, unit: ns}
        comm: {column: who}
        pid: {column: pid}
      ops: {read: [GET], write: [PUT], flush: [SYNC]}
`,
	Open: func(v *Disk, out []*Output) Log {
		return &mappedJSONLog{out: out[0], head: `{"node":` + strconv.Quote(v.Host) + `,"io":{"disk":` + strconv.Quote(v.Name) + `,"done_ns":`}
	},
}

type mappedJSONLog struct {
	out  *Output
	head string
}

func (l *mappedJSONLog) Stage(_ Stage, r *Request) {
	b := decimal(append(l.out.Text, l.head...), r.At[Completed])
	b = append(append(append(b, `,"verb":"`...), verbs[r.Op]...), `","at":`...)
	b = decimal(append(decimal(b, r.Offset), `,"bytes":`...), r.Size)
	b = decimal(append(b, `,"took_ns":`...), r.LatencyNS())
	b = append(append(append(b, `},"who":"`...), r.Comm.String()...), `","pid":`...)
	l.out.Written(append(decimal(b, int64(r.PID)), "}\n"...))
}

func (l *mappedJSONLog) End() {}
