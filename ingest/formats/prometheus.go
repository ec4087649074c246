package formats

import (
	"bytes"
	"fmt"

	"github.com/iopathy/iopathy/ingest"
)

// Prometheus reads scrapes of node_exporter (the text exposition and OpenMetrics
// formats), one behind the other. The counters of node_disk_* become samples,
// by their differences from scrape to scrape; all else that a scrape tells of a
// host is evidence under the metric's name. A scrape ends where its first series
// comes again.
//
// A scrape has no time of its own. It is that of a line before it, as samplers
// print it (seriesClock), else of node_time_seconds, else of start_ns and
// interval. Without any of them its counters are evidence without a time. Series
// with stamps of their own are joined by these, in whatever order they come.
var Prometheus = ingest.Register(ingest.Format{
	Name: "prometheus",
	Doc:  "node_exporter scrapes (text exposition, OpenMetrics), one or several",
	Kind: ingest.KindSample,
	Needs: "two scrapes, each behind a line with its time (# EPOCH), with node_time_seconds or with stamps, else start_ns and interval; " +
		"without either it gives counters as evidence, no samples",
	Lacks: "host (unless there is an instance label or node_uname_info), single I/Os, offsets, processes, errors; devices that the exporter leaves out " +
		"(loop, ram and partitions by default); how devices stack",
	Sniff: sniffPrometheus,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		clock, err := newSeriesClock(src)
		if err != nil {
			return nil, fmt.Errorf("prometheus: %w", err)
		}
		return &promText{clock: clock, host: []byte(src.Host), series: ctrSeries{wraps: true, apart: true}, index: make(map[string]int)}, nil
	},
})

func sniffPrometheus(head []byte, _ string) int {
	types, good, node, other := 0, 0, 0, 0
	var s promLine
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case bytes.HasPrefix(line, []byte("# TYPE ")):
			types++
		case len(line) == 0 || line[0] == '#':
		case s.parse(line) == "":
			good++
			if bytes.HasPrefix(s.name, []byte("node_")) {
				node++
			}
		default:
			other++
		}
	}
	if types > 0 && good > other || node > 0 && node >= other {
		return 2
	}
	return 0
}

// promSpan is a piece of the arena.
type promSpan struct{ from, to int }

// promEntry is a device's counters in the scrape in hand.
type promEntry struct {
	device, host promSpan
	row          ctrRow
}

// promFact is another metric of the scrape in hand.
type promFact struct {
	name, device, host, text promSpan
	value                    float64
	position                 int64
}

type promText struct {
	clock  seriesClock
	host   []byte
	series ctrSeries
	matrix promMatrix
	line   promLine

	first   []byte // series of the scrape in hand
	uname   []byte
	nodeNS  int64 // node_time_seconds of the scrape in hand, 0: none
	entries []promEntry
	index   map[string]int
	key     []byte
	facts   []promFact
	arena   []byte
	keys    map[string]string `state:"-"` // of index, kept from scrape to scrape
}

func (d *promText) keep(b []byte) promSpan {
	from := len(d.arena)
	d.arena = append(d.arena, b...)
	return promSpan{from, len(d.arena)}
}

func (d *promText) at(s promSpan) []byte { return d.arena[s.from:s.to] }

func (d *promText) Line(line []byte, out *ingest.Out) {
	if d.clock.glued(line, d, out) {
		return
	}
	switch {
	case len(line) == 0 || bytes.HasPrefix(line, []byte("# HELP ")) || bytes.HasPrefix(line, []byte("# TYPE ")) || bytes.HasPrefix(line, []byte("# UNIT ")):
		out.Note()
		return
	case line[0] == '#':
		if string(line) == "# EOF" {
			d.scraped(out)
		} else {
			d.mark(line, out)
		}
		out.Note()
		return
	}
	s := &d.line
	if reason := s.parse(line); reason != "" {
		if d.mark(line, out) {
			out.Note()
		} else {
			out.Reject(line, reason)
		}
		return
	}
	if s.stamp == nil {
		if len(d.first) == 0 {
			d.first = append(d.first, s.series...)
		} else if bytes.Equal(d.first, s.series) {
			d.scraped(out)
			d.first = append(d.first, s.series...)
		}
	}
	switch string(s.name) {
	case "node_uname_info":
		if s.uname != nil {
			d.uname = append(d.uname[:0], s.uname...)
		}
	case "node_time_seconds":
		if s.finite && s.value > 1e8 && s.value < 7e9 {
			d.nodeNS = int64(s.value*1e6) * 1000
		}
	}
	m, counter := promMetrics[string(s.name)]
	switch {
	case !s.finite:
		out.Count(ingest.FateUnpaired, "no-figures", 1)
	case counter && len(s.device) > 0:
		n, reason := m.counter(s.value)
		if reason != "" {
			out.Reject(line, reason)
			return
		}
		d.counter(m.field, n, line, out)
	case s.quantile || promNoise(s.name):
		out.Note()
	default:
		d.fact(line, out)
	}
}

