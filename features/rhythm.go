package features

import (
	"strings"

	"github.com/iopathy/iopathy/ingest"
)

const (
	rhythmBins     = 2048       // of a stretch: 205 s
	rhythmBinNS    = int64(1e8) // finer than the periods that are looked for by three times
	rhythmCommands = 8          // told apart in a stretch
	rhythmMost     = 1 << 20    // arrivals that a bin counts, so that scores fit 64 bits
	rhythmName     = 64         // bytes of a command's name
	rhythmPacked   = 40         // bins of a row
	partRhythm     = "rhythm "  // and the command; empty: all others
)

// rhythm counts arrivals by command. Time is cut into stretches, each of which
// begins with an arrival beyond the one before it; the one that is kept is that
// in which the arrivals of the device vary most, by the sum of squares about
// their mean. So a day keeps its largest bursts, in bounded memory.
type rhythm struct {
	now, best stretch
	names     *ingest.Names
	last      int // the line of the last event
}

// stretch is the arrivals of up to rhythmBins bins.
type stretch struct {
	startNS int64
	bins    int // up to the last arrival; 0: there is none
	score   int64
	lines   [rhythmCommands + 1]rhythmLine // the last is of all others
}

// rhythmLine is one command's arrivals. Which commands have lines follows Misra
// and Gries (Finding repeated elements, 1982): one that makes more than a ninth
// of a stretch's requests is among them at its end.
type rhythmLine struct {
	command string
	id      ingest.Name
	known   bool // its id is of the table of names at hand
	credit  int64
	lo, hi  int // bins that may not be 0
	counts  []int32
}

// Rhythm is the arrivals of a device in bins of BinNS, over one stretch.
type Rhythm struct {
	StartNS, BinNS int64
	Lines          []RhythmLine
}

// RhythmLine is one command's; Command is empty for those that are not known,
// or have too few requests to be told apart.
type RhythmLine struct {
	Command  string
	Arrivals []int64
}

// UseNames says of which table the commands of the next events are.
func (p *Profile) UseNames(n *ingest.Names) {
	p.rhythm.names = n
	for i := range p.rhythm.now.lines {
		p.rhythm.now.lines[i].known = false
	}
	p.rhythm.last = 0
}

// add takes an event, in the order of the fold.
func (r *rhythm) add(e *ingest.Event) {
	s, at := &r.now, e.StartNS()
	bin := floorDiv(at-s.startNS, rhythmBinNS)
	if s.bins == 0 || bin >= rhythmBins {
		r.turn()
		s.startNS, bin = floorDiv(at, rhythmBinNS)*rhythmBinNS, 0
	}
	if bin < 0 {
		return // it began before the stretch did
	}
	s.bins = max(s.bins, int(bin)+1)
	l := &s.lines[r.last]
	if !l.known || l.id != e.Comm {
		l = r.lineOf(e.Comm)
	} else {
		l.credit++
	}
	l.put(int(bin), 1)
}

// lineOf finds or makes the line of a command.
func (r *rhythm) lineOf(comm ingest.Name) *rhythmLine {
	s := &r.now
	others := &s.lines[rhythmCommands]
	if comm == 0 || r.names == nil {
		return others
	}
	for i := range rhythmCommands {
		if l := &s.lines[i]; l.known && l.id == comm {
			l.credit++
			r.last = i
			return l
		}
	}
	name := r.names.String(comm)
	name = strings.ToValidUTF8(name[:min(len(name), rhythmName)], "?")
	free := -1
	for i := range rhythmCommands {
		l := &s.lines[i]
		if l.command == name {
			l.id, l.known = comm, true
			l.credit++
			r.last = i
			return l
		}
		if l.credit == 0 && free < 0 {
			free = i
		}
	}
	if free < 0 {
		for i := range rhythmCommands {
			s.lines[i].credit--
		}
		return others
	}
	l := &s.lines[free]
	for i := l.lo; i < l.hi; i++ {
		if l.counts[i] > 0 {
			others.put(i, l.counts[i])
		}
	}
	l.empty()
	l.command, l.id, l.known, l.credit = name, comm, true, 1
	r.last = free
	return l
}

func (l *rhythmLine) put(bin int, n int32) {
	if l.counts == nil {
		l.counts = make([]int32, rhythmBins)
	}
	if l.lo == l.hi {
		l.lo, l.hi = bin, bin+1
	}
	l.lo, l.hi = min(l.lo, bin), max(l.hi, bin+1)
	l.counts[bin] = min(l.counts[bin]+n, rhythmMost)
}

func (l *rhythmLine) empty() {
	if l.counts != nil {
		clear(l.counts[l.lo:l.hi])
	}
	*l = rhythmLine{counts: l.counts}
}

func (s *stretch) empty() {
	for i := range s.lines {
		s.lines[i].empty()
	}
	s.startNS, s.bins, s.score = 0, 0, 0
}

// turn ends the stretch at hand: the better one is kept.
func (r *rhythm) turn() {
	r.now.rate()
	if r.now.over(&r.best) {
		r.now, r.best = r.best, r.now
	}
	r.now.empty()
}

