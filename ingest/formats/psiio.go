package formats

import (
	"bytes"
	"fmt"

	"github.com/iopathy/iopathy/ingest"
)

// PSI reads snapshots of /proc/pressure/io and of a cgroup's io.pressure:
//
//	some avg10=0.35 avg60=1.20 avg300=1.17 total=13486546
//	full avg10=0.00 avg60=0.00 avg300=0.04 total=2522120
//
// The totals are evidence (psi_io_some_ns, psi_io_full_ns: time since boot in
// which some, or all, tasks that could run waited for I/O), and so is the share of
// the time between two snapshots (psi_io_some_share) where both have a time. A
// total that fell began anew: there is no share until the next one. The averages,
// which the kernel derives from the totals, are not taken.
//
// Where a line names the file that it is of (grep . /proc/pressure/*), that is the
// resource: psi_memory_some_ns.
var PSI = ingest.Register(ingest.Format{
	Name:  "psi-io",
	Doc:   "pressure stall information: /proc/pressure/io or io.pressure, once or again and again",
	Kind:  ingest.KindNone,
	Needs: "a time before each snapshot (# EPOCH, date, zzz ***) or line, else start_ns and interval; without either the totals stand without a time and there are no shares",
	Lacks: "host, device, cgroup, which task waited; single I/Os",
	Sniff: sniffPSI,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		clock, err := newSeriesClock(src)
		if err != nil {
			return nil, fmt.Errorf("psi-io: %w", err)
		}
		return &psi{clock: clock, host: src.Host, resource: append([]byte(nil), "io"...)}, nil
	},
})

func sniffPSI(head []byte, _ string) int {
	for line := range bytes.Lines(head) {
		if i, _ := psiRow(line); i >= 0 {
			return 2
		}
	}
	return 0
}

// psiRow finds a row in a line; -1 if there is none.
func psiRow(line []byte) (at int, full bool) {
	i := 4
	if len(line) < 11 || string(line[4:11]) != " avg10=" {
		i = bytes.Index(line, []byte(" avg10="))
	}
	if i < 4 || i > 4 && line[i-5] != ' ' && line[i-5] != '\t' && line[i-5] != ':' {
		return -1, false
	}
	switch string(line[i-4 : i]) {
	case "some":
		return i - 4, false
	case "full":
		return i - 4, true
	}
	return -1, false
}

type psi struct {
	clock    seriesClock
	host     string
	resource []byte
	snapshot []byte // the kinds of row that the snapshot in hand has: s, f
	rows     []psiTotal
	name     []byte
}

// psiTotal is the last total of a resource's row.
type psiTotal struct {
	resource string
	full     bool
	ns       int64
	timeNS   int64
	timed    bool
}

// psiMostRows bounds the rows that are compared; the kernel has eight.
const psiMostRows = 64

func (d *psi) Line(line []byte, out *ingest.Out) {
	if d.clock.glued(line, d, out) {
		return
	}
	at, full := psiRow(line)
	if at < 0 {
		d.other(line, out)
		return
	}
	marked := false
	if before := bytes.TrimRight(line[:at], " \t"); len(before) > 0 {
		switch i := bytes.LastIndexByte(before, '/'); {
		case d.clock.mark(before):
			marked = true
		case i >= 0 || before[len(before)-1] == ':':
			d.names(bytes.TrimSuffix(before[i+1:], []byte(":")))
		default:
			out.Reject(line, "bad-time")
			return
		}
	}
	total, ok := psiTotalOf(line[at+4:])
	if !ok {
		out.Reject(line, "torn-row")
		return
	}
	kind := byte('s')
	if full {
		kind = 'f'
	}
	if bytes.IndexByte(d.snapshot, kind) >= 0 && string(d.resource) == "io" {
		d.snapshot = d.snapshot[:0]
		if !marked {
			d.clock.next()
		}
	}
	if string(d.resource) == "io" {
		d.snapshot = append(d.snapshot, kind)
	}
	d.row(line, full, total, out)
}

// names takes the name of a file as the resource of what follows.
func (d *psi) names(file []byte) {
	file = bytes.TrimSuffix(file, []byte(".pressure"))
	switch string(file) {
	case "io", "cpu", "memory", "irq":
		d.resource = append(d.resource[:0], file...)
	}
}

