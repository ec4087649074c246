package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// Account is what an ingest did, as machines are told.
type Account struct {
	Inputs     int64            `json:"inputs"`
	Lines      int64            `json:"lines"`
	Events     int64            `json:"events"`
	Samples    int64            `json:"samples"`
	Ticks      int64            `json:"ticks"`
	Evidence   int64            `json:"evidence"`
	EventLines int64            `json:"event_lines"`
	Merged     int64            `json:"merged_lines"`
	Notes      int64            `json:"notes"`
	Rejects    map[string]int64 `json:"rejects"`
	Unpaired   map[string]int64 `json:"unpaired"`
	Duplicates int64            `json:"duplicates"` // lines of inputs that were read before
	Parts      int64            `json:"parts"`
	Bytes      int64            `json:"bytes"`     // of the inputs, decompressed
	NewBytes   int64            `json:"new_bytes"` // of these, decoded by this run: what the lake did not hold
}

// Ingested is the outcome of Ingest.
type Ingested struct {
	Account
	Reports  []ingest.Report // by path
	Skips    []ingest.Skip
	IDs      []string // of the inputs that have rows in the lake, read now or before
	OverAll  []string // paths of the inputs with too many rejects
	Warnings []string // what a reader of the report should know
	Left     int      // inputs that were not read, since the job was told to stop
}

// Useful reports whether any input gave rows, now or in an earlier run.
func (i *Ingested) Useful() bool { return len(i.IDs) > 0 }

// largeInput is the stored size from which an input gets the whole budget of
// memory: two such are never read at once, however many workers there are.
const largeInput = 8 << 20

// Ingest reads the sources into the lake. Inputs that the lake holds already,
// and copies of one another, are read once; of a grown input what lies behind its
// final chunks replaces its last part.
// When it fails the lake is as it was before.
func (j *Job) Ingest(ctx context.Context, sources []string, stdin io.Reader) (*Ingested, error) {
	return j.ingest(ctx, sources, stdin, nil)
}

// ingest is Ingest, or the part of Repair that writes.
func (j *Job) ingest(ctx context.Context, sources []string, stdin io.Reader, mend *repair) (_ *Ingested, err error) {
	inputs, beside, skips, err := j.find(ctx, sources, stdin)
	if err != nil {
		return nil, err
	}
	lock, err := lake.NewLock(j.Lake)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if _, err := lock.Sweep(); err != nil {
		return nil, err
	}
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	pseudonyms, err := j.anonymise(manifests)
	if err != nil {
		return nil, err
	}
	claims, warnings, err := j.know(ctx, inputs, beside, manifests)
	if err != nil {
		return nil, err
	}
	if mend != nil {
		if inputs, claims = mend.choose(j, inputs, claims); len(inputs) == 0 {
			out := &Ingested{Skips: skips}
			pseudonyms.account(out, inputs, nil, &j.Config)
			j.sum(out)
			return out, nil
		}
	}
	if err := lock.Begin(j.RunID, begun(inputs, claims)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_, swept := lock.Sweep()
			err = errors.Join(err, swept)
		}
	}()
	live := liveParts(manifests)
	out := &Ingested{Skips: skips, Warnings: warnings, Reports: make([]ingest.Report, len(inputs))}
	closed := lake.ClosedDays(manifests)
	writers, err := j.read(ctx, lock, inputs, claims, beside, live, closed, mend, pseudonyms, out)
	if err != nil {
		return nil, err
	}
	pseudonyms.account(out, inputs, hostsOf(claims), &j.Config)
	for i := range claims {
		claims[i].host = pseudonyms.Of(HostField, claims[i].host)
	}
	claims, writers = out.leave(claims, writers)
	if mend != nil {
		for _, w := range writers {
			mend.note(w)
		}
	}
	return out, j.conclude(lock, out, claims, writers, live)
}

// find resolves the sources, and takes the files that tell of others out of them.
func (j *Job) find(ctx context.Context, sources []string, stdin io.Reader) (logs []ingest.Input, beside besides, skips []ingest.Skip, err error) {
	inputs, skips, err := j.resolve(ctx, sources, stdin)
	if err != nil {
		return nil, beside, nil, err
	}
	for i := range inputs {
		if once(inputs[i]) {
			inputs[i] = replay(inputs[i])
		}
	}
	logs, beside, named, err := sidecars(inputs)
	return logs, beside, append(skips, named...), err
}

