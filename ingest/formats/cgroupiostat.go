package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// ioStatFile is the file whose rows tell what each cgroup moved.
const ioStatFile = "/io.stat"

// ioStatRow cuts "path/io.stat:8:16 rbytes=1 ...", as grep . prints it, into the
// cgroup and the row; nil if it is none.
func ioStatRow(line []byte) (cgroup, row []byte) {
	i := bytes.Index(line, []byte(ioStatFile+":"))
	if i < 0 || line[0] != '/' {
		return nil, nil
	}
	row = line[i+len(ioStatFile)+1:]
	if at := bytes.IndexByte(row, ' '); at < 0 || !isMajorMinor(row[:at]) {
		return nil, nil
	}
	return line[:i], row
}

// ioStatHead is the cgroup of "==> path/io.stat <==", nil if it is none.
func ioStatHead(line []byte) []byte {
	_, b, ok := bytes.Cut(trimBlanks(line), []byte("==> ")) // a stamp may stand before it
	if !ok {
		return nil
	}
	dir, ok := bytes.CutSuffix(bytes.TrimSuffix(b, []byte(" <==")), []byte(ioStatFile))
	if !ok {
		return nil
	}
	return dir
}

// cgroupCounters are the names of io.stat's counters as evidence, which
// features.ShareFold reads.
var cgroupCounters = [ctrFields]string{
	ctrReadBytes: "cgroup_io_read_bytes", ctrWriteBytes: "cgroup_io_write_bytes", ctrReads: "cgroup_io_reads", ctrWrites: "cgroup_io_writes",
}

// statLine takes a row of io.stat whose cgroup is known, or the heading of such;
// false says that it is none.
func (d *cgroupIOMax) statLine(line []byte, out *ingest.Out) bool {
	b := trimBlanks(bytes.TrimRight(line, "\r\n"))
	if len(b) == 0 {
		return false
	}
	if bytes.Contains(b, []byte("==> ")) {
		d.stat = append(d.stat[:0], ioStatHead(b)...)
		if len(d.stat) == 0 {
			return false
		}
		d.file = 0
		out.Note()
		return true
	}
	cgroup, row := ioStatRow(b)
	if row == nil && len(d.stat) > 0 && isDecimal(b[0]) {
		if at := bytes.IndexByte(b, ' '); at > 0 && isMajorMinor(b[:at]) || isMajorMinor(b) {
			cgroup, row = d.stat, b
		}
	}
	if row == nil {
		return false
	}
	var space [maxIOTokens][]byte
	tok := cutFields(row, space[:0])
	d.name = append(append(d.name[:0], "dev:"...), tok[0]...)
	e := ingest.Evidence{Host: out.Names.InternString(d.host), Device: out.Names.Intern(d.name), Text: out.Names.Intern(cgroup)}
	if d.clock.timed && d.clock.marked {
		e.TimeNS = d.clock.timeNS
	}
	var facts [2 * len(cgroupCounters)]ingest.Evidence
	n := 0
	for _, pair := range tok[1:] {
		at := bytes.IndexByte(pair, '=')
		if at < 0 {
			if isMajorMinor(pair) { // kernels glue a device without figures to the next one's row
				d.name = append(append(d.name[:0], "dev:"...), pair...)
				e.Device = out.Names.Intern(d.name)
			}
			continue
		}
		f := cgroupField(pair[:at])
		if f == ctrFields || cgroupCounters[f] == "" {
			continue
		}
		v, end := scanDigits(pair[at+1:], 0)
		if end == 0 || end != len(pair)-at-1 || v < 0 || n == len(facts) {
			out.Reject(line, "bad-value")
			return true
		}
		e.Name, e.Value = out.Names.InternString(cgroupCounters[f]), float64(v)
		facts[n] = e
		n++
	}
	for _, f := range facts[:n] {
		out.Fact(f)
	}
	if n == 0 {
		out.Count(ingest.FateUnpaired, "no-figures", 1)
		return true
	}
	out.Count(ingest.FateEvent, "", 1)
	return true
}
