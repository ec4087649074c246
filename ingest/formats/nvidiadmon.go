package formats

import (
	"bytes"
	"fmt"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// NvidiaDmon reads nvidia-smi dmon, as columns or as --format csv, with any -s, with
// -o T, D, DT or without. Each figure is evidence of the host, the GPU (gpu0) its
// text. Names and units come from the two header lines: gpu_sm_share and
// gpu_mem_share (%), gpu_pwr_w, gpu_gtemp_c, gpu_mclk_hz, gpu_rxpci_bytes_per_s and
// gpu_txpci_bytes_per_s (MB/s), gpu_fb_bytes (MB). A dash is no figure.
var NvidiaDmon = ingest.Register(ingest.Format{
	Name:  "nvidia-dmon",
	Doc:   "nvidia-smi dmon, as columns or CSV",
	Kind:  ingest.KindNone,
	Needs: "-o DT for dates and times, else start_ns (times then count from 0) and interval (1s is taken); zone of the stamps (UTC is taken)",
	Lacks: "host, devices, I/O; processes",
	Sniff: sniffDmon,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		clock, err := newSeriesClock(src)
		if err != nil {
			return nil, fmt.Errorf("nvidia-dmon: %w", err)
		}
		day, err := newDayClock(src)
		if err != nil {
			return nil, fmt.Errorf("nvidia-dmon: %w", err)
		}
		return &nvidiaDmon{clock: clock, day: day, host: src.Host}, nil
	},
})

// dmonFields cuts a line at blanks, or at commas where it has any.
func dmonFields(line []byte, dst [][]byte) [][]byte {
	for n := len(line); n > 0 && (line[n-1] == '\r' || line[n-1] == '\n'); n-- {
		line = line[:n-1]
	}
	line = trimBlanks(line)
	if bytes.IndexByte(line, ',') < 0 {
		return cutFields(line, dst)
	}
	for len(dst) < cap(dst) {
		cell, rest, more := bytes.Cut(line, []byte(","))
		dst = append(dst, trimBlanks(cell))
		if !more {
			break
		}
		line = rest
	}
	return dst
}

// dmonHeader is the fields of a header line, the sign before the first taken off;
// nil if it is none.
func dmonHeader(line []byte, dst [][]byte) [][]byte {
	b, ok := cutPrefix(trimBlanks(line), "#")
	if !ok {
		return nil
	}
	return dmonFields(b, dst)
}

// has says that a field is a word, whatever its case.
func dmonHas(tok [][]byte, word string) int {
	for i, t := range tok {
		if bytes.EqualFold(t, []byte(word)) {
			return i
		}
	}
	return -1
}

func sniffDmon(head []byte, _ string) int {
	gpu := false
	var space [maxIOTokens][]byte
	for line := range bytes.Lines(head) {
		tok := dmonHeader(line, space[:0])
		switch {
		case dmonHas(tok, "gpu") >= 0 && len(tok) > 1 && dmonHas(tok, "pid") < 0:
			gpu = true
		case gpu && dmonHas(tok, "Idx") >= 0:
			return 2
		}
	}
	return 0
}

type dmonColumn struct {
	name factName
	unit float64
	gpu  bool
	date bool
	time bool
}

// dmonUnits are the units of the second header line.
var dmonUnits = map[string]struct {
	suffix string
	unit   float64
}{
	"%": {"_share", 0.01}, "W": {"_w", 1}, "C": {"_c", 1}, "MHz": {"_hz", 1e6}, "MB/s": {"_bytes_per_s", 1e6}, "GB/s": {"_bytes_per_s", 1e9},
	"MB": {"_bytes", 1 << 20}, "bool": {"", 1}, "errs": {"", 1}, "GPM:%": {"_share", 0.01}, "GPM:MB/s": {"_bytes_per_s", 1e6},
}

type nvidiaDmon struct {
	clock seriesClock
	day   dayClock
	host  string
	names [][]byte // of the first header line
	cols  []dmonColumn
	first []byte // the GPU that a round begins with
	round int64
	space [maxIOTokens][]byte
	text  []byte
}

func (d *nvidiaDmon) Line(line []byte, out *ingest.Out) {
	if len(d.cols) > 0 && d.quick(line, out) {
		return
	}
	if tok := dmonHeader(line, d.space[:0]); tok != nil {
		d.header(tok)
		out.Note()
		return
	}
	tok := dmonFields(line, d.space[:0])
	switch {
	case len(tok) == 0 || len(d.cols) == 0:
		out.Note()
	case len(tok) != len(d.cols):
		out.Reject(line, "columns")
	default:
		if reason := d.row(tok, out); reason != "" {
			out.Reject(line, reason)
			return
		}
		out.Count(ingest.FateEvent, "", 1)
	}
}

