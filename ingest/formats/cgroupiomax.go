package formats

import (
	"bytes"
	"fmt"

	"github.com/iopathy/iopathy/ingest"
)

// CgroupIOMax reads a cgroup's io.max, once or again and again:
//
//	8:16 rbps=2097152 wbps=max riops=120 wiops=max
//
// Limits are evidence of the device: read_bytes_per_s_limit, write_bytes_per_s_limit,
// read_iops_limit, write_iops_limit, the cgroup's path the text where a line names the
// file (grep . /sys/fs/cgroup/*/io.max). max is no limit and gives no fact.
var CgroupIOMax = ingest.Register(ingest.Format{
	Name:  "cgroup-io-max",
	Doc:   "cgroup io.max (v2): limits of bytes and requests a second",
	Kind:  ingest.KindNone,
	Needs: "a time before each snapshot (# EPOCH, date, zzz ***), else the limits stand without a time; /proc/partitions or lsblk beside it for device names",
	Lacks: "host; cgroup, but where grep names the file; who is in it; whether a limit is reached",
	Sniff: func(head []byte, _ string) int {
		for line := range bytes.Lines(head) {
			if _, dev, keys := ioMaxRow(line); dev != nil && keys != nil {
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
}

func (d *cgroupIOMax) Line(line []byte, out *ingest.Out) {
	file, dev, keys := ioMaxRow(line)
	if dev == nil {
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
