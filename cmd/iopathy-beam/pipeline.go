package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/iopathy/iopathy/cmd/internal/local"
)

// Elements are text, each a piece of work or the account of one: few and large, so
// that the engine has next to nothing to carry.
func init() {
	register.DoFn3x1[context.Context, string, func(string), error](&listFn{})
	register.DoFn3x1[context.Context, string, func(string), error](&readFn{})
	register.DoFn4x1[context.Context, int, func(*string) bool, func(string), error](&gatherFn{})
	register.DoFn3x1[context.Context, string, func(string), error](&foldFn{})
	register.DoFn4x1[context.Context, int, func(*string) bool, func(string), error](&takeFn{})
	register.DoFn3x1[context.Context, string, func(string), error](&sampleFn{})
	register.DoFn5x1[context.Context, int, func(*string) bool, func(string), func(string), error](&fitFn{})
	register.DoFn4x1[context.Context, string, string, func(string), error](&labelFn{})
	register.DoFn5x1[context.Context, int, func(*string) bool, string, func(string), error](&reportFn{})
	register.Emitter1[string]()
	register.Iter1[string]()
}

// space is the namespace of the counters.
const space = "iopathy"

// The counters that come back with the result.
var (
	countPieces  = beam.NewCounter(space, "pieces")
	countLines   = beam.NewCounter(space, "lines")
	countEvents  = beam.NewCounter(space, "events")
	countSamples = beam.NewCounter(space, "samples")
	countParts   = beam.NewCounter(space, "parts")
	countTicks   = beam.NewCounter(space, "ticks")
	countWindows = beam.NewCounter(space, "windows")
	countSlices  = beam.NewCounter(space, "slices")        // of hot devices, whose time is cut
	countCutting = beam.NewCounter(space, "slices_shares") // shares of the folds that had some of them
	countLabels  = beam.NewCounter(space, "labels")
	countPassed  = beam.NewCounter(space, "passed") // bytes of elements, once for each that is emitted
)

// build makes the pipeline of a job.
func build(spec string) *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	start := beam.Create(s.Scope("start"), spec)
	pieces := beam.Reshuffle(s.Scope("spread pieces"), beam.ParDo(s.Scope("list"), &listFn{}, start))
	read := beam.ParDo(s.Scope("read"), &readFn{Spec: spec}, pieces)
	shares := beam.ParDo(s.Scope("gather"), &gatherFn{Spec: spec}, beam.GroupByKey(s.Scope("all pieces"), beam.AddFixedKey(s, read)))
	folds := beam.ParDo(s.Scope("fold"), &foldFn{Spec: spec}, beam.Reshuffle(s.Scope("spread shares"), shares))
	hosts := beam.ParDo(s.Scope("take"), &takeFn{Spec: spec}, beam.GroupByKey(s.Scope("all folds"), beam.AddFixedKey(s, folds)))
	samples := beam.ParDo(s.Scope("sample"), &sampleFn{Spec: spec}, beam.Reshuffle(s.Scope("spread hosts"), hosts))
	sampled, model := beam.ParDo2(s.Scope("fit"), &fitFn{Spec: spec}, beam.GroupByKey(s.Scope("all samples"), beam.AddFixedKey(s, samples)))
	side := beam.SideInput{Input: model}
	labels := beam.ParDo(s.Scope("label"), &labelFn{Spec: spec}, beam.Reshuffle(s.Scope("spread samples"), sampled), side)
	beam.ParDo(s.Scope("report"), &reportFn{Spec: spec}, beam.GroupByKey(s.Scope("all labels"), beam.AddFixedKey(s, labels)), side)
	return p
}

// listFn cuts the inputs into pieces.
type listFn struct{}

func (f *listFn) ProcessElement(ctx context.Context, text string, emit func(string)) (err error) {
	spec, err := decodeSpec(text)
	if err != nil {
		return err
	}
	r := spec.room(ctx)
	defer func() { err = r.leave(err) }()
	sources, err := r.job().Sources(ctx, spec.Sources)
	if err != nil {
		return err
	}
	n := 0
	for i := range spec.Shards {
		pieces, err := sources.Pieces(local.Shard{Index: i, Of: spec.Shards})
		if err != nil {
			return err
		}
		for _, p := range pieces {
			if err := emitJSON(ctx, emit, p); err != nil {
				return err
			}
			n++
		}
	}
	if n == 0 {
		return errors.New("the sources hold no input")
	}
	return nil
}

func emitJSON(ctx context.Context, emit func(string), v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	countPassed.Inc(ctx, int64(len(text)))
	emit(string(text))
	return nil
}

// readFn reads a piece into the lake.
type readFn struct {
	Spec string

	found sourcesOf
}

