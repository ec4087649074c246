package formats

import (
	"bytes"
	"fmt"
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// Vmstat reads procps' vmstat N: -t, -w, -n, -a. Its columns are evidence of the
// host: cpu_iowait_share and its like, vmstat_running and vmstat_blocked (tasks),
// swap_in_bytes_per_s, swap_out_bytes_per_s, block_in_bytes_per_s,
// block_out_bytes_per_s (KiB there), interrupts_per_s, context_switches_per_s. The
// first row holds means since boot: a reject, unless first_report says that it ran
// with -y.
var Vmstat = ingest.Register(ingest.Format{
	Name:  "vmstat",
	Doc:   "procps vmstat N, with -t, -w, -a or not",
	Kind:  ingest.KindNone,
	Needs: "-t stamps, else start_ns (times then count from 0) and interval (1s is taken); zone of the stamps (UTC is taken); first_report if it ran with -y",
	Lacks: "host, devices, single I/Os; memory, whose unit -S sets; the tables of -d, -D, -m, -p and -s",
	Sniff: sniffVmstat,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		clock, err := newSeriesClock(src)
		if err != nil {
			return nil, fmt.Errorf("vmstat: %w", err)
		}
		return &vmstat{clock: clock, host: src.Host, first: !src.Options.FirstReport, boots: !src.Options.FirstReport}, nil
	},
})

// vmstatColumn is what a column means: its fact's name and unit; percent says
// that it is a share in percent.
type vmstatColumn struct {
	name    factName
	unit    float64
	percent bool
}

var vmstatColumns = map[string]vmstatColumn{
	"r": {factName{text: "vmstat_running"}, 1, false}, "b": {factName{text: "vmstat_blocked"}, 1, false},
	"si": {factName{text: "swap_in_bytes_per_s"}, 1024, false}, "so": {factName{text: "swap_out_bytes_per_s"}, 1024, false},
	"bi": {factName{text: "block_in_bytes_per_s"}, 1024, false}, "bo": {factName{text: "block_out_bytes_per_s"}, 1024, false},
	"in": {factName{text: "interrupts_per_s"}, 1, false}, "cs": {factName{text: "context_switches_per_s"}, 1, false},
	"us": {factName{text: "cpu_user_share"}, 1, true}, "sy": {factName{text: "cpu_system_share"}, 1, true}, "id": {factName{text: "cpu_idle_share"}, 1, true},
	"wa": {factName{text: "cpu_iowait_share"}, 1, true}, "st": {factName{text: "cpu_steal_share"}, 1, true}, "gu": {factName{text: "cpu_guest_share"}, 1, true},
	"swpd": {}, "free": {}, "buff": {}, "cache": {}, "inact": {}, "active": {},
}

// vmstatHeader tells the second line of a header.
func vmstatHeader(tok [][]byte) bool {
	return len(tok) >= 16 && string(tok[0]) == "r" && string(tok[1]) == "b" && string(tok[2]) == "swpd"
}

func sniffVmstat(head []byte, _ string) int {
	var space [maxIOTokens][]byte
	for line := range bytes.Lines(head) {
		if vmstatHeader(cutFields(bytes.TrimRight(line, "\r\n"), space[:0])) {
			return 2
		}
	}
	return 0
}

type vmstat struct {
	clock seriesClock
	host  string
	cols  []vmstatColumn
	first bool                // the next row is since boot
	boots bool                // that of each run is
	again bool                // a time stood before the header: another run
	begun bool                // a header was read
	maybe bool                // the next row is since boot, if it looks like it
	boot  [vmstatMost]float64 // the last row that was
	since int                 // rows since the header
	rows  int64
	facts int `state:"-"` // columns that are facts
	space [maxIOTokens][]byte
}

// vmstatPage is less than the 22 rows that vmstat prints at least between two headers:
// one that comes sooner is that of another run, if the row behind it is what the first
// row since boot was, but for what a short time changes in means over a long one.
const vmstatPage = 20

// likeBoot says that a row may be of means since boot as the last such row was.
func (d *vmstat) likeBoot(values *[vmstatMost]float64) bool {
	alike := false
	for i := range d.cols {
		switch d.cols[i].name.text {
		case "block_in_bytes_per_s", "block_out_bytes_per_s", "interrupts_per_s", "context_switches_per_s":
			a, b := values[i], d.boot[i]
			if math.Abs(a-b) > 0.05*max(a, b)+2*d.cols[i].unit {
				return false
			}
			alike = alike || max(a, b) > 10*d.cols[i].unit
		}
	}
	return alike
}

