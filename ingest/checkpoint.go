package ingest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
)

// Checkpoint is where the reading of an input can go on when the input has
// grown: in front of its last chunk, behind those that are final. It belongs to
// the bytes before it, to the options, and to the decoder that it is a state of;
// with others the input is read from its start.
type Checkpoint struct {
	ID     string // identity of the input
	Format string
	Begun  [sha256.Size]byte // of what the decoder was before the first line, of the options and the host
	Writer string            // what the rows depend on that is not ours to know; the caller's
	Chunk  int64             // of the next line or record
	Pos    int64             // of all members together
	Places []Place           // of each member

	Chunks, Events, Samples, Evidence, FirstNS, LastNS int64 // of the report so far
	Tally                                              Tally
	Back                                               StepsBack
	State                                              []byte // of the decoder
}

// Place is where in one stream of bytes the next line or record begins, with the
// SHA-256 of the Edge bytes before it, by which it is known again.
type Place struct {
	Pos  int64
	Line int64 // its number, from 1
	Edge int64
	Sum  [sha256.Size]byte
}

// edgeBytes is how many bytes before a checkpoint are held against it. With the
// identity they tell a grown input from one that was written anew.
const edgeBytes = 4 << 10

// CheckpointBytes bounds an encoded checkpoint: a decoder that keeps more goes
// without, and its input is read from the start when it has grown.
const CheckpointBytes = 32 << 20

// checkpointMagic begins an encoded checkpoint and tells its version.
const checkpointMagic = "iopathy checkpoint 2\n"

// Encode gives the checkpoint as bytes: a line that tells the version, the fields
// as saveState writes them, the SHA-256 of all that.
func (c *Checkpoint) Encode() ([]byte, error) {
	body, err := saveState(c)
	if err != nil {
		return nil, fmt.Errorf("ingest: checkpoint: %w", err)
	}
	b := append([]byte(checkpointMagic), body...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...), nil
}

// DecodeCheckpoint is the reverse of Encode. It takes bytes of any origin: what
// is no checkpoint, or one of another version, is an error.
func DecodeCheckpoint(b []byte) (*Checkpoint, error) {
	if !bytes.HasPrefix(b, []byte(checkpointMagic)) {
		return nil, errors.New("ingest: checkpoint: none of this version")
	}
	n := len(b) - sha256.Size
	if n < len(checkpointMagic) || len(b) > CheckpointBytes {
		return nil, errors.New("ingest: checkpoint: not whole")
	}
	if sum := sha256.Sum256(b[:n]); !bytes.Equal(sum[:], b[n:]) {
		return nil, errors.New("ingest: checkpoint: its bytes are others than were written")
	}
	c := new(Checkpoint)
	if err := loadState(c, b[len(checkpointMagic):n]); err != nil {
		return nil, fmt.Errorf("ingest: checkpoint: %w", err)
	}
	return c, nil
}

// CheckState holds the numbers of a checkpoint against one another.
func (c *Checkpoint) CheckState() error {
	sum := int64(0)
	for _, p := range c.Places {
		if p.Pos < 0 || p.Line < 1 || p.Edge < 0 || p.Edge > min(edgeBytes, p.Pos) || p.Pos > 1<<60 || sum > 1<<60 {
			return errors.New("its places are none")
		}
		sum += p.Pos
	}
	t := &c.Tally
	counts := []int64{c.Back.N, c.Back.At, c.Chunk, c.Chunks, c.Events, c.Samples, c.Evidence, t.Lines, t.Event, t.Merged, t.Notes, t.Duplicate}
	for _, m := range []map[string]int64{t.Rejects, t.Unpaired} {
		for _, n := range m {
			counts = append(counts, n)
		}
	}
	for _, n := range counts {
		if n < 0 || n > 1<<60/int64(len(counts)) {
			return errors.New("its counts are none")
		}
	}
	if sum != c.Pos || len(c.Places) == 0 || c.Chunks > c.Chunk || t.Accounted() > t.Lines {
		return errors.New("its counts do not agree")
	}
	return nil
}

// errStale says why a checkpoint is not gone on from: the input is read from
// its start.
type errStale struct{ why string }

func (e errStale) Error() string { return e.why }

// keeper takes the checkpoints of one reading, and goes on from that of an earlier one.
type keeper struct {
	dec    any
	begun  [sha256.Size]byte
	on     bool
	sealed bool // the end was seen: from here on a longer input may read otherwise
	places func() []Place
	from   *Checkpoint
}

