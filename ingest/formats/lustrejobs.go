package formats

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/iopathy/iopathy/ingest"
)

// LustreJobs reads the job_stats of a Lustre server (obdfilter.*.job_stats of an
// OST, mdt.*.job_stats of an MDT), once or again and again:
//
//   - job_id:          24
//     snapshot_time:   1510782606
//     write_bytes:     { samples: 64575, unit: bytes, min: 4096, max: 4194304, sum: 215147593728 }
//
// The device is the target and the job ("lustrefs-OST0000/24"); the target is that
// of the line that lctl get_param prints first, else the file's name. Samples are
// the differences of a job's sums from snapshot to snapshot: read_bytes and
// write_bytes, since 2.13 the times of read and write (usecs), sync as flushes. All
// other operations are evidence, as one sum (lustre_metadata_ops).
var LustreJobs = ingest.Register(ingest.Format{
	Name:  "lustre-jobstats",
	Doc:   "Lustre job_stats of OSTs and MDTs (lctl get_param), once or again and again",
	Kind:  ingest.KindSample,
	Needs: "two snapshots for samples; the target by lctl's line or the file's name",
	Lacks: "host (the server), single calls, offsets, processes, queue depth, busy time; latency before Lustre 2.13; a job that was forgotten between two snapshots begins anew",
	Sniff: sniffLustreJobs,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		base := filepath.Base(src.Path)
		for _, end := range []string{".gz", ".zst", ".xz", ".txt", ".log", ".yaml", ".job_stats"} {
			base = strings.TrimSuffix(base, end)
		}
		return &lustreJobs{host: []byte(src.Host), target: []byte(base), series: ctrSeries{apart: true}}, nil
	},
})

func sniffLustreJobs(head []byte, _ string) int {
	if bytes.Contains(head, []byte("job_stats")) && bytes.Contains(head, []byte("job_id:")) && bytes.Contains(head, []byte("snapshot_time:")) {
		return 2
	}
	return 0
}

type lustreJobs struct {
	host   []byte
	target []byte
	job    []byte
	device []byte
	has    bool // a job is in hand
	timed  bool
	timeNS int64
	meta   float64
	series ctrSeries
	read   ctrRow
	text   []byte
}

func (d *lustreJobs) Line(line []byte, out *ingest.Out) {
	b := bytes.TrimLeft(trimBlanks(line), "- ")
	if head, ok := bytes.CutSuffix(b, []byte(".job_stats=")); ok { // obdfilter.lustrefs-OST0000.job_stats=
		d.settle(out)
		begin := max(bytes.LastIndex(head, []byte("obdfilter.")), bytes.LastIndex(head, []byte("mdt.")), 0)
		d.target = append(d.target[:0], head[begin+bytes.IndexByte(head[begin:], '.')+1:]...)
		if begin > 0 {
			out.Reject(line, seamReason)
		} else {
			out.Note()
		}
		return
	}
	colon := bytes.IndexByte(b, ':')
	if colon <= 0 || string(b) == "job_stats:" {
		out.Note()
		return
	}
	key, value := b[:colon], trimBlanks(b[colon+1:])
	switch {
	case string(key) == "job_id": // it may hold anything, colons and quotation marks as well
		d.settle(out)
		d.has, d.timed = true, false
		d.job = append(d.job[:0], bytes.Trim(value, `"`)...)
		d.text = append(d.text[:0], line...)
		d.read.position, d.read.lineno, d.read.lines = out.Position, out.Lineno, 1
	case !d.has:
		out.Note()
	case string(key) == "snapshot_time":
		if i := bytes.IndexByte(value, ' '); i > 0 { // "... secs.nsecs"
			value = value[:i]
		}
		ns, ok := epochTime(value)
		if !ok {
			out.Reject(line, "bad-time")
			return
		}
		d.timeNS, d.timed = ns, true
		d.read.lines++
	case len(value) > 0 && value[0] == '{':
		d.figure(key, value, line, out)
	default:
		out.Note() // start_time, elapsed_time
	}
}

// lustreCell is the number behind a word of "{ samples: 1, unit: bytes, sum: 2 }".
func lustreCell(b []byte, word string) (int64, bool) {
	i := bytes.Index(b, []byte(word))
	if i < 0 {
		return 0, false
	}
	i = skipSpaceTab(b, i+len(word))
	v, end := scanDigits(b, i)
	return v, end > i && v >= 0
}

// figure takes the line of an operation.
func (d *lustreJobs) figure(key, value, line []byte, out *ingest.Out) {
	n, ok := lustreCell(value, "samples:")
	sum, hasSum := lustreCell(value, " sum:")
	if !ok || value[len(value)-1] != '}' || bytes.IndexByte(value[1:], '{') >= 0 { // torn, or glued to another
		out.Reject(line, "columns")
		return
	}
	s := &d.read.snap
	bytesOf := func(ios, size ctrField) {
		s.set(ios, n)
		if hasSum {
			s.set(size, sum)
		}
	}
	timeOf := func(f ctrField) {
		if hasSum && bytes.Contains(value, []byte("usecs")) && sum < 1<<52 {
			s.set(f, sum*1000)
		}
	}
	switch string(key) {
	case "read_bytes":
		bytesOf(ctrReads, ctrReadBytes)
	case "write_bytes":
		bytesOf(ctrWrites, ctrWriteBytes)
	case "read":
		timeOf(ctrReadNS)
	case "write":
		timeOf(ctrWriteNS)
	case "sync":
		s.set(ctrFlushes, n)
		timeOf(ctrFlushNS)
	default:
		d.meta += float64(n)
	}
	d.read.lines++
}

// settle ends the job in hand.
func (d *lustreJobs) settle(out *ingest.Out) {
	if !d.has {
		return
	}
	r := &d.read
	d.device = append(append(append(d.device[:0], d.target...), '/'), d.job...)
	r.host, r.device, r.timeNS, r.text = d.host, d.device, d.timeNS, d.text
	if d.timed {
		position := out.Position
		out.Position = r.position
		out.Fact(ingest.Evidence{
			TimeNS: d.timeNS, Host: out.Names.Intern(d.host), Device: out.Names.Intern(d.device),
			Name: out.Names.InternString("lustre_metadata_ops"), Value: d.meta,
		})
		out.Position = position
	}
	switch {
	case !d.timed:
		ctrReject(out, r, "no-time")
	case r.snap.known == 0:
		out.Count(ingest.FateEvent, "", r.lines)
	default:
		d.series.add(r, out)
	}
	d.has, d.meta, r.snap.known, r.lines = false, 0, 0, 0
}

func (d *lustreJobs) End(out *ingest.Out) {
	d.settle(out)
	d.series.end(out)
}
