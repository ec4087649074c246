package formats

import (
	"bytes"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// dictionary reads a line of -j, a dictionary as Python prints it.
func (d *biolatency) dictionary(text, line []byte, out *ingest.Out) {
	if text[len(text)-1] != '}' {
		out.Reject(line, "cut-off")
		return
	}
	unit, _ := pyText(text, "'val_type': ")
	d.unit, d.size, _ = unitOf(unit)
	d.ofMap, d.disk, d.of = false, nil, nil
	if d.unit == 0 {
		out.Reject(line, "no-unit")
		return
	}
	if ts, ok := pyText(text, "'ts': "); ok {
		at, err := time.ParseInLocation(time.DateTime, string(ts), d.clock.day.Location())
		if err != nil || at.Unix() < 0 || at.Unix() > traceLastS {
			out.Reject(line, "bad-time")
			return
		}
		d.ns = at.UnixNano()
	}
	if flags, ok := pyText(text, "'flags': "); ok {
		d.of = append([]byte("flags="), flags...)
	}
	if disk, ok := pyText(text, "'Bucket ptr': "); ok {
		d.disk = bytes.Clone(disk)
	}
	good, bad := 0, 0
	for rest := text; ; {
		lo, after, more := pyNumber(rest, "'interval-start': ")
		if !more {
			break
		}
		hi, after, okHi := pyNumber(after, "'interval-end': ")
		n, after, okN := pyNumber(after, "'count': ")
		if !okHi || !okN || hi < lo {
			bad++
			break
		}
		rest = after
		switch {
		case n == 0:
			good++
		case d.fact(uint64(lo), uint64(hi)+1, uint64(n), out):
			good++
		default:
			bad++
		}
	}
	d.unit = 0
	if good == 0 {
		out.Reject(line, "bad-bucket")
		return
	}
	if bad > 0 {
		out.Fact(ingest.Evidence{
			TimeNS: d.ns, Host: out.Names.Intern(d.host), Device: out.Names.Intern(d.disk),
			Name: out.Names.InternString("bad_buckets"), Value: float64(bad),
		})
	}
	out.Tally.Event++
}

// pyText finds a key of a dictionary and gives its text, of a str or bytes.
func pyText(b []byte, key string) ([]byte, bool) {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return nil, false
	}
	b = bytes.TrimPrefix(b[i+len(key):], []byte("b"))
	if len(b) == 0 || b[0] != '\'' && b[0] != '"' {
		return nil, false
	}
	end := bytes.IndexByte(b[1:], b[0])
	if end < 0 || end > 128 {
		return nil, false
	}
	return b[1 : 1+end], true
}

// pyNumber finds a key and gives its number and what stands behind it.
func pyNumber(b []byte, key string) (v int64, rest []byte, ok bool) {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return 0, nil, false
	}
	i += len(key)
	v, end := scanDigits(b, i)
	return v, b[end:], end > i && v >= 0
}
