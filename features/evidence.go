package features

import (
	"fmt"
	"strconv"
	"strings"
)

// EvidenceKind says what is made of the readings of a name in a window.
type EvidenceKind uint8

// The kinds, by the function of the catalogue's expressions that asks for each.
const (
	EvidenceRate   EvidenceKind = iota // rate: growth of a counter per second, of its series together
	EvidenceLevel                      // level: mean of a gauge's readings; where there is none the last before
	EvidencePeak                       // peak: largest of them
	EvidenceSeen                       // seen: how many readings there are: messages, mostly
	EvidenceLatest                     // latest: the last reading up to the window's end, else the first behind it
	EvidenceGrowth                     // growth: what a counter grew by over all that was read
)

// EvidenceKinds are the names of the kinds.
var EvidenceKinds = [...]string{"rate", "level", "peak", "seen", "latest", "growth"}

// Bounds of what evidence tells of a window.
const (
	// staleNS is how old a gauge's reading may be, and how far apart two of a
	// counter: beyond it they tell nothing of the windows between.
	staleNS = 15 * 60 * 1e9
	// leastRate is the share of a window that a counter's readings must span.
	leastRate = 0.5
	// seriesBound is the most series (labels, in Evidence.Text) that the
	// counters of one name may have.
	seriesBound = 256
	// textBytes is what is kept of a reading's text.
	textBytes = 200
)

// Query is a question to the evidence: what is said of Name in a window, and
// for EvidenceSeen so long before and behind it, too. Name may be several names
// with | between them: what goes by any of them counts.
type Query struct {
	Kind    EvidenceKind
	Name    string
	SlackNS int64
}

// String is the query as a catalogue has it.
func (q Query) String() string {
	if q.SlackNS == 0 {
		return fmt.Sprintf("%s(%q)", EvidenceKinds[q.Kind], q.Name)
	}
	return fmt.Sprintf("%s(%q, %s)", EvidenceKinds[q.Kind], q.Name, strconv.FormatFloat(float64(q.SlackNS)/1e9, 'g', -1, 64))
}

// Reading is the answer to a query for one window. There is none where no
// source gives the name: unknown is missing, never 0.
type Reading struct {
	Query  int // by its place in what was asked
	Value  float64
	TimeNS int64  // of the row that stands for it: the first seen, the largest, the last
	Text   string // of that row
}

// Reading gives the answer to a query of a number; false if there is none.
func (w *Window) Reading(query int) (*Reading, bool) {
	for i := range w.Evidence {
		if w.Evidence[i].Query == query {
			return &w.Evidence[i], true
		}
	}
	return nil, false
}

// EvidenceOf lists the names under which evidence speaks of a device, the
// closest first: the device, the disk that it is a partition of, its NVMe
// controller, and "", the host.
func EvidenceOf(device string) []string {
	names := []string{device}
	disk := strings.TrimRight(device, "0123456789")
	if p, ok := strings.CutSuffix(disk, "p"); ok && len(p) > 0 && p[len(p)-1] >= '0' && p[len(p)-1] <= '9' {
		disk = p // nvme0n1p2, mmcblk0p1
	} else if !strings.HasPrefix(disk, "sd") && !strings.HasPrefix(disk, "vd") && !strings.HasPrefix(disk, "xvd") && !strings.HasPrefix(disk, "hd") {
		disk = device
	}
	if disk != device {
		names = append(names, disk)
	}
	if rest, ok := strings.CutPrefix(disk, "nvme"); ok {
		if n := len(rest) - len(strings.TrimLeft(rest, "0123456789")); n > 0 && n < len(rest) && (rest[n] == 'n' || rest[n] == 'c') {
			names = append(names, "nvme"+rest[:n])
		}
	}
	if device != "" {
		names = append(names, "")
	}
	return names
}

// Span is the time of windows: [StartNS, EndNS).
type Span struct{ StartNS, EndNS int64 }

// EvidenceFold answers queries from the rows of evidence of one device, or of
// a host as a whole, which come in the order of time. Its memory is that of
// the names that are asked for and found, times the spans.
type EvidenceFold struct {
	asked  []Query
	byName map[string][]int // queries
	lanes  []lane           // spans of one length
	found  []*answers       // by query; nil: no row yet
}