// keep makes ready for the checkpoints of an input that dec decodes, and goes
// on from the one that is given, if it still fits.
func (r *reader) keep(dec any) error {
	parts := r.parts
	head := 0
	for _, p := range parts {
		head += len(p.head)
	}
	r.keeper = keeper{dec: dec}
	if !r.in.Checkpoints || r.in.Duplicate || int64(head) < min(IdentityBytes, r.o.ChunkBytes) { // of one chunk
		if r.in.Resume != nil {
			return errStale{"it is shorter than it was"}
		}
		return nil
	}
	state, err := saveState(dec)
	if err == nil {
		o, clock := r.o, r.in.Clock
		o.ReadBytes, o.Expand, o.ClockOffset, o.ClockMtime, o.ClockAlign = 0, 0, nil, false, false // the clock is what they make of it
		o.StartNS, clock = r.startNS(), Clock{OffsetNS: clock.OffsetNS, DriftPPB: clock.DriftPPB, AtNS: clock.AtNS}
		var said []byte
		said, err = saveState(&struct {
			Options
			Clock
		}{o, clock})
		h := sha256.New()
		h.Write(describeState(nil, reflect.TypeOf(dec), map[reflect.Type]bool{}))
		for _, b := range [][]byte{state, said, []byte(r.rep.Host)} {
			fmt.Fprintf(h, "\n%d\n", len(b))
			h.Write(b)
		}
		h.Sum(r.begun[:0])
	}
	r.on = err == nil // a decoder that is more than data goes without
	if r.in.Resume == nil {
		return nil
	}
	return r.resume(r.in.Resume, parts)
}

// remembers says whether the decoder has memory between lines; one that has none
// is what it was when it was opened.
func (k *keeper) remembers() bool {
	_, line := k.dec.(LineDecoder)
	_, lines := k.dec.(LinesDecoder)
	return lines || !line
}

// resume puts decoder, report and parts where a checkpoint says.
func (r *reader) resume(c *Checkpoint, parts []*part) error {
	switch {
	case !r.on:
		return errStale{"this input gives no checkpoints"}
	case c.ID != r.rep.ID || c.Format != r.rep.Format || len(c.Places) != len(parts):
		return errStale{"the checkpoint is of another input"}
	case c.Begun != r.begun || c.Chunk != c.Pos/r.o.ChunkBytes:
		return errStale{"the checkpoint was made with other options, or by another version"}
	}
	for i, at := range c.Places {
		edge, err := parts[i].behind(at.Pos, at.Edge, r.o.ReadBytes)
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(edge); int64(len(edge)) != at.Edge || sum != at.Sum {
			return errStale{"what was read before has changed"}
		}
		parts[i].edge = edge
	}
	if r.remembers() {
		if err := loadState(r.dec, c.State); err != nil {
			return errStale{"the checkpoint is damaged: " + err.Error()}
		}
	}
	r.from, r.rep.Checkpoint, r.rep.Kept = c, c, c.Chunk
	r.rep.Chunks, r.rep.Events, r.rep.Samples, r.rep.Evidence = int(c.Chunks), c.Events, c.Samples, c.Evidence
	r.rep.FirstNS, r.rep.LastNS = c.FirstNS, c.LastNS
	r.span = rowSpan{from: c.FirstNS, to: c.LastNS, known: c.Events+c.Samples > 0, back: c.Back}
	r.rep.Tally.Merge(c.Tally)
	return nil
}

// mark keeps the state of the reading in front of a chunk, all before it being
// final.
func (r *reader) mark(chunk int64) {
	if !r.on || r.sealed || r.loose {
		return
	}
	at := r.places()
	if at == nil {
		return
	}
	var state []byte
	if r.remembers() {
		var err error
		if state, err = saveState(r.dec); err != nil || len(state) > CheckpointBytes/2 {
			return
		}
	}
	c := &Checkpoint{
		ID: r.rep.ID, Format: r.rep.Format, Begun: r.begun, Chunk: chunk, Places: at, State: state,
		Chunks: int64(r.rep.Chunks), Events: r.rep.Events, Samples: r.rep.Samples, Evidence: r.rep.Evidence,
		FirstNS: r.rep.FirstNS, LastNS: r.rep.LastNS, Back: r.span.back,
	}
	for _, p := range at {
		c.Pos += p.Pos
	}
	c.Tally.Merge(r.rep.Tally)
	r.rep.Checkpoint = c
}

// place makes a Place of a position and the bytes that were read before it;
// nil if none of them are known.
func place(pos, line int64, before ...[]byte) []Place {
	edge := tail(nil, before...)
	if len(edge) == 0 && pos > 0 {
		return nil
	}
	return []Place{{Pos: pos, Line: line, Edge: int64(len(edge)), Sum: sha256.Sum256(edge)}}
}

// tail puts the last edgeBytes of all lists, one after the other, into to. The
// first of them may be to itself.
func tail(to []byte, lists ...[]byte) []byte {
	var mem [edgeBytes]byte
	n := edgeBytes
	for i := len(lists) - 1; i >= 0 && n > 0; i-- {
		b := lists[i]
		b = b[max(0, len(b)-n):]
		n -= len(b)
		copy(mem[n:], b)
	}
	return append(to[:0], mem[n:]...)
}
