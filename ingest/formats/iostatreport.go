package formats

import (
	"fmt"
	"math"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// ioReport is one report of iostat: a stamp, maybe, and rows.
type ioReport struct {
	rows    []ioRow
	stampNS int64
	stamped bool
	opened  bool
	first   bool // the first behind a banner, or of the input
	cpu     bool // its CPU block was seen
	shares  ioCPU
	seen    uint64
}

// ioReports settles the reports of one input: over which interval each one's
// rates were taken, and whether the first one is since boot.
//
// iostat divides integer counters by an interval in whole hundredths of a
// second, which it does not print; its stamps have seconds. So a report's
// interval is searched among those that its stamps allow, nearest to the period
// first: the first one over which every printed rate, times the interval, is a
// whole number within what rounding took. Without stamps the period itself is
// Options.Interval, unless the rates contradict it and fit another usual one.
//
// The first report behind a banner holds averages since boot, unless iostat ran
// with -y, which the text does not say. The same arithmetic tells: averages over
// an uptime are no whole numbers over the period. A first report is taken for an
// interval if its rates fit the period and would hardly do so by chance, or if
// it is all zero, which is true of the interval either way; else its rows are
// rejected as since-boot. Options.FirstReport says that it is an interval.
type ioReports struct {
	srcHost, host string
	nominal       int64 // hundredths of a second, from the options
	learnt        int64 // the period that an earlier run of the input showed
	period        int64 // of this run; 0: not known yet
	keepFirst     bool
	account       func(out *ingest.Out, r *ioRow, f ingest.Fate, reason string)

	names    map[string]string
	near     [64]string `state:"-"` // by slot: those of the last rows
	begun    bool
	cur      ioReport
	held     []ioReport // until the period is known
	heldRows int
	clockNS  int64 // end of the last report
	prevNS   int64 // stamp of the last report that had one
	hasPrev  bool
	drift    ioDrift
	told     ioTold // what the command line said of this run
	next     ioTold // and of the next
	shorter  int64  // a difference of stamps below the period, seen once
	rates    []ioRate
	spare    []ioRow `state:"-"` // memory of a report that is settled
}

// The bounds of what is kept while the period is not known, and of one report.
const (
	heldReports   = 64
	heldRowsBound = 1 << 14
	rowsBound     = 1 << 14
	ratesBound    = 512
)

func newIOReports(src *ingest.Source, account func(*ingest.Out, *ioRow, ingest.Fate, string)) (ioReports, error) {
	p := ioReports{srcHost: src.Host, nominal: 100, keepFirst: src.Options.FirstReport, account: account, clockNS: src.Options.StartNS}
	if s := src.Options.Interval; s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			return p, fmt.Errorf("interval %q: %w", s, err)
		}
		if d < 10*time.Millisecond || d > 365*24*time.Hour {
			return p, fmt.Errorf("interval %q: want 10ms to a year", s)
		}
		p.nominal = int64(d / (10 * time.Millisecond))
	}
	return p, nil
}

// run begins a new run of iostat: the next report is a first one.
func (p *ioReports) run(host string, out *ingest.Out) {
	p.flush(out)
	p.host, p.begun, p.hasPrev, p.drift = host, false, false, ioDrift{}
	if p.period > 0 {
		p.learnt, p.period = p.period, 0
	}
	p.told, p.next = p.next, ioTold{}
	if p.told.known {
		p.learnt = p.told.period
	}
}

// open makes sure that a report is open.
func (p *ioReports) open() {
	if !p.cur.opened {
		p.cur = ioReport{opened: true, first: !p.begun, rows: p.spare}
		p.spare, p.begun = nil, true
	}
}

// stamp opens the report of a stamp.
func (p *ioReports) stamp(ns int64, out *ingest.Out) {
	p.close(out)
	p.open()
	p.cur.stampNS, p.cur.stamped = ns, true
}

// cpuBlock notes the CPU lines of a report; a second one opens the next.
func (p *ioReports) cpuBlock(out *ingest.Out) {
	if p.cur.cpu || p.cur.seen != 0 {
		p.close(out)
	}
	p.open()
	p.cur.cpu = true
}