func (d *vmstat) Line(line []byte, out *ingest.Out) {
	if d.quick(line, out) {
		d.since++
		return
	}
	tok := cutFields(bytes.TrimRight(line, "\r"), d.space[:0])
	switch {
	case len(tok) == 0 || bytes.HasPrefix(tok[0], []byte("procs")) || bytes.HasPrefix(tok[0], []byte("--procs")):
		out.Note()
		return
	case vmstatHeader(tok):
		d.cols = d.cols[:0]
		for _, t := range tok {
			c, ok := vmstatColumns[string(t)]
			if !ok || len(d.cols) == vmstatMost { // the zone of -t
				break
			}
			d.cols = append(d.cols, c)
		}
		d.count()
		if d.again {
			d.first = d.boots
		}
		d.maybe = d.boots && d.begun && d.since < vmstatPage
		d.again, d.begun, d.since = false, true, 0
		out.Note()
		return
	case d.clock.mark(line):
		d.again, d.rows = true, 0
		out.Note()
		return
	case len(d.cols) == 0:
		out.Note()
		return
	case tok[0][0] < '0' || tok[0][0] > '9':
		out.Note()
		return
	case len(tok) != len(d.cols) && len(tok) != len(d.cols)+2:
		out.Reject(line, "columns")
		return
	}
	d.since++
	var values [vmstatMost]float64
	for i := range d.cols {
		c := &d.cols[i]
		x, ok := counterNumber(tok[i], false)
		if !ok || x < 0 || c.percent && x > 101 {
			out.Reject(line, "bad-value")
			return
		}
		values[i] = c.of(x)
	}
	ns := int64(0)
	if len(tok) == len(d.cols)+2 {
		at := len(tok) - 2
		var ok bool
		stamp := line[offsetOf(line, tok[at]) : offsetOf(line, tok[at+1])+len(tok[at+1])]
		if ns, ok = d.clock.stamps.parse(stamp); !ok {
			out.Reject(line, "bad-time")
			return
		}
	} else {
		ns = d.clock.timeNS + d.rows*d.clock.stepNS
		d.rows++
		if ns < d.clock.timeNS {
			out.Reject(line, "bad-time")
			return
		}
	}
	if d.first || d.maybe && d.likeBoot(&values) {
		d.first, d.maybe, d.boot = false, false, values
		out.Reject(line, "since-boot")
		return
	}
	d.maybe = false
	d.row(ns, &values, out)
}

// vmstatMost bounds the columns of a row.
const vmstatMost = 24

// of is the fact that a figure of a column is.
func (c *vmstatColumn) of(x float64) float64 {
	if c.percent {
		return min(x/100, 1)
	}
	return x * c.unit
}

// count counts the columns that are facts.
func (d *vmstat) count() {
	d.facts = 0
	for i := range d.cols {
		if d.cols[i].name.text != "" {
			d.facts++
		}
	}
}

// row adds the facts of a row.
func (d *vmstat) row(ns int64, values *[vmstatMost]float64, out *ingest.Out) {
	host, facts := out.Names.InternString(d.host), out.Facts(d.facts)
	k := 0
	for i := range d.cols {
		if c := &d.cols[i]; c.name.text != "" {
			facts[k] = ingest.Evidence{TimeNS: ns, Host: host, Name: c.name.in(out), Value: values[i], Position: out.Position}
			k++
		}
	}
	out.Count(ingest.FateEvent, "", 1)
}

// quick takes a usual row: whole numbers between spaces, and a stamp or none.
func (d *vmstat) quick(line []byte, out *ingest.Out) bool {
	if len(d.cols) == 0 || d.first || d.maybe {
		return false
	}
	var values [vmstatMost]float64
	i := 0
	for k := range d.cols {
		c := &d.cols[k]
		x, end, ok := blankField(line, i, 0)
		if !ok || c.percent && x > 101 {
			return false
		}
		values[k], i = c.of(x), end
	}
	i = skipSpaces(line, i)
	if i == len(line) {
		ns := d.clock.timeNS + d.rows*d.clock.stepNS
		if ns < d.clock.timeNS {
			return false
		}
		d.rows++
		d.row(ns, &values, out)
		return true
	}
	if len(line)-i != len("2006-01-02 15:04:05") || line[i+10] != ' ' {
		return false
	}
	ns, ok := d.clock.stamps.parse(line[i:])
	if ok {
		d.row(ns, &values, out)
	}
	return ok
}

func (d *vmstat) End(*ingest.Out) {}
