package formats

import (
	"bytes"
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// darshanTrace is the file and rank that the rows of a DXT trace are of.
type darshanTrace struct {
	host     string
	own      []byte // host of the rows
	file     []byte
	device   []byte
	expected [2]int64 // rows that the heading tells: written, read
	rows     int64
	open     bool
	position int64
	posix    bool // the log has rows of X_POSIX
}

// heading takes a line "# DXT, KEY: VALUE, KEY: VALUE".
func (t *darshanTrace) heading(d *darshan, b []byte, out *ingest.Out) {
	if rest, ok := bytes.CutPrefix(b, []byte("file_id:")); ok {
		t.endFile(d, out)
		t.open, t.position = true, out.Position
		t.own, t.device = append(t.own[:0], t.host...), append(t.device[:0], "darshan"...)
		t.file = t.file[:0]
		if _, name, ok := bytes.Cut(rest, []byte("file_name: ")); ok {
			t.file = append(t.file, name[:min(len(name), straceTextBytes)]...)
		}
		return
	}
	for len(b) > 0 {
		var pair []byte
		pair, b, _ = bytes.Cut(b, []byte(", "))
		key, value, _ := bytes.Cut(pair, []byte(": "))
		switch string(key) {
		case "hostname":
			if len(value) > 0 {
				t.own = append(t.own[:0], value[:min(len(value), straceTextBytes)]...)
			}
		case "write_count":
			t.expected[0], _ = straceNumber(value)
		case "read_count":
			t.expected[1], _ = straceNumber(value)
		case "mnt_pt":
			t.device = darshanMount(t.device, value[:min(len(value), straceTextBytes)])
		}
	}
}

// endFile compares the rows of a file with what its heading told.
func (t *darshanTrace) endFile(d *darshan, out *ingest.Out) {
	if missing := t.expected[0] + t.expected[1] - t.rows; t.open && missing > 0 {
		position := out.Position
		out.Position = t.position
		out.Fact(ingest.Evidence{TimeNS: d.end, Host: out.Names.Intern(t.own), Device: out.Names.Intern(t.device),
			Name: out.Names.InternString("darshan_incomplete"), Text: out.Names.Intern(t.file), Value: float64(missing)})
		out.Position = position
	}
	t.open, t.expected, t.rows = false, [2]int64{}, 0
}

// traced takes "MODULE rank op segment offset length start end [OST] [thread]".
func (d *darshan) traced(b, line []byte, out *ingest.Out) {
	var f [8][]byte
	i := 0
	for n := range f {
		for i < len(b) && b[i] == ' ' {
			i++
		}
		from := i
		for i < len(b) && b[i] != ' ' {
			i++
		}
		f[n] = b[from:i]
	}
	t := &d.dxt
	switch {
	case len(f[7]) == 0:
		out.Reject(line, "columns")
		return
	case !t.open:
		out.Reject(line, "no-file")
		return
	case !d.begun:
		out.Reject(line, "no-start")
		return
	}
	e := ingest.NewEvent()
	switch string(f[2]) {
	case "read":
		e.Op = ingest.OpRead
	case "write":
		e.Op = ingest.OpWrite
	default:
		out.Reject(line, "bad-op")
		return
	}
	rank, ok := straceNumber(f[1])
	size, ok2 := straceNumber(f[5])
	offset, ok3 := straceNumber(f[4])
	if !ok3 && string(f[4]) == "-1" { // a collective call
		offset, ok3 = ingest.Missing, true
	}
	start, ok4 := darshanSeconds(f[6])
	end, ok5 := darshanSeconds(f[7])
	if !ok || !ok2 || !ok3 || !ok4 || !ok5 || darshanCut(f[6]) || darshanCut(f[7]) {
		out.Reject(line, "bad-number")
		return
	}
	if end < start || end > maxStampMS*1e6-d.start || size > math.MaxInt64/2 || offset > math.MaxInt64/2 || rank > math.MaxInt32 || end-start > maxLatencyNS {
		out.Reject(line, "impossible")
		return
	}
	d.records++
	t.rows++
	switch string(f[0]) {
	case "X_POSIX":
		t.posix = true
	case "X_MPIIO":
		if t.posix {
			out.Count(ingest.FateMerged, "", 1)
			return
		}
	}
	e.TimeNS, e.LatencyNS = d.start+end, end-start
	e.SizeBytes, e.OffsetBytes, e.PID = size, offset, int32(rank)
	e.Kind = ingest.KindApp
	e.Host, e.Device, e.File = out.Names.Intern(t.own), out.Names.Intern(t.device), out.Names.Intern(t.file)
	out.Event(e)
}

// darshanSeconds reads S[.FRACTION], at most nine digits of it.
func darshanSeconds(b []byte) (ns int64, ok bool) {
	s, end := scanDigits(b, 0)
	if end == 0 || s < 0 || s > maxStampMS/1000 {
		return 0, false
	}
	ns, end, ok = straceFraction(b, end)
	return s*1e9 + ns, ok && end == len(b)
}

// darshanCut tells a number that lost its end: all are printed with four
// decimals.
func darshanCut(b []byte) bool {
	i := bytes.IndexByte(b, '.')
	return i < 0 || len(b)-i-1 < 4
}
