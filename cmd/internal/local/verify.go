package local

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// Verified is what was found in a lake.
type Verified struct {
	Parts      int64   `json:"parts"`
	Blocks     int64   `json:"blocks"`
	Bytes      int64   `json:"bytes"`
	Unfinished int     `json:"unfinished"` // files of a run that is at work, or that crashed
	Wrong      []Wrong `json:"wrong"`
}

// Wrong is a fault, with the input that the part was made of.
type Wrong struct {
	lake.Fault
	Source string `json:"source,omitempty"` // path as the run that read it found it
}

// Verify holds all parts that the lake's manifests name against the SHA-256 of
// their blocks, and looks for files that none names. It takes no lock.
func (j *Job) Verify(ctx context.Context) (*Verified, error) {
	if _, err := os.Stat(j.Lake); err != nil {
		return nil, err
	}
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	var parts []lake.Part
	for _, table := range []string{lake.Events, lake.Samples, lake.Evidence, lake.Ticks, lake.Windows, lake.Profiles, lake.Labels, lake.Baselines} {
		parts = append(parts, lake.Parts(manifests, table)...)
	}
	if parts, err = lake.Files(manifests, parts); err != nil {
		return nil, err
	}
	v := &Verified{Parts: int64(len(parts)), Wrong: []Wrong{}}
	sources := map[string]string{}
	for _, m := range manifests {
		for _, in := range m.Inputs {
			if in.Gave() {
				sources[in.ID] = in.Path
			}
		}
	}
	var mu sync.Mutex
	var done atomic.Int64
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(j.workers())
	for _, p := range parts {
		v.Blocks += int64(len(p.Blocks))
		v.Bytes += p.Bytes
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			faults, err := j.verifyPart(p)
			if err != nil {
				return err
			}
			j.progress("verify", done.Add(1), int64(len(parts)))
			mu.Lock()
			defer mu.Unlock()
			for _, f := range faults {
				v.Wrong = append(v.Wrong, Wrong{f, sources[f.Input]})
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	extra, unfinished, err := lake.Unnamed(j.Lake, manifests)
	if err != nil {
		return nil, err
	}
	v.Unfinished = unfinished
	for _, f := range extra {
		v.Wrong = append(v.Wrong, Wrong{Fault: f})
	}
	slices.SortFunc(v.Wrong, func(a, b Wrong) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Block, b.Block))
	})
	return v, nil
}

// verifyPart holds a file against what its writer knew. One that lies elsewhere
// is read from there, and not kept: all of a lake may have no room here.
func (j *Job) verifyPart(p lake.Part) ([]lake.Fault, error) {
	if j.Away == nil {
		return lake.VerifyPart(j.Lake, p)
	}
	if err := j.Away.FetchAsIs(p.Path); err != nil {
		return nil, err
	}
	faults, err := lake.VerifyPart(j.Lake, p)
	return faults, errors.Join(err, j.Away.Drop(p.Path))
}

// Repaired is the outcome of Repair.
type Repaired struct {
	Parts   []string `json:"repaired"` // paths of those written anew
	Changed []string `json:"changed"`  // of these, those whose bytes are no longer what they were
	Wrong   []Wrong  `json:"wrong"`    // what is wrong still
}

// Repair verifies the lake and writes the parts anew that are damaged or
// missing, from those of the sources that they were made of. Other sources,
// and other parts, it leaves alone; an input that has grown since is ingested
// as ever.
func (j *Job) Repair(ctx context.Context, sources []string, stdin io.Reader) (*Ingested, *Repaired, error) {
	before, err := j.Verify(ctx)
	if err != nil {
		return nil, nil, err
	}
	manifests, err := j.Manifests()
	if err != nil {
		return nil, nil, err
	}
	concerned := map[string]map[string]bool{} // parts by input, as if they stood alone
	note := func(input, path string) {
		if concerned[input] == nil {
			concerned[input] = map[string]bool{}
		}
		concerned[input][path] = true
	}
	bundles := map[string]bool{}
	for _, w := range before.Wrong {
		switch {
		case w.Kind == lake.Extra:
		case w.Input != "":
			note(w.Input, w.Path)
		default:
			bundles[w.Path] = true
		}
	}
	for id, parts := range liveParts(manifests) { // of a damaged bundle all
		for path := range parts {
			if bundles[lake.FileOf(path)] {
				note(id, lake.Alone(path))
			}
		}
	}
	rep := &Repaired{Parts: []string{}, Changed: []string{}, Wrong: before.Wrong}
	in, err := j.ingest(ctx, sources, stdin, &repair{concerned, rep})
	if err != nil || len(rep.Parts) == 0 {
		return in, rep, err
	}
	after, err := j.Verify(ctx)
	if err != nil {
		return nil, nil, err
	}
	rep.Wrong = after.Wrong
	return in, rep, nil
}

// repair is what an ingest is told that mends a lake.
type repair struct {
	concerned map[string]map[string]bool
	done      *Repaired
}

// choose leaves only the inputs that a repair needs: for each that parts in
// need were made of, the first copy that is all of it, or goes on behind it.
func (r *repair) choose(j *Job, inputs []ingest.Input, claims []claim) ([]ingest.Input, []claim) {
	var ins []ingest.Input
	var cs []claim
	taken := map[string]bool{}
	for i, c := range claims {
		if !c.known || taken[c.id] || len(r.concerned[c.id]) == 0 || inputs[i].Duplicate && j.size(inputs[i], &c) != c.old.Bytes {
			continue
		}
		taken[c.id] = true
		in := inputs[i]
		in.ID, in.Duplicate = c.id, false
		ins, cs = append(ins, in), append(cs, c)
	}
	return ins, cs
}

// only gives the parts of an input that are to be written, nil for all.
func (r *repair) only(c *claim) map[string]bool {
	if r == nil || c.grown {
		return nil
	}
	return r.concerned[c.id]
}

// note takes down what a writer wrote.
func (r *repair) note(w *chunkWriter) {
	was := map[string]lake.Part{}
	for path, p := range w.live {
		was[lake.Alone(path)] = p
	}
	for _, p := range w.parts {
		if was[p.Path].Path == "" { // of what an input has grown by
			continue
		}
		r.done.Parts = append(r.done.Parts, p.Path)
		if !slices.Equal(p.Blocks, was[p.Path].Blocks) {
			r.done.Changed = append(r.done.Changed, p.Path)
		}
	}
}