// lane is spans of one length in the order of time, which don't overlap.
type lane struct {
	spans  []Span
	number []int // in the caller's order
}

// answers is what is known for one query.
type answers struct {
	lanes  [][]answer
	series map[string]*series // of a counter, by its name and labels
	many   bool               // more series than the bound
	has    bool               // a reading so far
	last   row
	next   []int // by lane: spans before it have ended
	first  row
	grown  float64
	pairs  int64 // readings that had one before them
}

type row struct {
	timeNS int64
	value  float64
	text   string
}

// answer is what is known for one query and span.
type answer struct {
	value     float64
	coveredNS float64
	n         int64
	row       row
}

// series is the last reading of a counter with some labels.
type series struct {
	timeNS int64
	value  float64
}

// NewEvidenceFold makes a fold for spans in any order.
func NewEvidenceFold(asked []Query, spans []Span) *EvidenceFold {
	f := &EvidenceFold{asked: asked, byName: map[string][]int{}, found: make([]*answers, len(asked))}
	for i, q := range asked {
		for name := range strings.SplitSeq(q.Name, "|") {
			f.byName[name] = append(f.byName[name], i)
		}
	}
	f.lanes = lanesOf(spans)
	return f
}

// Asks reports whether any query is about a name.
func (f *EvidenceFold) Asks(name string) bool { return len(f.byName[name]) > 0 }

// Add takes the next row. One without a time (0) tells no rate, level or count,
// since it can't be said of which window it speaks.
func (f *EvidenceFold) Add(name string, timeNS int64, value float64, text string) {
	if value != value || value-value != 0 {
		return
	}
	for _, i := range f.byName[name] {
		q := &f.asked[i]
		whole := q.Kind == EvidenceLatest || q.Kind == EvidenceGrowth
		if timeNS == 0 && !whole {
			continue
		}
		a := f.found[i]
		if a == nil {
			a = &answers{lanes: make([][]answer, len(f.lanes)), next: make([]int, len(f.lanes))}
			for l := range f.lanes {
				a.lanes[l] = make([]answer, len(f.lanes[l].spans))
			}
			f.found[i] = a
		}
		r := row{timeNS, value, strings.Clone(text[:min(len(text), textBytes)])}
		switch q.Kind {
		case EvidenceRate, EvidenceGrowth:
			f.counter(a, q.Kind, r, name+"\x00"+text)
		case EvidenceSeen:
			f.seen(a, q.SlackNS, r)
		default:
			f.pass(a, q.Kind, timeNS)
			f.gauge(a, q.Kind, r)
		}
		if !a.has {
			a.first = r
		}
		a.last, a.has = r, true
	}
}

// counter adds a counter's growth since its last reading with the same name and labels,
// spread evenly over the time between. A counter that fell began anew: it grew
// by what it shows.
func (f *EvidenceFold) counter(a *answers, kind EvidenceKind, r row, labels string) {
	if a.series == nil {
		a.series = map[string]*series{}
	}
	s := a.series[labels]
	if s == nil {
		if len(a.series) == seriesBound {
			a.many = true
			return
		}
		a.series[strings.Clone(labels)] = &series{r.timeNS, r.value}
		return
	}
	grown := r.value - s.value
	if grown < 0 {
		grown = r.value
	}
	dt := r.timeNS - s.timeNS
	if dt <= 0 && kind == EvidenceRate {
		return // two readings within the resolution of the stamps
	}
	from := s.timeNS
	s.timeNS, s.value = r.timeNS, r.value
	a.grown += grown
	a.pairs++
	if kind == EvidenceGrowth {
		return
	}
	for l := range f.lanes {
		length := f.lanes[l].length()
		if float64(dt) > max(staleNS, float64(length)) {
			continue
		}
		for k := f.lanes[l].after(from); k < len(f.lanes[l].spans) && f.lanes[l].spans[k].StartNS < r.timeNS; k++ {
			sp := f.lanes[l].spans[k]
			over := float64(min(sp.EndNS, r.timeNS) - max(sp.StartNS, from))
			x := &a.lanes[l][k]
			x.value += grown * over / float64(dt)
			x.coveredNS += over
			x.n++
			x.row = r
		}
	}
}