func (f *readFn) ProcessElement(ctx context.Context, text string, emit func(string)) error {
	spec, err := decodeSpec(f.Spec)
	if err != nil {
		return err
	}
	sources, err := f.found.find(f.Spec, func() (*local.Sources, error) {
		on := context.WithoutCancel(ctx) // others read by them after this element
		return spec.room(on).job().Sources(on, spec.Sources)
	})
	if err != nil {
		return err
	}
	var p local.Piece
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return fmt.Errorf("piece: %w", err)
	}
	in := spec.room(ctx)
	r, err := in.read(sources, p)
	if err = in.leave(err); err != nil {
		return err
	}
	countPieces.Inc(ctx, 1)
	countLines.Inc(ctx, r.Report.Tally.Lines)
	countEvents.Inc(ctx, r.Report.Events)
	countSamples.Inc(ctx, r.Report.Samples)
	countParts.Inc(ctx, int64(len(r.Parts)))
	return emitJSON(ctx, emit, r)
}

// gathered is what the later steps must know of what was read. The account of the
// inputs is long, and lies in a file.
type gathered struct {
	Sources string
	In      string
}

// foldShare is a share of the folds.
type foldShare struct {
	local.Shard
	gathered
}

// gatherFn makes the manifest of all pieces.
type gatherFn struct{ Spec string }

func (f *gatherFn) ProcessElement(ctx context.Context, _ int, next func(*string) bool, emit func(string)) (err error) {
	spec, err := decodeSpec(f.Spec)
	if err != nil {
		return err
	}
	var pieces []*local.PieceRead
	for text := ""; next(&text); {
		p := new(local.PieceRead)
		if err := json.Unmarshal([]byte(text), p); err != nil {
			return fmt.Errorf("what was read of a piece: %w", err)
		}
		pieces = append(pieces, p)
	}
	r, err := spec.enter(ctx, true)
	if err != nil {
		return err
	}
	defer func() { err = r.leave(err) }()
	job := r.job()
	sources, err := job.Sources(ctx, spec.Sources)
	if err != nil {
		return err
	}
	var g gathered
	if g.Sources, err = sources.Hash(); err != nil {
		return err
	}
	in, err := job.GatherRead(ctx, sources, pieces)
	if err != nil {
		return err
	}
	if !in.Useful() {
		return errors.New("nothing to report: no input gave an event or a sample")
	}
	if err := r.publish(); err != nil {
		return err
	}
	if g.In, err = r.told("gathered", in); err != nil {
		return err
	}
	for i := range spec.Shards {
		if err := emitJSON(ctx, emit, foldShare{local.Shard{Index: i, Of: spec.Shards}, g}); err != nil {
			return err
		}
	}
	return nil
}

// foldFn folds a share.
type foldFn struct{ Spec string }

// foldDone is the name of what was folded.
type foldDone struct {
	Kept string
	gathered
}

func (f *foldFn) ProcessElement(ctx context.Context, text string, emit func(string)) (err error) {
	spec, err := decodeSpec(f.Spec)
	if err != nil {
		return err
	}
	var share foldShare
	if err := json.Unmarshal([]byte(text), &share); err != nil {
		return fmt.Errorf("share of the folds: %w", err)
	}
	r, err := spec.enter(ctx, false)
	if err != nil {
		return err
	}
	defer func() { err = r.leave(err) }()
	dir, name, err := r.scratch("fold")
	if err != nil {
		return err
	}
	n, err := r.job().FoldLake(ctx, share.Sources, share.Shard, dir)
	if err != nil {
		return err
	}
	if err := r.keep(name); err != nil {
		return err
	}
	countWindows.Inc(ctx, n.Windows)
	countTicks.Inc(ctx, n.Ticks)
	countSlices.Inc(ctx, n.Slices)
	countCutting.Inc(ctx, min(n.Slices, 1))
	return emitJSON(ctx, emit, foldDone{name, share.gathered})
}

// takeFn takes the windows of all shares into the lake, and gives their hosts in
// shares.
type takeFn struct{ Spec string }

// hostShare is a share of the hosts. Number is its place among all.
type hostShare struct {
	local.HostShare
	Number int
	Ticks  int64 // of all
	In     string
	Kept   string // name of what the last step has left of it
}

func (f *takeFn) ProcessElement(ctx context.Context, _ int, next func(*string) bool, emit func(string)) (err error) {
	spec, err := decodeSpec(f.Spec)
	if err != nil {
		return err
	}
	var names []string
	var g gathered
	for text := ""; next(&text); {
		var done foldDone
		if err := json.Unmarshal([]byte(text), &done); err != nil {
			return fmt.Errorf("what was folded: %w", err)
		}
		names, g = append(names, done.Kept), done.gathered
	}
	r, err := spec.enter(ctx, true)
	if err != nil {
		return err
	}
	defer func() { err = r.leave(err) }()
	in := new(local.Ingested)
	if err := r.tell(g.In, in); err != nil {
		return err
	}
	dirs, err := r.allKept(names)
	if err != nil {
		return err
	}
	job := r.job()
	if err := job.TakeBack(); err != nil {
		return err
	}
	if err := job.Sweep(); err != nil {
		return err
	}
	if err := job.LoadFoldDirs(dirs, g.Sources); err != nil {
		return err
	}
	shares, ticks, err := job.TakeFolds(ctx, in.IDs, spec.Shards)
	if err == nil {
		err = r.publish()
	}
	if err != nil {
		return err
	}
	for n, share := range shares {
		if err := emitJSON(ctx, emit, hostShare{share, n, ticks, g.In, ""}); err != nil {
			return err
		}
	}
	return nil
}