// mark takes a line as the time of the scrape that follows; it ends the one in hand.
func (d *promText) mark(line []byte, out *ingest.Out) bool {
	before := d.clock
	if !d.clock.mark(line) {
		return false
	}
	after := d.clock
	d.clock = before
	d.scraped(out)
	d.clock = after
	return true
}

// counter keeps a counter of a device.
func (d *promText) counter(f ctrField, n int64, line []byte, out *ingest.Out) {
	s := &d.line
	host := s.hostOf()
	if s.stamp != nil {
		ns, ok := s.stamped()
		if !ok {
			out.Reject(line, "bad-time")
			return
		}
		if host == nil {
			host = d.host
		}
		if !d.matrix.add(host, s.device, f, promPoint{ns, n, out.Position}) {
			out.Reject(line, "too-many-points")
		}
		return
	}
	d.key = append(append(append(d.key[:0], host...), 0), s.device...)
	i, ok := d.index[string(d.key)]
	if !ok {
		if len(d.entries) >= devicesBound {
			out.Reject(line, "too-many-devices")
			return
		}
		i = len(d.entries)
		key, known := d.keys[string(d.key)]
		if !known {
			if d.keys == nil || len(d.keys) >= devicesBound {
				d.keys = make(map[string]string)
			}
			key = string(d.key)
			d.keys[key] = key
		}
		d.index[key] = i
		e := promEntry{device: d.keep(s.device), host: d.keep(host)}
		e.row.position, e.row.lineno = out.Position, out.Lineno
		d.entries = append(d.entries, e)
	}
	r := &d.entries[i].row
	r.snap.set(f, n)
	r.lines++
}

// fact keeps another metric.
func (d *promText) fact(line []byte, out *ingest.Out) {
	s := &d.line
	used := len(d.arena)
	f := promFact{value: s.value, position: out.Position, name: d.keep(s.name), device: d.keep(s.device), host: d.keep(s.hostOf())}
	if !s.deviceAndNoMore {
		f.text = d.keep(s.labels)
	}
	if s.stamp != nil {
		ns, ok := s.stamped()
		if ok {
			d.tell(&f, ns, out)
			out.Count(ingest.FateEvent, "", 1)
		} else {
			out.Reject(line, "bad-time")
		}
		d.arena = d.arena[:used]
		return
	}
	d.facts = append(d.facts, f)
	out.Count(ingest.FateEvent, "", 1)
	if len(d.arena) >= 16<<20 { // a scrape without end is settled in pieces
		d.scraped(out)
	}
}

func (d *promText) tell(f *promFact, ns int64, out *ingest.Out) {
	out.Evidence = append(out.Evidence, ingest.Evidence{
		TimeNS: ns, Host: out.Names.Intern(d.named(f.host)), Device: out.Names.Intern(d.at(f.device)), Name: out.Names.Intern(d.at(f.name)),
		Text: out.Names.Intern(d.at(f.text)), Value: f.value, Position: f.position,
	})
}

func (d *promText) tellAll(ns int64, out *ingest.Out) {
	for i := range d.facts {
		d.tell(&d.facts[i], ns, out)
	}
	d.facts = d.facts[:0]
}

// named is the host of a series: of its instance, else of the scrape, else of
// the input.
func (d *promText) named(host promSpan) []byte {
	switch {
	case host.to > host.from:
		return d.at(host)
	case len(d.uname) > 0:
		return d.uname
	}
	return d.host
}

// time is that of the scrape in hand.
func (d *promText) time() (ns int64, ok bool) {
	switch {
	case d.clock.marked:
		return d.clock.timeNS, true
	case d.nodeNS > 0:
		return d.nodeNS, true
	case d.clock.timed:
		return d.clock.timeNS, true
	}
	return 0, false
}

// scraped ends the scrape in hand.
func (d *promText) scraped(out *ingest.Out) {
	ns, timed := d.time()
	for i := range d.entries {
		e := &d.entries[i]
		r := &e.row
		r.host, r.device, r.timeNS = d.named(e.host), d.at(e.device), ns
		r.text = r.device
		if timed {
			d.series.add(r, out)
			continue
		}
		r.snap.facts(out, out.Names.Intern(r.host), out.Names.Intern(r.device), 0, r.position)
		out.Count(ingest.FateEvent, "", r.lines)
	}
	d.tellAll(ns, out)
	if len(d.first) > 0 {
		d.clock.next()
	}
	d.entries, d.arena, d.first, d.nodeNS = d.entries[:0], d.arena[:0], d.first[:0], 0
	clear(d.index)
}

func (d *promText) End(out *ingest.Out) {
	d.scraped(out)
	d.matrix.settle(out)
	d.series.end(out)
}