// seen counts a row in the spans that it lies in, or so near to.
func (f *EvidenceFold) seen(a *answers, slack int64, r row) {
	for l := range f.lanes {
		for k := f.lanes[l].after(r.timeNS - slack); k < len(f.lanes[l].spans) && f.lanes[l].spans[k].StartNS-slack <= r.timeNS; k++ {
			x := &a.lanes[l][k]
			if x.n == 0 {
				x.row = r
			}
			x.n++
			x.value++
		}
	}
}

// pass settles the spans that end before the next reading: those without one
// have the last before them.
func (f *EvidenceFold) pass(a *answers, kind EvidenceKind, untilNS int64) {
	if !a.has {
		return
	}
	for l := range f.lanes {
		spans := f.lanes[l].spans
		for ; a.next[l] < len(spans) && spans[a.next[l]].EndNS < untilNS; a.next[l]++ {
			f.carry(a, kind, l)
		}
	}
}

// carry settles the span that comes next in a lane.
func (f *EvidenceFold) carry(a *answers, kind EvidenceKind, l int) {
	sp, x := f.lanes[l].spans[a.next[l]], &a.lanes[l][a.next[l]]
	switch {
	case x.n > 0 || a.last.timeNS > sp.EndNS:
	case kind == EvidenceLatest || float64(sp.StartNS-a.last.timeNS) <= staleNS:
		*x = answer{value: a.last.value, n: 1, row: a.last}
	}
}

// gauge takes a reading into the spans that it lies in. Means of an interval are
// stamped at its end, so one at the end of a span still is of that span.
func (f *EvidenceFold) gauge(a *answers, kind EvidenceKind, r row) {
	for l := range f.lanes {
		k := f.lanes[l].after(r.timeNS - 1)
		if k == len(f.lanes[l].spans) || f.lanes[l].spans[k].StartNS >= r.timeNS {
			continue
		}
		x := &a.lanes[l][k]
		switch {
		case kind == EvidenceLevel:
			x.value += r.value
			x.row = r
		case kind == EvidenceLatest || x.n == 0 || r.value > x.value:
			x.value, x.row = r.value, r
		}
		x.n++
	}
}

// Close gives the answers for each span, in the order in which these were
// given; the fold must not be used again.
func (f *EvidenceFold) Close() [][]Reading {
	total := 0
	for _, l := range f.lanes {
		total += len(l.spans)
	}
	out := make([][]Reading, total)
	for i := range f.asked {
		a := f.found[i]
		if a == nil || !a.has {
			continue
		}
		kind := f.asked[i].Kind
		if kind == EvidenceLevel || kind == EvidencePeak || kind == EvidenceLatest {
			for l := range f.lanes {
				for ; a.next[l] < len(f.lanes[l].spans); a.next[l]++ {
					f.carry(a, kind, l)
				}
			}
		}
		for l := range f.lanes {
			for k := range f.lanes[l].spans {
				if value, r, known := a.tell(kind, l, k, f.lanes[l].length()); known {
					n := f.lanes[l].number[k]
					out[n] = append(out[n], Reading{Query: i, Value: value, TimeNS: r.timeNS, Text: r.text})
				}
			}
		}
		f.found[i] = nil
	}
	return out
}

// tell is the answer for a span.
func (a *answers) tell(kind EvidenceKind, l, k int, length int64) (value float64, r row, known bool) {
	x := &a.lanes[l][k]
	switch kind {
	case EvidenceGrowth:
		return a.grown, a.last, !a.many && a.pairs > 0
	case EvidenceRate:
		covered := x.coveredNS / float64(max(len(a.series), 1)) // a mean over the series
		return x.value / covered * 1e9, x.row, !a.many && covered > 0 && covered >= leastRate*float64(length)
	case EvidenceSeen:
		return x.value, x.row, true
	case EvidenceLatest:
		if x.n == 0 {
			return a.first.value, a.first, true
		}
		return x.value, x.row, true
	case EvidenceLevel:
		return x.value / float64(x.n), x.row, x.n > 0
	}
	return x.value, x.row, x.n > 0
}
