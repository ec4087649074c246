package features

import (
	"math"
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// Fold turns the events of one device into ticks and windows, in one pass.
//
// Events come by completion, but the queue depth at a time t needs every
// arrival before t. No event that completes lookAheadNS or more after t can
// have started before t, so ticks stay open until that much has been read,
// then close for good: the starts of a closed tick are sorted, merged with
// its completions, and swept once (sweep.go). All that is kept per event in
// flight or inside the look-ahead is its start and its end.
//
// Everything is exact in integers; the result depends on the events alone,
// not on how they are cut into calls.
type Fold struct {
	key        Key
	o          Options
	lookAhead  int64
	aheadTicks int64 // of it, and what is left
	aheadRest  int64
	emitTick   func(*Tick)
	emitWindow func(*Window)
	kind       ingest.LatencyKind

	begun  bool
	last   int64 // latest completion
	open   int   // announced I/Os that never complete
	next   int64 // number of the first tick that is not closed
	newest int64 // number of the last tick in use
	ring   []slot
	inRing int // starts and ends that wait in the ring
	early  []int64

	at      int64 // number of the tick of the last event, its bounds
	atStart int64
	atEnd   int64
	current *account // of the window of the last event

	windowEnd int64 // of that

	accounts []*account // of the windows that are not closed, in their order
	spare    []*account

	line  sweep
	table rereads
	recent

	lean bool // only vectors are wanted

	span   bool  // the first arrival has been swept
	window int64 // number of the window that the ticks in rows belong to
	rows   []Tick
	calc   calculator
	out    Window
}

// NewFold is a fold over the events of one device. lookAheadNS is at least
// the largest latency among them, save for those that AddLong announces; a
// larger one costs memory only. emitTick (which may be nil) is called for
// each tick in which something happened, emitWindow for each window of the
// device's span, in the order of time; what they are given is theirs only
// until they return. It panics on options that Validate refuses.
func NewFold(key Key, o Options, lookAheadNS int64, emitTick func(*Tick), emitWindow func(*Window)) *Fold {
	if err := o.Validate(); err != nil {
		panic(err.Error())
	}
	if emitTick == nil {
		emitTick = func(*Tick) {}
	}
	f := &Fold{
		key: key, o: o, lookAhead: max(lookAheadNS, 0), emitTick: emitTick, emitWindow: emitWindow,
		last: math.MinInt64, newest: math.MinInt64, at: math.MinInt64,
		table: newRereads(&o), calc: newCalculator(&o),
	}
	f.aheadTicks, f.aheadRest = f.lookAhead/o.TickNS, f.lookAhead%o.TickNS
	f.rows = make([]Tick, 0, o.WindowNS/o.TickNS)
	return f
}

// Take takes over the memory of a fold that is closed, before the first event
// of this one. Nothing of what the other has seen is left in it.
func (f *Fold) Take(closed *Fold) {
	f.table.take(&closed.table)
	f.spare, closed.spare = closed.spare, nil
}

// Begin says that the device had latencies of a kind before the first event: the
// fold goes on amid its time.
func (f *Fold) Begin(kind ingest.LatencyKind) { f.kind = kind }

// Observe lets a profile see the events that complete, and the pauses that
// end, in [fromNS, toNS); its ticks are the caller's to give.
func (f *Fold) Observe(p *Profile, fromNS, toNS int64) {
	f.line.to, f.line.toFrom, f.line.toUntil = p, fromNS, toNS
}

// AddOpen announces an I/O that is issued and never completes: it is in
// flight to the end of the input. It must come before the events that
// complete more than the look-ahead after startNS; later it counts from the
// first tick that is still open.
func (f *Fold) AddOpen(startNS int64) {
	f.open++
	f.announce(startNS)
}

// AddLong announces the start of an event whose latency exceeds the
// look-ahead, so that one I/O of an hour doesn't make all ticks of an hour
// wait. The event itself comes in its turn. The rule of AddOpen holds for the
// time of the call.
func (f *Fold) AddLong(startNS int64) { f.announce(startNS) }

func (f *Fold) announce(startNS int64) {
	i, _ := slices.BinarySearch(f.early, startNS)
	f.early = slices.Insert(f.early, i, startNS)
}

// Add takes the next event in the order (completion, start, offset, size, op,
// input, position). It panics if it completes before the one before it.
// Comm and Cgroup must be numbered by one table over all events of the fold.
func (f *Fold) Add(e *ingest.Event) {
	if f.lean {
		f.AddAll([]ingest.Event{*e})
		return
	}
	if e.TimeNS >= f.atEnd || !f.begun {
		f.turn(e.TimeNS)
	} else if e.TimeNS < f.last {
		panic("features: events out of order of completion")
	}
	f.last = e.TimeNS
	if e.LatencyNS >= 0 && f.kind == ingest.KindNone {
		f.kind = e.Kind
	}
	s := &f.ring[f.at&int64(len(f.ring)-1)]
	s.add(e)
	f.queue(s, e)
	f.current.add(e, f)
	if f.line.to != nil && e.TimeNS >= f.line.toFrom && e.TimeNS < f.line.toUntil {
		f.line.to.AddEvent(e)
	}
}

// queue puts an event's end into the current slot, and its start into that of its tick.
func (f *Fold) queue(s *slot, e *ingest.Event) {
	latency := max(e.LatencyNS, 0)
	end := (e.TimeNS - f.atStart) << 1
	if latency == 0 {
		end |= 1
	}
	s.ends = append(s.ends, end)
	f.inRing++
	if start := e.TimeNS - latency; latency > f.lookAhead {
		// Its arrival was announced.
	} else if start >= f.atStart {
		s.arrive(start - f.atStart)
		f.inRing++
	} else {
		number := floorDiv(start, f.o.TickNS)
		f.ring[number&int64(len(f.ring)-1)].arrive(start - number*f.o.TickNS)
		f.inRing++
	}
}

// turn makes the tick of a time the current one: it closes what can be
// closed, and opens the tick and its window.
func (f *Fold) turn(at int64) {
	if at < f.last {
		panic("features: events out of order of completion")
	}
	number := floorDiv(at, f.o.TickNS)
	closed := number - f.aheadTicks // the tick of at - lookAhead
	if at-number*f.o.TickNS < f.aheadRest {
		closed--
	}
	if !f.begun {
		f.begun = true
		f.next = closed
		if len(f.early) > 0 {
			f.next = min(f.next, floorDiv(f.early[0], f.o.TickNS))
		}
	}
	if f.current != nil && at >= f.windowEnd {
		f.settle()
		f.current = nil
	}
	f.closeUntil(closed)
	f.at = number
	f.atStart = number * f.o.TickNS
	f.atEnd = f.atStart + f.o.TickNS
	f.reserve(number)
	if f.current == nil {
		window := floorDiv(at, f.o.WindowNS)
		f.windowEnd = (window + 1) * f.o.WindowNS
		f.current = f.account(window)
	}
}

// settle completes the account of the current window.
func (f *Fold) settle() {
	if f.current != nil {
		f.table.settle(uint32(f.current.window), &f.current.reread)
	}
}

// reserve makes the ring hold the ticks from next to number.
func (f *Fold) reserve(number int64) {
	if need := number - f.next + 1; need > int64(len(f.ring)) {
		size := max(int64(len(f.ring)), 4)
		for size < need {
			size *= 2
		}
		ring := make([]slot, size)
		for n := f.next; n <= f.newest; n++ {
			ring[n&(size-1)] = f.ring[n&int64(len(f.ring)-1)]
		}
		f.ring = ring
	}
	f.newest = max(f.newest, number)
}

// account gives the account of a window that no later one was asked for before.
func (f *Fold) account(window int64) *account {
	var a *account
	if n := len(f.spare); n > 0 {
		a, f.spare = f.spare[n-1], f.spare[:n-1]
	} else {
		a = new(account)
	}
	a.window = window
	f.accounts = append(f.accounts, a)
	return a
}

// closeUntil closes the ticks before number.
func (f *Fold) closeUntil(number int64) {
	for ; f.next < number; f.next++ {
		if !f.span && f.inRing == 0 {
			// Nothing has arrived yet; skip to what was announced, if anything.
			if len(f.early) == 0 {
				f.next = number
				return
			}
			f.next = max(f.next, min(number, floorDiv(f.early[0], f.o.TickNS)))
			if f.next == number {
				return
			}
		}
		f.closeTick(f.next, f.o.TickNS)
	}
}

// closeTick sweeps the tick of a number up to length ns after its start.
func (f *Fold) closeTick(number, length int64) {
	start := number * f.o.TickNS
	var s *slot
	if number <= f.newest && f.inRing > 0 {
		s = &f.ring[number&int64(len(f.ring)-1)]
	}
	if len(f.early) > 0 && f.early[0] < start+f.o.TickNS {
		if number > f.newest {
			f.reserve(number)
		}
		s = &f.ring[number&int64(len(f.ring)-1)]
		for len(f.early) > 0 && f.early[0] < start+f.o.TickNS {
			s.arrive(max(f.early[0]-start, 0))
			f.inRing++
			f.early = f.early[1:]
		}
	}
	if !f.span {
		if s == nil || len(s.starts) == 0 {
			return
		}
		f.span = true
		f.window = floorDiv(number, f.o.WindowNS/f.o.TickNS)
		f.line.enter(start)
	}
	if s != nil {
		f.rows = append(f.rows, s.tick)
	} else {
		f.rows = append(f.rows, Tick{})
	}
	row := &f.rows[len(f.rows)-1]
	row.StartNS = start
	if s != nil && len(s.starts)+len(s.ends) > 0 {
		if s.unsorted {
			slices.Sort(s.starts)
		}
		f.line.run(row, s.starts, s.ends, length)
		f.inRing -= len(s.starts) + len(s.ends)
		s.tick, s.starts, s.ends, s.unsorted = Tick{}, s.starts[:0], s.ends[:0], false
	} else if f.line.depth > 0 {
		f.line.run(row, nil, nil, length)
	}
	if !f.lean && !row.Quiet() {
		f.emitTick(row)
	}
	if border := (f.window + 1) * f.o.WindowNS; start+f.o.TickNS >= border {
		f.closeWindow(border)
		f.window++
		f.line.enter(border)
	}
}

// closeWindow emits the window whose ticks stand in rows; the device's span
// ends at end or later.
func (f *Fold) closeWindow(end int64) {
	f.line.leave(end)
	var a *account
	if len(f.accounts) > 0 && f.accounts[0].window == f.window {
		a = f.accounts[0]
		f.accounts = slices.Delete(f.accounts, 0, 1)
	}
	f.out = Window{
		Key: f.key, StartNS: f.window * f.o.WindowNS, EndNS: (f.window + 1) * f.o.WindowNS,
		Kind: f.kind, TickNS: f.o.TickNS, CoveredTicks: len(f.rows),
	}
	f.calc.window(&f.out, f.rows, a, &f.line)
	f.emitWindow(&f.out)
	f.rows = f.rows[:0]
	if a != nil {
		if f.current == a {
			f.current = nil
		}
		a.reset()
		f.spare = append(f.spare, a)
	}
}

// Close sweeps what is open and emits the last window. The device's span
// ends at its last completion, or at endNS, the end of the input, when an I/O
// never completed. The fold takes no events after it.
func (f *Fold) Close(endNS int64) {
	f.settle()
	end := f.last
	if f.open > 0 {
		end = max(end, endNS, f.early0())
	}
	if !f.begun {
		if f.open == 0 {
			return
		}
		f.begun = true
		f.next = floorDiv(f.early[0], f.o.TickNS)
	}
	number := floorDiv(end, f.o.TickNS)
	length := end - number*f.o.TickNS
	if length == 0 && end > f.last {
		number, length = number-1, f.o.TickNS // the end of the input is no time in it
	}
	f.closeUntil(number)
	if f.next == number {
		f.closeTick(number, length)
	}
	if len(f.rows) > 0 {
		f.closeWindow(end)
	}
}

// early0 is the latest announced start that has not been swept.
func (f *Fold) early0() int64 {
	if len(f.early) == 0 {
		return math.MinInt64
	}
	return f.early[len(f.early)-1]
}

// floorDiv is the quotient rounded down, for times before the epoch too.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
