package formats

import (
	"bytes"
	"fmt"

	"github.com/iopathy/iopathy/ingest"
)

// CgroupIOMax reads the limits of cgroups: io.max, once or again and again,
//
//	8:16 rbps=2097152 wbps=max riops=120 wiops=max
//
// Limits are evidence of the device: read_bytes_per_s_limit, write_bytes_per_s_limit,
// read_iops_limit, write_iops_limit, the cgroup's path the text where a line names the
// file (grep . /sys/fs/cgroup/*/io.max). max is no limit and gives no fact.
//
// Where lines name their files (grep . /sys/fs/cgroup/*/memory.max, head), those of
// memory and CPU are read beside it, as evidence of the host with the cgroup as text:
// io.stat as counters of each device and cgroup (cgroup_io_read_bytes, cgroup_io_write_bytes,
// cgroup_io_reads, cgroup_io_writes), memory.max, memory.high and memory.current (cgroup_memory_max_bytes and so on), the
// counters of memory.events (cgroup_memory_events_high), cpu.max as CPUs
// (cgroup_cpu_max_cpus: quota over period) and cpu.stat (cgroup_cpu_nr_throttled,
// cgroup_cpu_throttled_ns).
var CgroupIOMax = ingest.Register(ingest.Format{
	Name:  "cgroup-io-max",
	Doc:   "cgroup limits (v2): io.max, and io.stat, memory.max/high/current/events, cpu.max/stat where lines name their files",
	Kind:  ingest.KindNone,
	Needs: "a time before each snapshot (# EPOCH, date, zzz ***), else the limits stand without a time; /proc/partitions or lsblk beside it for device names",
	Lacks: "host; cgroup, but where grep names the file; who is in it; whether a limit is reached",
	Sniff: func(head []byte, _ string) int {
		for line := range bytes.Lines(head) {
			if _, dev, keys := ioMaxRow(line); dev != nil && keys != nil {
				return 2
			}
			b := bytes.TrimRight(line, "\r\n")
			if _, row := ioStatRow(trimBlanks(b)); row != nil {
				return 2
			} else if ioStatHead(b) != nil {
				return 3 // the rows below it are those of io.stat itself, too
			}
			file, _, value := cgroupFileRow(trimBlanks(b))
			if file >= 0 {
				if _, _, _, ok := cgroupFact(file, value, nil); ok {
					return 2
				}
			} else if file, _ := cgroupFileHead(b); file >= 0 {
				return 2
			}
		}
		return 0
	},
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		clock, err := newSeriesClock(src)
		if err != nil {
			return nil, fmt.Errorf("cgroup-io-max: %w", err)
		}
		return &cgroupIOMax{clock: clock, host: src.Host}, nil
	},
})

// ioMaxRow cuts a row into the file that it is of, the device and the limits; nil
// if it is none.
func ioMaxRow(line []byte) (file, dev, keys []byte) {
	for n := len(line); n > 0 && (line[n-1] == '\r' || line[n-1] == '\n'); n-- {
		line = line[:n-1]
	}
	line = trimBlanks(line)
	if len(line) > 0 && line[0] == '/' {
		i := bytes.Index(line, []byte("io.max:"))
		if i < 0 {
			return nil, nil, nil
		}
		file, line = line[:i], line[i+len("io.max:"):]
	}
	i := bytes.IndexByte(line, ' ')
	if i < 0 || !isMajorMinor(line[:i]) || !bytes.HasPrefix(trimBlanks(line[i:]), []byte("rbps=")) {
		return nil, nil, nil
	}
	return file, line[:i], trimBlanks(line[i:])
}

type cgroupIOMax struct {
	clock seriesClock
	host  string
	name  []byte
	file  int    // of a heading: its place in cgroupFiles, from 1; 0: none is in force
	dir   []byte // of it
	stat  []byte // cgroup of a heading of io.stat; empty: none is in force
}

func (d *cgroupIOMax) Line(line []byte, out *ingest.Out) {
	if d.clock.glued(line, d, out) {
		return
	}
	file, dev, keys := ioMaxRow(line)
	if dev == nil {
		if d.statLine(line, out) || d.fileLine(line, out) {
			return
		}
		b := trimBlanks(line)
		if d.clock.mark(line) || len(b) == 0 || b[0] == '#' || b[0] == '/' || b[0] == '=' {
			out.Note()
			return
		}
		out.Reject(line, "no-row")
		return
	}
	d.name = append(append(d.name[:0], "dev:"...), dev...)
	e := ingest.Evidence{Host: out.Names.InternString(d.host), Device: out.Names.Intern(d.name), Text: out.Names.Intern(bytes.TrimSuffix(file, []byte("/")))}
	if d.clock.timed && d.clock.marked {
		e.TimeNS = d.clock.timeNS
	}
	var facts [4]ingest.Evidence
	n := 0
	var space [maxIOTokens][]byte
	for _, pair := range cutFields(keys, space[:0]) {
		at := bytes.IndexByte(pair, '=')
		if at < 0 {
			continue
		}
		name, value := ioMaxName(pair[:at]), pair[at+1:]
		if name == "" || string(value) == "max" {
			continue
		}
		v, end := scanDigits(value, 0)
		if end == 0 || end != len(value) || v < 0 || n == len(facts) {
			out.Reject(line, "bad-value")
			return
		}
		e.Name, e.Value = out.Names.InternString(name), float64(v)
		facts[n] = e
		n++
	}
	for _, f := range facts[:n] {
		out.Fact(f)
	}
	if n == 0 {
		out.Note() // no limit
		return
	}
	out.Count(ingest.FateEvent, "", 1)
}

func ioMaxName(key []byte) string {
	switch string(key) {
	case "rbps":
		return "read_bytes_per_s_limit"
	case "wbps":
		return "write_bytes_per_s_limit"
	case "riops":
		return "read_iops_limit"
	case "wiops":
		return "write_iops_limit"
	}
	return ""
}

func (d *cgroupIOMax) End(*ingest.Out) {}