// know finds what the inputs are, by what the lake holds and by one another: which
// are copies, which clocks and hosts they have.
func (j *Job) know(ctx context.Context, inputs []ingest.Input, beside besides, manifests []lake.Manifest) (claims []claim, warnings []string, err error) {
	if claims, err = j.recognise(ctx, inputs, lake.NewKnown(manifests)); err != nil {
		return nil, nil, err
	}
	if warnings, err = j.setClocks(inputs, claims, beside.clocks); err != nil {
		return nil, nil, err
	}
	met, err := j.meet(ctx, inputs, claims, beside)
	return claims, append(warnings, met...), err
}

// conclude makes what was read of the inputs part of the lake: parts that take
// another's place, the account, the manifest.
func (j *Job) conclude(lock *lake.Lock, out *Ingested, claims []claim, writers []*chunkWriter, live map[string]map[string]lake.Part) error {
	j.account(out, writers, live)
	out.Warnings = append(out.Warnings, loose(out.Reports)...)
	standIns := map[string][]string{}
	for i, w := range writers {
		paths := make([]string, len(w.parts))
		for k := range w.parts {
			paths[k] = w.parts[k].Path
		}
		standsIn(standIns, out.Reports[i].Path, paths)
	}
	out.Warnings = append(out.Warnings, nameless(standIns)...)
	out.Warnings = append(out.Warnings, tooLate(writers)...)
	if j.SkipEmpty && !slices.ContainsFunc(writers, func(w *chunkWriter) bool { return len(w.parts)+len(w.late) > 0 }) {
		return lock.End(j.RunID)
	}
	if err := j.writeRejects(out.Reports, writers); err != nil {
		return err
	}
	removed := append(superseded(out, writers, claims, live), replaced(writers)...)
	slices.Sort(removed)
	removed = slices.Compact(removed)
	if err := j.FetchBundles(removed); err != nil {
		return err
	}
	manifest, err := j.manifest(lock, out, claims, writers, removed)
	if err != nil {
		return err
	}
	// From here on nothing needs room. Until the manifest stands, what took
	// another's place is not what the old one tells: the time is short.
	for _, w := range writers {
		for _, path := range w.staged {
			if err := lock.Publish(filepath.Join(j.Lake, filepath.FromSlash(path))); err != nil {
				return err
			}
		}
	}
	if err := manifest.Commit(); err != nil {
		return err
	}
	return errors.Join(j.remove(removed), lock.Thin(j.RunID+"-thin", j.Version, removed), forget(lock, claims, writers), lock.End(j.RunID))
}

