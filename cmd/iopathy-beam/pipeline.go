package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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
	register.DoFn4x1[context.Context, int, func(*string) bool, func(string), error](&finishFn{})
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
	beam.ParDo(s.Scope("finish"), &finishFn{Spec: spec}, beam.GroupByKey(s.Scope("all folds"), beam.AddFixedKey(s, folds)))
	return p
}

// listFn cuts the inputs into pieces.
type listFn struct{}

func (f *listFn) ProcessElement(ctx context.Context, text string, emit func(string)) error {
	spec, err := decodeSpec(text)
	if err != nil {
		return err
	}
	sources, err := spec.job().Sources(ctx, spec.Sources)
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
	sources, err := f.found.find(f.Spec, func() (*local.Sources, error) { return spec.job().Sources(ctx, spec.Sources) })
	if err != nil {
		return err
	}
	var p local.Piece
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return fmt.Errorf("piece: %w", err)
	}
	r, err := sources.Read(ctx, p, spec.lake())
	if err != nil {
		return err
	}
	countPieces.Inc(ctx, 1)
	countLines.Inc(ctx, r.Report.Tally.Lines)
	countEvents.Inc(ctx, r.Report.Events)
	countSamples.Inc(ctx, r.Report.Samples)
	countParts.Inc(ctx, int64(len(r.Parts)))
	return emitJSON(ctx, emit, r)
}

// gathered is what finish must know of what was read.
type gathered struct {
	Sources string
	In      *local.Ingested
}

// foldShare is a share of the folds.
type foldShare struct {
	local.Shard
	gathered
}

// gatherFn makes the manifest of all pieces. What was read goes on with the first of
// the shares.
type gatherFn struct{ Spec string }

func (f *gatherFn) ProcessElement(ctx context.Context, _ int, next func(*string) bool, emit func(string)) error {
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
	job := spec.job()
	sources, err := job.Sources(ctx, spec.Sources)
	if err != nil {
		return err
	}
	var g gathered
	if g.Sources, err = sources.Hash(); err != nil {
		return err
	}
	if g.In, err = job.GatherRead(ctx, sources, pieces); err != nil {
		return err
	}
	if !g.In.Useful() {
		return errors.New("nothing to report: no input gave an event or a sample")
	}
	for i := range spec.Shards {
		if err := emitJSON(ctx, emit, foldShare{local.Shard{Index: i, Of: spec.Shards}, g}); err != nil {
			return err
		}
		g.In = nil
	}
	return nil
}

// foldFn folds a share.
type foldFn struct{ Spec string }

// foldDone is where what was folded lies.
type foldDone struct {
	Dir string
	gathered
}

func (f *foldFn) ProcessElement(ctx context.Context, text string, emit func(string)) error {
	spec, err := decodeSpec(f.Spec)
	if err != nil {
		return err
	}
	var share foldShare
	if err := json.Unmarshal([]byte(text), &share); err != nil {
		return fmt.Errorf("share of the folds: %w", err)
	}
	dir, err := spec.scratch("fold")
	if err != nil {
		return err
	}
	windows, ticks, err := spec.job().FoldLake(ctx, share.Sources, share.Shard, dir)
	if err != nil {
		return err
	}
	countWindows.Inc(ctx, windows)
	countTicks.Inc(ctx, ticks)
	return emitJSON(ctx, emit, foldDone{dir, share.gathered})
}

// finishFn does what needs all windows: the model, the labels, the report. It gives
// the files of the report.
type finishFn struct{ Spec string }

func (f *finishFn) ProcessElement(ctx context.Context, _ int, next func(*string) bool, emit func(string)) error {
	spec, err := decodeSpec(f.Spec)
	if err != nil {
		return err
	}
	var dirs []string
	var g gathered
	for text := ""; next(&text); {
		var done foldDone
		if err := json.Unmarshal([]byte(text), &done); err != nil {
			return fmt.Errorf("what was folded: %w", err)
		}
		dirs = append(dirs, done.Dir)
		if g.Sources = done.Sources; done.In != nil {
			g.In = done.In
		}
	}
	files, err := finish(ctx, spec, dirs, g)
	if err != nil {
		return err
	}
	emit(strings.Join(files, "\n"))
	return nil
}

func finish(ctx context.Context, spec Spec, dirs []string, g gathered) ([]string, error) {
	if g.In == nil {
		return nil, errors.New("what was read did not come through")
	}
	inv, err := local.ReadInventory(spec.Config.Inventory)
	if err != nil {
		return nil, err
	}
	catalogue, rules, err := spec.rules()
	if err != nil {
		return nil, err
	}
	job := spec.job()
	if err := job.TakeBack(); err != nil {
		return nil, err
	}
	if err := job.Sweep(); err != nil {
		return nil, err
	}
	if err := job.LoadFoldDirs(dirs, g.Sources); err != nil {
		return nil, err
	}
	windows, ticks, err := job.Features(ctx, g.In.IDs)
	if err != nil {
		return nil, err
	}
	g.In.Ticks = ticks
	d, err := job.Diagnose(windows, inv, rules, spec.Refit)
	if err != nil {
		return nil, err
	}
	if err := job.StoreDiagnosis(d); err != nil {
		return nil, err
	}
	return job.Write(ctx, spec.Config.Out, d, catalogue, g.In)
}
