package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// Names of facts and reasons of rejects of kernel traces.
const (
	tpLostFact   = "lost_events"        // the tracer dropped Value events before this time; Text tells where
	tpOldFact    = "overwritten_events" // events older than the first one shown, which the ring buffer no longer holds
	tpChunksFact = "lost_chunks"        // perf lost Value buffers of events
	tpNoLine     = "no-trace-line"
	tpNoSeconds  = "stamp-without-unit" // the trace clock counts ticks (counter, x86-tsc)
)

// tpHead is what stands before an event in the text of any kernel tracer.
type tpHead struct {
	comm   []byte // the task that ran; empty if unknown
	tid    int32  // ingest.Missing if unknown
	timeNS int64  // since the clock's start
}

// tracepoints turns the events of a kernel trace, whatever tool has printed
// them, into I/Os: block events are paired by blkPairs, system calls by calls.
// All other events are notes.
type tracepoints struct {
	pairs  *blkPairs
	calls  calls
	text   blkparse // its record is the one in hand
	base   int64    // epoch of stamp 0
	lastNS int64    // stamp of the last event
	seen   bool     // there was one
	queues bool     // the trace holds the queueing of bios
	starts bool     // io_start tells it in their place
	ends   bool     // the trace holds completions, of which io_done tells nothing new
	facts  []tpFact // that came before the first stamp
}

type tpFact struct {
	name, text string
	value      float64
}

func newTracepoints(src *ingest.Source) tracepoints {
	return tracepoints{pairs: newBlkPairs(src.Host), calls: newCalls(src.Host), base: src.Options.StartNS}
}

// stamp takes the time of a line and gives it as an epoch.
func (t *tracepoints) stamp(ns int64, out *ingest.Out) int64 {
	t.lastNS = t.base + ns
	if !t.seen {
		t.seen = true
		for _, f := range t.facts {
			t.tell(f, out)
		}
		t.facts = nil
	}
	return t.lastNS
}

// fact adds a fact at the last stamp, or at the first one if none was yet.
func (t *tracepoints) fact(name, text string, value float64, out *ingest.Out) {
	f := tpFact{name, text, value}
	switch {
	case t.seen:
		t.tell(f, out)
	case len(t.facts) < 64:
		t.facts = append(t.facts, f)
	default:
		t.facts[63].value += value
	}
}

func (t *tracepoints) tell(f tpFact, out *ingest.Out) {
	out.Fact(ingest.Evidence{
		TimeNS: t.lastNS,
		Host:   out.Names.InternString(t.pairs.host),
		Name:   out.Names.InternString(f.name),
		Text:   out.Names.InternString(f.text),
		Value:  f.value,
	})
}

// lost takes a notice of lost events. How many may be unknown: then it is one
// at least. A call whose end was lost would be paired with the end of a later
// one of its task, so all open calls are given up.
func (t *tracepoints) lost(n uint64, where string, out *ingest.Out) {
	t.fact(tpLostFact, where, float64(max(n, 1)), out)
	t.calls.lose(out)
	if t.seen {
		t.pairs.lose(t.lastNS)
	}
}

// event takes one event of the trace: its name without a group, and what
// follows its colon.
func (t *tracepoints) event(h *tpHead, name, args, line []byte, out *ingest.Out) {
	now := t.stamp(h.timeNS, out)
	switch {
	case bytes.HasPrefix(name, tpBlock):
		t.block(h, now, name, args, line, out)
	case bytes.HasPrefix(name, tpEnter):
		t.calls.enter(h, now, name[len(tpEnter):], args, out)
	case bytes.HasPrefix(name, tpExit):
		t.calls.exit(h, now, name[len(tpExit):], args, line, out)
	default:
		out.Note()
	}
}

var (
	tpBlock = []byte("block_")
	tpEnter = []byte("sys_enter_")
	tpExit  = []byte("sys_exit_")
)

// block takes an event of the block layer.
func (t *tracepoints) block(h *tpHead, now int64, name, args, line []byte, out *ingest.Out) {
	action, layout := tpAction(name)
	if action == blkNone {
		out.Note()
		return
	}
	if reason := t.record(action, layout, args); reason != "" {
		out.Reject(line, reason)
		return
	}
	r := &t.text.rec
	r.TimeNS, r.PID, r.Text = now, h.tid, line
	t.pair(out)
}

// tpAhead reads lines of block events ahead of their turn. The times of its records are
// those of the lines.
type tpAhead struct {
	tracepoints
	blkBriefs
	head func(line []byte, h *tpHead) (name, args []byte, ok bool) // of an event
	h    tpHead                                                    // of the line in hand
}

func (a *tpAhead) Read(line []byte) bool {
	h := &a.h
	*h = tpHead{}
	name, args, ok := a.head(line, h)
	if !ok || !bytes.HasPrefix(name, tpBlock) {
		return false
	}
	action, layout := tpAction(name)
	if action == blkNone || a.tracepoints.record(action, layout, args) != "" {
		return false
	}
	r := &a.text.rec
	r.TimeNS, r.PID, r.Text = h.timeNS, h.tid, line
	a.add(r)
	return true
}

// Take takes a record that was read ahead.
func (t *tracepoints) Take(a ingest.Ahead, i int, line []byte, out *ingest.Out) {
	r := &t.text.rec
	a.(*tpAhead).blkBriefs.record(i, line, r)
	r.TimeNS = t.stamp(r.TimeNS, out)
	t.pair(out)
}

// pair hands the block record in hand to the pairing. A flush that the block
// layer made is taken as queued when it is issued; where the trace holds no
// queueing at all, it is measured like the rest, from its issue. io_start and io_done,
// as newer kernels have them, stand for the queueing and the completion where these
// are not in the trace; a completion comes before the io_done of its request.
func (t *tracepoints) pair(out *ingest.Out) {
	switch r := &t.text.rec; r.Action {
	case blkQueue:
		t.queues = true
	case blkComplete:
		t.ends = true
	case blkStart:
		if t.queues { // the bio was told of already
			out.Note()
			return
		}
		r.Action, t.starts = blkQueue, true
	case blkFinish:
		if t.ends { // of each request that is done a completion was told
			out.Note()
			return
		}
	}
	n := len(out.Events)
	t.pairs.Add(&t.text.rec, out)
	if t.queues || t.starts {
		return
	}
	for i := n; i < len(out.Events); i++ {
		if e := &out.Events[i]; e.Kind == ingest.KindQ2C {
			e.Kind, e.QueueNS = ingest.KindD2C, ingest.Missing
		}
	}
}

// end settles what is open.
func (t *tracepoints) end(out *ingest.Out) {
	if !t.seen && len(t.facts) > 0 {
		t.stamp(0, out)
	}
	t.pairs.End(out)
	t.calls.end(out)
}

// tpSeconds reads "sec.frac" of 3 to 9 places, in nanoseconds.
func tpSeconds(s *blkText) (int64, bool) {
	sec, ok := s.number()
	if !ok || sec >= 1<<32 || !s.take('.') {
		return 0, false
	}
	from := s.i
	frac, ok := s.number()
	places := s.i - from
	if !ok || places < 3 || places > 9 {
		return 0, false
	}
	for ; places < 9; places++ {
		frac *= 10
	}
	return int64(sec)*1e9 + int64(frac), true
}