// begun lists the identities under which the inputs may be written.
func begun(inputs []ingest.Input, claims []claim) []string {
	var ids []string
	for i, c := range claims {
		if c.id != "" && !inputs[i].Duplicate {
			ids = append(ids, c.id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// liveParts gives the paths of the parts that the manifests name, by input.
func liveParts(manifests []lake.Manifest) map[string]map[string]lake.Part {
	live := map[string]map[string]lake.Part{}
	for _, table := range []string{lake.Events, lake.Samples, lake.Evidence} {
		for _, p := range lake.Parts(manifests, table) {
			id := inputOf(p.Path)
			if live[id] == nil {
				live[id] = map[string]lake.Part{}
			}
			live[id][p.Path] = p
		}
	}
	return live
}

// read reads all inputs, several at once, and writes their parts. Those that
// will take the place of others wait until all inputs are read.
func (j *Job) read(ctx context.Context, lock *lake.Lock, inputs []ingest.Input, claims []claim, beside besides, live map[string]map[string]lake.Part, closed map[lake.Day]bool, mend *repair, pseudonyms *Pseudonyms, out *Ingested) ([]*chunkWriter, error) {
	writers := make([]*chunkWriter, len(inputs))
	var asked map[string]bool
	if pseudonyms != nil {
		var err error
		if asked, err = askedFacts(j.Config.Catalogue); err != nil {
			return nil, err
		}
	}
	var done atomic.Int64
	var large sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(j.workers())
	for i := range inputs {
		g.Go(func() error {
			in := inputs[i]
			workers := 1 // beside those of other inputs
			if in.Size >= largeInput || once(in) {
				large.Lock()
				defer large.Unlock()
				workers = j.workers()
			}
			if j.stopped() {
				return nil
			}
			own := pseudonyms.another() // they remember what they gave
			w := &chunkWriter{lake: j.Lake, closed: closed, workers: workers, names: beside.of(filepath.Dir(in.Path), claims[i].names), below: own.stack(beside.below[filepath.Dir(in.Path)]), pseudonyms: own, asked: asked, live: live[claims[i].id], only: mend.only(&claims[i])}
			if err := j.byMtime(gctx, &in); err != nil {
				return err
			}
			rep, err := j.readOne(gctx, in, &claims[i], w, mend)
			if err != nil && ctx.Err() != nil && j.stopped() { // it takes longer than there is patience
				return w.discard()
			}
			if err != nil {
				return err
			}
			if claims[i].grown && rep.Bytes <= claims[i].old.Bytes { // how long it is was not known before
				repeated(&rep)
				if err := w.discard(); err != nil {
					return err
				}
			}
			if err := w.keep(lock, &rep, &claims[i]); err != nil {
				return err
			}
			w.packing = packing{}
			out.Reports[i], writers[i] = rep, w
			j.progress("ingest", done.Add(1), int64(len(inputs)))
			return nil
		})
	}
	return writers, g.Wait()
}

// repeated gives all lines of a report the fate of an input that was read
// before.
func repeated(r *ingest.Report) {
	r.Tally = ingest.Tally{Lines: r.Tally.Lines, Duplicate: r.Tally.Lines}
	r.Events, r.Samples, r.Evidence, r.NewBytes, r.Kept, r.Checkpoint = 0, 0, 0, 0, 0, nil
}

// account sums the reports and finds the inputs with too many rejects.
func (j *Job) account(out *Ingested, writers []*chunkWriter, live map[string]map[string]lake.Part) {
	seen := map[string]bool{}
	for i := range out.Reports {
		r := &out.Reports[i]
		out.Parts += int64(len(writers[i].parts))
		out.Ticks += writers[i].ticks
		if len(writers[i].parts)+len(live[r.ID]) > 0 && !seen[r.ID] {
			seen[r.ID] = true
			out.IDs = append(out.IDs, r.ID)
		}
		if unexpected := r.Tally.Unexpected(); float64(unexpected) > j.Config.MaxRejects*float64(r.Tally.Lines) {
			out.OverAll = append(out.OverAll, r.Path)
		}
	}
	j.sum(out)
}

// sum adds up the reports.
func (j *Job) sum(out *Ingested) {
	var t ingest.Tally
	for i := range out.Reports {
		r := &out.Reports[i]
		t.Merge(r.Tally)
		out.Events += r.Events
		out.Samples += r.Samples
		out.Evidence += r.Evidence
		out.Bytes += r.Bytes
		out.NewBytes += r.NewBytes
	}
	out.Inputs = int64(len(out.Reports))
	out.Lines, out.EventLines, out.Merged, out.Notes, out.Duplicates = t.Lines, t.Event, t.Merged, t.Notes, t.Duplicate
	out.Rejects, out.Unpaired = t.Rejects, t.Unpaired
	if out.Rejects == nil {
		out.Rejects = map[string]int64{}
	}
	if out.Unpaired == nil {
		out.Unpaired = map[string]int64{}
	}
}

// IngestedBefore is the account of what the lake holds, as if one run had read
// it: the latest record of each input, and of copies and of inputs that gave
// nothing those of each path.
func (j *Job) IngestedBefore() (*Ingested, error) {
	ms, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	live := liveParts(ms)
	records := map[string]lake.Input{} // by identity, or path
	for _, m := range ms {
		for _, in := range m.Inputs {
			if in.Gave() {
				records["id "+in.ID] = in
			}
		}
	}
	for _, m := range ms {
		for _, in := range m.Inputs {
			if !in.Gave() && records["id "+in.ID].Path != in.Path {
				records["path "+in.Path] = in
			}
		}
	}
	out := &Ingested{}
	standIns := map[string][]string{}
	for _, key := range sortedKeys(records) {
		in := records[key]
		r := ingest.Report{Path: in.Path, ID: in.ID, Format: in.Format, Bytes: in.Bytes, Problem: in.Problem, FirstNS: in.FirstNS, LastNS: in.LastNS}
		if len(in.Tally) > 0 {
			if err := json.Unmarshal(in.Tally, &r.Tally); err != nil {
				return nil, fmt.Errorf("manifest's tally of input %s: %w", in.ID, err)
			}
		}
		if len(in.Clock) > 0 {
			if err := json.Unmarshal(in.Clock, &r.Clock); err != nil {
				return nil, fmt.Errorf("manifest's clock of input %s: %w", in.ID, err)
			}
		}
		if in.Gave() {
			out.Parts += int64(len(live[in.ID]))
			for path, p := range live[in.ID] {
				switch name, err := lake.ParsePart(path); {
				case err != nil:
					return nil, err
				case name.Table == lake.Events:
					r.Events += p.Rows
				case name.Table == lake.Samples:
					r.Samples += p.Rows
				case name.Table == lake.Evidence:
					r.Evidence += p.Rows
				}
			}
		}
		out.Reports = append(out.Reports, r)
		standsIn(standIns, in.Path, sortedKeys(live[in.ID]))
	}
	j.sum(out)
	out.Warnings = append(loose(out.Reports), nameless(standIns)...)
	return out, nil
}