// other takes a line that is no row: a time, a file's name, a comment.
func (d *psi) other(line []byte, out *ingest.Out) {
	b := trimBlanks(line)
	switch {
	case d.clock.mark(line):
		d.snapshot = d.snapshot[:0]
	case len(b) == 0 || b[0] == '#':
	case bytes.Contains(b, []byte("==>")): // a stamp may stand before it
		b = bytes.Trim(b, "=<> ")
		d.names(b[bytes.LastIndexByte(b, '/')+1:])
	case b[bytes.LastIndexByte(b, ' ')+1] == '/': // b is trimmed
		b = bytes.TrimSuffix(b, []byte(":"))
		d.names(b[bytes.LastIndexByte(b, '/')+1:])
	default:
		out.Reject(line, "no-row")
		return
	}
	out.Note()
}

// psiTotalOf reads what stands behind the row's kind. All four figures must be
// there: a torn line may have half a total, but then its end is the line's.
func psiTotalOf(b []byte) (us int64, ok bool) {
	for _, key := range [...]string{" avg10=", " avg60=", " avg300="} {
		if b, ok = cutPrefix(b, key); !ok {
			return 0, false
		}
		whole, end := scanDigits(b, 0)
		if end == 0 || whole < 0 {
			return 0, false
		}
		if end < len(b) && (b[end] == '.' || b[end] == ',') {
			from := end + 1
			if _, end = scanDigits(b, from); end == from {
				return 0, false
			}
		}
		b = b[end:]
	}
	if b, ok = cutPrefix(b, " total="); !ok {
		return 0, false
	}
	us, end := scanDigits(b, 0)
	return us, end > 0 && us >= 0 && us < 1<<63/1000 && len(trimBlanks(b[end:])) == 0
}

// row takes a total.
func (d *psi) row(line []byte, full bool, us int64, out *ingest.Out) {
	row := psiTotal{full: full, ns: us * 1000, timeNS: d.clock.timeNS, timed: d.clock.timed}
	share, known, reason := 0.0, false, ""
	i := 0
	for i < len(d.rows) && (d.rows[i].full != full || d.rows[i].resource != string(d.resource)) {
		i++
	}
	if i < len(d.rows) {
		prev := d.rows[i]
		row.resource = prev.resource
		share, known, reason = psiShare(&prev, &row)
		d.rows[i] = row
	} else if i < psiMostRows {
		row.resource = string(d.resource)
		d.rows = append(d.rows, row)
	}
	if reason != "" {
		out.Reject(line, reason)
		return
	}
	d.fact(out, &row, "_ns", float64(row.ns))
	if known {
		d.fact(out, &row, "_share", share)
	}
	out.Count(ingest.FateEvent, "", 1)
}

// psiShare is the share of the time between two readings that tasks waited. A
// tenth and 0.1 s more than all of it is what stamps taken beside the reading may
// be off by; more than that is impossible.
func psiShare(prev, cur *psiTotal) (share float64, known bool, reason string) {
	if !prev.timed || !cur.timed {
		return 0, false, ""
	}
	dt, ns := cur.timeNS-prev.timeNS, cur.ns-prev.ns
	switch {
	case dt < 0:
		return 0, false, "clock-back"
	case dt == 0 || ns < 0: // ns < 0: it began anew
		return 0, false, ""
	case float64(ns) > 1.1*float64(dt)+1e8:
		return 0, false, "impossible"
	}
	return min(float64(ns)/float64(dt), 1), true, ""
}

func (d *psi) fact(out *ingest.Out, row *psiTotal, what string, value float64) {
	kind := "_some"
	if row.full {
		kind = "_full"
	}
	resource := row.resource
	if resource == "" {
		resource = string(d.resource)
	}
	d.name = append(append(append(append(d.name[:0], "psi_"...), resource...), kind...), what...)
	e := ingest.Evidence{Host: out.Names.InternString(d.host), Name: out.Names.Intern(d.name), Value: value}
	if row.timed {
		e.TimeNS = row.timeNS
	}
	out.Fact(e)
}

func (d *psi) End(*ingest.Out) {}