// header notes the columns of a table; a column that the report has opens the next.
func (p *ioReports) header(fields uint64, out *ingest.Out) {
	if p.cur.seen&fields != 0 {
		p.close(out)
	}
	p.open()
	p.cur.seen |= fields
}

// slot adds an empty row to the open report, to be filled in its place.
func (p *ioReports) slot(out *ingest.Out) *ioRow {
	if len(p.cur.rows) >= rowsBound { // a report without end is settled in pieces
		next := p.cur
		next.shares = ioCPU{}
		p.close(out)
		next.rows, p.spare = p.spare, nil
		p.cur = next
	}
	p.open()
	n := len(p.cur.rows)
	if n < cap(p.cur.rows) {
		p.cur.rows = p.cur.rows[:n+1]
		p.cur.rows[n] = ioRow{}
	} else {
		p.cur.rows = append(p.cur.rows, ioRow{})
	}
	return &p.cur.rows[n]
}

// unslot takes the last row away.
func (p *ioReports) unslot() { p.cur.rows = p.cur.rows[:len(p.cur.rows)-1] }

// add puts a row into the open report.
func (p *ioReports) add(r *ioRow, out *ingest.Out) { *p.slot(out) = *r }

// first says that a row added now stands in a first report, so that its line
// may be rejected later.
func (p *ioReports) first() bool {
	if p.cur.opened {
		return p.cur.first
	}
	return !p.begun
}

// name gives a device name that is shared between rows.
func (p *ioReports) name(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	near := &p.near[(uint(b[len(b)-1])+7*uint(len(b)))%64]
	if *near != string(b) {
		*near = p.known(b)
	}
	return *near
}

func (p *ioReports) known(b []byte) string {
	if s, ok := p.names[string(b)]; ok {
		return s
	}
	if p.names == nil || len(p.names) >= 1<<14 {
		p.names = make(map[string]string)
	}
	s := string(b)
	p.names[s] = s
	return s
}

// close ends the open report.
func (p *ioReports) close(out *ingest.Out) {
	if !p.cur.opened {
		return
	}
	r := p.cur
	p.cur = ioReport{}
	if p.period > 0 {
		p.settle(&r, out)
		p.spare = r.rows[:0]
		return
	}
	p.held = append(p.held, r)
	p.heldRows += len(r.rows)
	if p.period = p.learn(false); p.period > 0 {
		p.release(out)
	}
}

// flush ends the open report and settles all.
func (p *ioReports) flush(out *ingest.Out) {
	p.close(out)
	if len(p.held) > 0 {
		p.period = p.learn(true)
		p.release(out)
	}
}

func (p *ioReports) release(out *ingest.Out) {
	for i := range p.held {
		p.settle(&p.held[i], out)
		p.spare = p.held[i].rows[:0]
	}
	p.held, p.heldRows = nil, 0
}

// settle turns the rows of a report into samples and gives their lines fates.
func (p *ioReports) settle(r *ioReport, out *ingest.Out) {
	boot := r.first && p.sinceBoot(r)
	var cs int64
	var exact bool
	if !boot {
		cs, exact = p.interval(r)
		p.clockNS = min(p.clockNS+cs*1e7, math.MaxInt64/2)
	}
	if r.stamped {
		p.clockNS, p.prevNS, p.hasPrev = r.stampNS, r.stampNS, true
	}
	host := p.host
	if host == "" {
		host = p.srcHost
	}
	p.settleCPU(r, host, boot, out)
	for i := range r.rows {
		row := &r.rows[i]
		switch {
		case row.reason != "":
			p.account(out, row, ingest.FateRejected, row.reason)
		case row.group:
			p.account(out, row, ingest.FateNote, "")
		case boot:
			p.account(out, row, ingest.FateRejected, "since-boot")
		default:
			out.Samples = append(out.Samples, ingest.Sample{})
			s := &out.Samples[len(out.Samples)-1]
			row.sample(s, cs, exact)
			s.TimeNS, s.Position = p.clockNS, row.position
			s.Host, s.Device = out.Names.InternString(host), out.Names.InternString(row.device)
			p.account(out, row, ingest.FateEvent, "")
		}
	}
}
