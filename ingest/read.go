package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// Read reads one input to its end and hands its rows on, chunk by chunk.
//
// workers goroutines decode blocks of lines at once where the format allows it
// (Format.Line); with more than one the next chunk may be read while emit has one
// in hand. What emit sees does not depend on their number. It is called for one
// chunk after the other, in their order, and must not keep the chunk's rows.
//
// What is wrong with the input (nothing claims it, it is a picture, it is
// torn) stands in the report. Errors are a failed read, a failed emit, a done
// context and an unknown Options.Format.
func Read(ctx context.Context, in Input, o Options, workers int, emit func(*Chunk) error) (Report, error) {
	open := func() *reader {
		r := &reader{o: o.filled(), in: in, emit: emit, workers: max(workers, 1), bomb: bombBytes}
		r.rep.Path = in.Path
		return r
	}
	r := open()
	err := r.run(ctx)
	if stale := (errStale{}); errors.As(err, &stale) { // nothing was handed on yet
		in.Resume = nil
		r = open()
		r.rep.Note = "read from its start: " + stale.why
		err = r.run(ctx)
	}
	if err != nil {
		err = fmt.Errorf("ingest: reading %s: %w", in.Path, err)
	}
	return r.rep, err
}

// reader is one Read.
type reader struct {
	o       Options
	in      Input
	emit    func(*Chunk) error
	workers int
	byTurns bool // those who read hand chunks on, too
	bomb    int64
	rep     Report
	out     *Out // the chunk in hand
	number  int64
	open    bool
	roomy   bool // room was made for a whole chunk
	span    rowSpan
	loose   bool // a member of a group has ended: when it grows, later chunks change
	parts   []*part
	keeper
	emission
}

// run is read, and what it hands on is done with when it returns.
func (r *reader) run(ctx context.Context) error {
	err := r.read(ctx)
	if eerr := r.handed(); eerr != nil {
		return eerr // it came first
	}
	return err
}