// rate sets the score: the sum of squares about the mean.
func (s *stretch) rate() {
	if s.bins == 0 {
		return
	}
	sum, squares := int64(0), int64(0)
	for i := range s.bins {
		n := int64(0)
		for k := range s.lines {
			if c := s.lines[k].counts; c != nil {
				n += int64(c[i])
			}
		}
		n = min(n, rhythmMost)
		sum += n
		squares += n * n
	}
	// sum*sum is at most 2^62.
	s.score = squares - sum*sum/int64(s.bins)
}

// over orders stretches: the higher score, of equals the earlier.
func (s *stretch) over(o *stretch) bool {
	if s.bins == 0 || o.bins == 0 {
		return s.bins > 0
	}
	return s.score > o.score || s.score == o.score && s.startNS < o.startNS
}

// chosen is the stretch that is kept.
func (r *rhythm) chosen() *stretch {
	r.now.rate()
	if r.now.over(&r.best) {
		return &r.now
	}
	return &r.best
}

func (r *rhythm) reset() {
	r.now.empty()
	r.best.empty()
	r.names, r.last = nil, 0
}

// merge keeps the better stretch; parts of one stretch are put together.
func (r *rhythm) merge(o *rhythm) {
	from := o.chosen()
	if from.bins == 0 {
		return
	}
	for i := range from.lines {
		l := &from.lines[i]
		r.take(from.startNS, from.score, l.command, func(put func(bin int, n int32)) {
			for k := l.lo; k < l.hi; k++ {
				put(k, l.counts[k])
			}
		})
	}
}

// take adds counts of one command in a stretch, if none better is kept.
func (r *rhythm) take(startNS, score int64, command string, each func(put func(bin int, n int32))) {
	if r.now.bins > 0 {
		r.turn()
	}
	s := &r.best
	if s.bins == 0 || s.startNS != startNS || s.score != score {
		other := stretch{startNS: startNS, score: score, bins: 1}
		if !other.over(s) {
			return
		}
		s.empty()
		s.startNS, s.score, s.bins = startNS, score, 1
	}
	l := &s.lines[rhythmCommands]
	for i := range rhythmCommands {
		if x := &s.lines[i]; command != "" && (x.command == command || x.command == "") {
			l = x
			break
		}
	}
	if l != &s.lines[rhythmCommands] {
		l.command = command
	}
	each(func(bin int, n int32) {
		if n > 0 {
			l.put(bin, n)
			s.bins = max(s.bins, bin+1)
		}
	})
}

// rows lays the kept stretch out: key: its start; n: its score; count: 32 x the
// number of the row in its command + the power of two that counts are in; the
// five values: eight bins each, a byte a bin.
func (r *rhythm) rows(rows []ProfileRow) []ProfileRow {
	s := r.chosen()
	for i := range s.lines {
		l := &s.lines[i]
		shift, most := 0, int32(0)
		for _, c := range l.counts {
			most = max(most, c)
		}
		for most>>shift > 255 {
			shift++
		}
		for from := 0; most > 0 && from < s.bins; from += rhythmPacked {
			var packed [5]int64
			any := false
			for k := from; k < min(from+rhythmPacked, s.bins); k++ {
				v := min((int64(l.counts[k])+1<<shift>>1)>>shift, 255)
				packed[(k-from)/8] |= int64(uint64(v) << ((k - from) % 8 * 8))
				any = any || v > 0
			}
			if any {
				rows = append(rows, ProfileRow{partRhythm + l.command, s.startNS, int64(from/rhythmPacked)<<5 | int64(shift), s.score, packed[0], packed[1], packed[2], packed[3], packed[4]})
			}
		}
	}
	return rows
}

func (r *rhythm) addRow(row *ProfileRow) {
	number, shift := row.Count>>5, row.Count&31
	if number < 0 || number > rhythmBins/rhythmPacked || shift > 20 {
		return
	}
	r.take(row.Key, row.N, strings.TrimPrefix(row.Part, partRhythm), func(put func(bin int, n int32)) {
		for k, v := range [5]int64{row.Bytes, row.TimeNS, row.Other, row.Excess, row.Square} {
			for b := range 8 {
				if bin := int(number)*rhythmPacked + k*8 + b; bin < rhythmBins {
					put(bin, int32(uint64(v)>>(b*8)&255)<<shift)
				}
			}
		}
	})
}

// Rhythm gives the stretch in which the device's arrivals vary most; it has no
// lines if there is none.
func (p *Profile) Rhythm() Rhythm {
	s := p.rhythm.chosen()
	out := Rhythm{StartNS: s.startNS, BinNS: rhythmBinNS}
	for i := range s.lines {
		if l := &s.lines[i]; l.hi > l.lo {
			one := RhythmLine{Command: l.command, Arrivals: make([]int64, s.bins)}
			for k := range one.Arrivals {
				one.Arrivals[k] = int64(l.counts[k])
			}
			out.Lines = append(out.Lines, one)
		}
	}
	return out
}
