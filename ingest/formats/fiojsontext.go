package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// fioErrors are the errors that I/O ends with, as fio prints them.
var fioErrors = []struct {
	text  string
	errno float64
}{
	{"Input/output error", 5}, {"No such device or address", 6}, {"No such device", 19}, {"Invalid argument", 22}, {"File too large", 27},
	{"No space left on device", 28}, {"Read-only file system", 30}, {"Remote I/O error", 121}, {"Connection timed out", 110}, {"No data available", 61},
	{"Invalid or incomplete multibyte or wide character", 84}, {"Structure needs cleaning", 117}, {"Stale file handle", 116},
}

// text takes a line that is no JSON; true says that its fate is to be told by
// the caller.
func (d *fioJSON) text(b, line []byte, out *ingest.Out) bool {
	d.texts++
	keep := func(name, device string, value float64) {
		if len(d.early) < fioMostEarly {
			d.early = append(d.early, fioFact{name, device, string(b[:min(len(b), ingest.RejectTextBytes)]), value, out.Position})
		}
	}
	if rest, ok := bytes.CutPrefix(b, []byte("fio: io_u error on file ")); ok {
		file, rest, _ := bytes.Cut(rest, []byte(": "))
		device, _ := fioDevice(file)
		errno := 0.0
		for _, e := range fioErrors {
			if bytes.HasPrefix(rest, []byte(e.text)) {
				errno = e.errno
				break
			}
		}
		keep("fio_io_error", device, errno)
		for _, n := range []struct{ key, name string }{{"offset=", "fio_io_error_offset_bytes"}, {"buflen=", "fio_io_error_bytes"}} {
			if i := bytes.Index(rest, []byte(n.key)); i >= 0 {
				if v, end := scanDigits(rest, i+len(n.key)); v >= 0 && end > i+len(n.key) {
					keep(n.name, device, float64(v))
				}
			}
		}
	} else if i := bytes.Index(b, []byte(", err=")); i >= 0 && bytes.HasPrefix(b, []byte("fio: pid=")) {
		if v, end := scanDigits(b, i+len(", err=")); v > 0 && end > i+len(", err=") {
			keep("fio_error", "", float64(v))
		}
	}
	if d.begun && d.depth == 0 {
		d.job = fioJob{}
		d.flush(&d.early, out) // the report before it has the time
	}
	if !d.begun && !d.held {
		d.held = true
		d.first = ingest.Reject{Position: out.Position, Line: out.Lineno, Reason: fioNoJSON, Text: string(line[:min(len(line), ingest.RejectTextBytes)])}
		return false
	}
	return true
}