func (r *reader) read(ctx context.Context) error {
	if err := r.o.checkFormat(); err != nil {
		return err
	}
	parts, err := openParts(r.in, r.o, IdentityBytes)
	if err != nil {
		return r.problem(err)
	}
	defer closeParts(parts)
	defer r.accountParts(parts)
	r.parts = parts

	whole := partsHead(parts)
	r.rep.SeenID, r.rep.HeadBytes = Identity(whole), len(whole)
	r.rep.ID = cmp.Or(r.in.ID, r.rep.SeenID)
	first, torn := parts[0], ""
	for _, p := range parts {
		p.flow.bomb = r.bomb
		torn = cmp.Or(torn, p.flow.torn)
		if len(first.head) == 0 {
			first = p
		}
	}
	head := first.head
	src := Source{Path: r.in.Path, ID: r.rep.ID, Head: sniffed(head), Host: r.host(), Options: r.o}
	src.Options.StartNS = r.startNS()
	r.rep.Host = src.Host

	f, mapping, problem, err := r.o.pick(src.Head, &first.in)
	switch {
	case err != nil:
		return err
	case len(head) == 0 && torn != "":
		r.rep.Problem = "nothing could be decompressed: " + torn
		return nil
	case len(head) == 0:
		r.rep.Problem = "empty"
		return nil
	case problem != "":
		r.rep.Problem = problem
		return nil
	}
	r.rep.Format = f.Name
	if src.Mapping = mapping; mapping != nil {
		r.rep.Mapping = mapping.Name
	}
	if r.rep.Problem = together(f, parts, r.o.Format != ""); r.rep.Problem != "" {
		return nil
	}

	r.out = outPool.Get().(*Out)
	defer func() {
		r.out.Reset()
		outPool.Put(r.out)
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait func() error
	switch {
	case f.Records != nil:
		wait, err = r.records(ctx, f, &src, parts)
	case f.Stream != nil:
		wait, err = r.stream(ctx, f, &src)
	case f.Lines != nil:
		wait, err = r.serial(ctx, f, &src)
	default:
		wait, err = r.parallel(ctx, f, &src)
	}
	if wait == nil {
		return r.problem(err)
	}
	if err != nil {
		cancel()
		if werr := wait(); werr != nil && !errors.Is(werr, context.Canceled) {
			err = werr
		}
		return r.problem(err)
	}
	r.rep.Clock = r.clockReport(f, r.dec)
	if t := &r.rep.Tally; t.Accounted() != t.Lines {
		return fmt.Errorf("internal: fates do not sum: %d lines, %d fates of format %s", t.Lines, t.Accounted(), f.Name)
	}
	return nil
}

// outPool keeps the memory of chunks between inputs.
var outPool = sync.Pool{New: func() any { return new(Out) }}

// smallPool keeps the memory of the rows of blocks between inputs.
var smallPool = sync.Pool{New: func() any { return new(Out) }}

// headPool keeps the memory of heads between inputs.
var headPool = sync.Pool{New: func() any { return new([IdentityBytes]byte) }}

// standIn begins the host of rows whose host nobody named.
const standIn = "input-"

// StandIn is the host for rows of an input, by its identity, when nothing names one.
func StandIn(id string) string { return standIn + id[:8] }

// NamesNoHost reports whether a row's host only stands in for one that neither
// its content, nor its folder, nor an option names.
func NamesNoHost(host string) bool {
	id, ok := strings.CutPrefix(host, standIn)
	return ok && len(id) == 8 && strings.Trim(id, "0123456789abcdef") == ""
}

// host is the host for rows whose content names none.
func (r *reader) host() string {
	switch {
	case r.in.Host != "":
		return r.in.Host
	case r.o.Host != "":
		return r.o.Host
	}
	return StandIn(r.rep.ID)
}

// problem turns what is the input's own fault into words of the report.
func (r *reader) problem(err error) error {
	var bomb errBomb
	var large errRecord
	var refusal Refusal
	var closed errOpen
	if errors.As(err, &bomb) || errors.As(err, &large) || errors.As(err, &refusal) || errors.As(err, &closed) {
		r.rep.Problem = err.Error()
		return nil
	}
	return err
}

// errOpen says that an input can't be opened: it is gone, or not ours to read.
type errOpen struct{ err error }

func (e errOpen) Error() string {
	var p *fs.PathError
	if errors.As(e.err, &p) {
		return "can't be opened: " + p.Err.Error()
	}
	return "can't be opened: " + e.err.Error()
}

func (e errOpen) Unwrap() error { return e.err }

// errRecord says that a decoder found no end of a record.
type errRecord struct{ pos int64 }

func (e errRecord) Error() string {
	return fmt.Sprintf("a record at byte %d is longer than %d bytes", e.pos, MaxRecord)
}

// begin makes chunk the one in hand.
func (r *reader) begin(chunk int64) error {
	switch {
	case r.open && r.number != chunk:
		if err := r.finish(!r.loose, r.workers > 1); err != nil {
			return err
		}
		r.mark(chunk)
	case !r.open && r.in.Stretch.From > 0: // what is before it is another's, and final
		r.mark(chunk)
	}
	r.number, r.open = chunk, true
	r.out.Limit = (chunk + 1) * r.o.ChunkBytes
	return nil
}

// room makes room for the rest of a chunk's events once an eighth of it has
// shown how many there will be: growing by and by would leave their memory as
// garbage several times over. It also takes the times of the new rows, while the
// cache holds them. end is how far the input was decoded.
func (r *reader) room(end int64) {
	if !r.in.Duplicate && !r.in.Clock.shifts() {
		r.span.see(&r.out.Batch)
	}
	read := end - r.number*r.o.ChunkBytes
	if n := int64(len(r.out.Events)); !r.roomy && read > r.o.ChunkBytes/8 && n > 1<<10 {
		r.roomy = true
		left := max(r.o.ChunkBytes-read, 0)
		r.out.Events = slices.Grow(r.out.Events, int(float64(n)/float64(read)*float64(left)*1.03))
	}
}

// finish hands on the chunk in hand, if there is one. beside says that more is
// to be read meanwhile.
func (r *reader) finish(final, beside bool) error {
	if !r.open {
		return nil
	}
	r.open = false
	if r.in.Duplicate {
		r.out.Batch.duplicate()
	}
	if r.in.Clock.shifts() {
		r.out.Batch.shift(&r.in.Clock)
	}
	r.span.see(&r.out.Batch)
	r.span.events, r.span.samples = 0, 0
	if r.span.known {
		r.rep.FirstNS, r.rep.LastNS = r.span.from, r.span.to
	}
	r.rep.add(&r.out.Batch)
	if err := r.handed(); err != nil {
		return err
	}
	if !r.in.Duplicate {
		c := &Chunk{Input: r.in, ID: r.rep.ID, Format: r.rep.Format, Number: r.number, Final: final, Batch: &r.out.Batch}
		if beside && r.out.bytes() <= besideBytes {
			r.begins(c, r.emit, r.out)
			if !r.byTurns {
				go r.hand()
			}
			r.out, r.roomy = outPool.Get().(*Out), false
			return nil
		}
		if err := r.emit(c); err != nil {
			return err
		}
	}
	r.out.Reset()
	return nil
}

// duplicate gives all lines of a batch the fate of an input that was read
// before.
func (b *Batch) duplicate() {
	lines := b.Tally.Lines
	b.Reset()
	b.Tally = Tally{Lines: lines, Duplicate: lines}
}

// end gives the rest of the input's lines their fates and hands on the last
// chunk. An error of reading comes first: without its end an input has no
// last chunk.
func (r *reader) end(wait func() error, settle func(*Out)) error {
	if err := wait(); err != nil {
		return err
	}
	if settle != nil && r.open {
		settle(r.out)
	}
	return r.finish(r.in.Stretch.To > 0, false)
}