// header takes one of the two header lines, which come again and again.
func (d *nvidiaDmon) header(tok [][]byte) {
	if dmonHas(tok, "gpu") >= 0 {
		d.names = d.names[:0]
		for _, t := range tok {
			d.names = append(d.names, bytes.ToLower(t))
		}
		return
	}
	if dmonHas(tok, "Idx") < 0 || len(tok) != len(d.names) {
		return
	}
	d.cols = d.cols[:0]
	for i, t := range tok {
		c := dmonColumn{unit: 1}
		switch name := string(d.names[i]); name {
		case "gpu":
			c.gpu = true
		case "date":
			c.date = true
		case "time":
			c.time = true
		default:
			u, ok := dmonUnits[string(t)]
			if !ok {
				u.suffix, u.unit = "", 1
			}
			if len(name) <= 40 {
				c.name.text, c.unit = "gpu_"+name+u.suffix, u.unit
			}
		}
		d.cols = append(d.cols, c)
	}
}

func (d *nvidiaDmon) row(tok [][]byte, out *ingest.Out) (reason string) {
	var values [maxIOTokens]float64
	var known [maxIOTokens]bool
	var gpu, date, clock []byte
	for i := range d.cols {
		c, t := &d.cols[i], tok[i]
		switch {
		case c.gpu:
			gpu = t
		case c.date:
			date = t
		case c.time:
			clock = t
		case len(t) == 0 || string(t) == "-" || string(t) == "N/A":
		default:
			x, ok := shortFigure(t, '.')
			if n := bytes.IndexByte(t, ' '); !ok && n >= 0 { // a unit behind the figure
				t = t[:n]
			}
			if !ok {
				x, ok = counterNumber(t, false)
			}
			if !ok {
				return "bad-value"
			}
			values[i], known[i] = x*c.unit, true
		}
	}
	if v, n := scanDigits(gpu, 0); n == 0 || n != len(gpu) || v < 0 || v > 1<<16 {
		return "bad-value"
	}
	ns, ok := d.time(gpu, date, clock)
	if !ok {
		return "bad-time"
	}
	d.put(gpu, ns, &values, &known, out)
	return ""
}

// put adds the facts of a row.
func (d *nvidiaDmon) put(gpu []byte, ns int64, values *[maxIOTokens]float64, known *[maxIOTokens]bool, out *ingest.Out) {
	n := 0
	for i := range d.cols {
		if known[i] && d.cols[i].name.text != "" {
			n++
		}
	}
	d.text = append(append(d.text[:0], "gpu"...), gpu...)
	e := ingest.Evidence{TimeNS: ns, Host: out.Names.InternString(d.host), Text: out.Names.Intern(d.text), Position: out.Position}
	facts := out.Facts(n)
	n = 0
	for i := range d.cols {
		if c := &d.cols[i]; known[i] && c.name.text != "" {
			e.Name, e.Value = c.name.in(out), values[i]
			facts[n] = e
			n++
		}
	}
}

// quick takes a usual row: whole numbers and dashes between spaces.
func (d *nvidiaDmon) quick(line []byte, out *ingest.Out) bool {
	var values [maxIOTokens]float64
	var known [maxIOTokens]bool
	var gpu []byte
	i := 0
	for k := range d.cols {
		c := &d.cols[k]
		if c.date || c.time {
			return false
		}
		from := skipSpaces(line, i)
		if from < len(line) && line[from] == '-' && (from+1 == len(line) || line[from+1] == ' ') && !c.gpu {
			i = from + 1
			continue
		}
		x, end, ok := blankField(line, from, 0)
		if !ok {
			return false
		}
		if i = end; c.gpu {
			if x > 1<<16 {
				return false
			}
			gpu = line[from:end]
			continue
		}
		values[k], known[k] = x*c.unit, true
	}
	if len(gpu) == 0 || skipSpaces(line, i) != len(line) {
		return false
	}
	ns, ok := d.time(gpu, nil, nil)
	if !ok {
		return false
	}
	d.put(gpu, ns, &values, &known, out)
	out.Count(ingest.FateEvent, "", 1)
	return true
}

// time is that of a row: by its date and clock, its clock on the day in hand, or
// by the rounds of all GPUs that were before it.
func (d *nvidiaDmon) time(gpu, date, clock []byte) (int64, bool) {
	if clock != nil {
		second, end := clockOf(clock)
		if end != len(clock) || end == 0 {
			return 0, false
		}
		if date == nil {
			return d.day.at(second)
		}
		v, n := scanDigits(date, 0)
		if n != 8 || n != len(date) {
			return 0, false
		}
		return civil([6]int{int(v / 10000), int(v / 100 % 100), int(v % 100), int(second / 3600), int(second / 60 % 60), int(second % 60)}, 0, d.zone())
	}
	switch {
	case len(d.first) == 0:
		d.first = append(d.first, gpu...)
	case bytes.Equal(d.first, gpu):
		d.round++
	}
	ns := d.clock.timeNS + d.round*d.clock.stepNS
	return ns, ns >= d.clock.timeNS
}

func (d *nvidiaDmon) zone() *time.Location { return d.clock.stamps.zone }

func (d *nvidiaDmon) End(*ingest.Out) {}
