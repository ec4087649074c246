package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// Shares are the shares of all processes of a job, and where they lie.
type Shares struct {
	Dirs []string // as they were given
	all  []*Share // of Dirs

	elsewhere map[int]Elsewhere // by place in Dirs: what does not all lie there
}

// Elsewhere brings files of a share that lies elsewhere, such as in a bucket, into the
// directory that stands for it.
type Elsewhere interface {
	Bring(paths ...string) error                       // by path below the share
	BringBelow(folder string) error                    // all that is below a folder of it
	BringParts(folder string, parts []lake.Part) error // of the lake there, as the parts tell of them
}

// Bring says that the share in the directory number i lies elsewhere.
func (s *Shares) Bring(i int, from Elsewhere) {
	if s.elsewhere == nil {
		s.elsewhere = map[int]Elsewhere{}
	}
	s.elsewhere[i] = from
}

// bringRows brings all parts, and the checkpoints of whole inputs.
func (s *Shares) bringRows() error {
	for i, from := range s.elsewhere {
		var parts []lake.Part
		var kept []string
		for _, p := range s.all[i].Pieces {
			parts = append(parts, p.Parts...)
			if p.Kept != nil {
				kept = append(kept, path.Join(shareLake, p.Kept.Path))
			}
		}
		if err := errors.Join(from.BringParts(shareLake, parts), from.Bring(kept...)); err != nil {
			return err
		}
	}
	return nil
}

// LoadShares reads the shares that lie in dirs, which may come in any order, and
// says what is missing for the whole.
func LoadShares(dirs []string) (*Shares, error) {
	s := &Shares{Dirs: dirs}
	at := map[int]string{}
	for _, dir := range dirs {
		one, err := loadShare(dir)
		if err != nil {
			return nil, err
		}
		if other, twice := at[one.Index]; twice {
			return nil, fmt.Errorf("%s and %s both hold the share of shard %d/%d", other, dir, one.Index, one.Of)
		}
		at[one.Index] = dir
		s.all = append(s.all, one)
		if first := s.all[0]; one.Of != first.Of || one.Sources != first.Sources {
			return nil, fmt.Errorf("%s (shard %d/%d) and %s (shard %d/%d) are not of one job: the sources, the settings, the version or the number of shards differ",
				dirs[0], first.Index, first.Of, dir, one.Index, one.Of)
		}
	}
	if len(s.all) == 0 {
		return nil, errors.New("no share to merge")
	}
	for i := range s.all[0].Of {
		if at[i] == "" {
			return nil, fmt.Errorf("the share of shard %d/%d is missing", i, s.all[0].Of)
		}
	}
	return s, nil
}

// lakes are the directories of the parts, one a share.
func (s *Shares) lakes() []string {
	var out []string
	for _, d := range s.Dirs {
		out = append(out, filepath.Join(d, shareLake))
	}
	return out
}

// Gather makes one lake of the shares: what one ingest of all sources would have
// made. Parts become links to those of the shares, or copies where the file systems differ.
func (j *Job) Gather(ctx context.Context, s *Shares) (*Ingested, error) {
	var pieces []*PieceRead
	from := map[*PieceRead]string{}
	lakes := s.lakes()
	for i, one := range s.all {
		for _, p := range one.Pieces {
			from[p] = lakes[i]
		}
		pieces = append(pieces, one.Pieces...)
	}
	first := s.all[0]
	p, err := NewPseudonyms(&j.Config)
	if err != nil {
		return nil, err
	}
	if p.Mark() != first.Mark {
		return nil, errors.New("config: anonymise: the shares were read with another key, or without one: give merge what the shards were given")
	}
	if err := s.bringRows(); err != nil {
		return nil, err
	}
	return j.gatherPieces(ctx, pieces, first.Inputs, first.Skips, first.Warnings, func(p *PieceRead) string { return from[p] })
}

// gatherPieces makes a lake of all pieces of so many inputs, whose parts lie below
// the directory that in names; it may be the lake itself. Where it names none they are left where they are.
func (j *Job) gatherPieces(ctx context.Context, pieces []*PieceRead, inputs int, skips []ingest.Skip, warnings []string, in func(*PieceRead) string) (_ *Ingested, err error) {
	byInput, err := whole(pieces, inputs)
	if err != nil {
		return nil, err
	}
	lock, err := lake.NewLock(j.Lake)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(manifests, func(m lake.Manifest) bool { return m.Run != j.RunID }) { // a second try replaces the first
		return nil, fmt.Errorf("lake %s holds runs already: shares are merged into a lake of their own", j.Lake)
	}
	if _, err := j.anonymise(manifests); err != nil {
		return nil, err
	}
	var ids []string
	for _, all := range byInput {
		if all[0].ID != "" {
			ids = append(ids, all[0].ID)
		}
	}
	slices.Sort(ids)
	if err := lock.Begin(j.RunID, slices.Compact(ids)); err != nil {
		return nil, err
	}
	out := &Ingested{Skips: skips, Warnings: slices.Clone(warnings), Reports: make([]ingest.Report, inputs)}
	claims := make([]claim, inputs)
	writers := make([]*chunkWriter, inputs)
	for i, all := range byInput {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c := &claims[i]
		c.id, c.headBytes, c.host, c.names = all[0].ID, all[0].HeadBytes, all[0].Host, all[0].Names
		w := &chunkWriter{lake: j.Lake, below: all[0].Below}
		if out.Reports[i], err = w.gather(all); err != nil {
			return nil, err
		}
		for _, p := range all {
			if in(p) == "" {
				continue
			}
			for _, part := range p.Parts {
				if err := lake.Adopt(in(p), j.Lake, part.Path); err != nil {
					return nil, err
				}
			}
			if w.checkpoint = p.Kept; p.Kept != nil {
				if err := lake.Adopt(in(p), j.Lake, p.Kept.Path); err != nil {
					return nil, err
				}
			}
		}
		if err := w.keep(lock, &out.Reports[i], c); err != nil {
			return nil, err
		}
		writers[i] = w
		j.progress("merge", int64(i+1), int64(inputs))
	}
	return out, j.conclude(lock, out, claims, writers, map[string]map[string]lake.Part{})
}

// whole sorts the pieces by input, and wants all of each, once.
func whole(pieces []*PieceRead, inputs int) ([][]*PieceRead, error) {
	all := make([][]*PieceRead, inputs)
	for _, p := range pieces {
		if p.Input < 0 || p.Input >= inputs {
			return nil, fmt.Errorf("a share has read input %d, of %d", p.Input, inputs)
		}
		all[p.Input] = append(all[p.Input], p)
	}
	for i, list := range all {
		slices.SortFunc(list, func(a, b *PieceRead) int { return cmp.Compare(a.Stretch.From, b.Stretch.From) })
		at := int64(0)
		for k, p := range list {
			if p.Stretch.From != at || k > 0 && at == 0 {
				return nil, fmt.Errorf("%s: its chunks from %d on were read twice, or by nobody", p.Report.Path, at)
			}
			at = p.Stretch.To
		}
		if len(list) == 0 || at != 0 {
			return nil, fmt.Errorf("input %d: its chunks from %d on were read by nobody", i, at)
		}
	}
	return all, nil
}

// gather takes what was read of an input, piece by piece, and gives the report of
// all of it.
func (w *chunkWriter) gather(pieces []*PieceRead) (ingest.Report, error) {
	var reports []ingest.Report
	lines := int64(0)
	for _, p := range pieces {
		r := p.Report
		if p.Mark != nil {
			var err error
			if r.Checkpoint, err = ingest.DecodeCheckpoint(p.Mark); err != nil {
				return r, fmt.Errorf("share: %s: %w", r.Path, err)
			}
		}
		w.parts = append(w.parts, p.Parts...)
		w.ticks += p.Ticks
		for _, x := range p.Rejects {
			if len(w.rejects) < keptRejects {
				w.rejects = append(w.rejects, ingest.Reject{Line: x.Line + lines, Position: x.At, Reason: x.Reason, Text: string(x.Text)})
			}
		}
		lines += r.Tally.Lines
		reports = append(reports, r)
	}
	if len(reports) == 1 {
		return reports[0], nil
	}
	return ingest.JoinStretches(reports), nil
}

// GatherRead is Gather of pieces of these sources that were read into the job's lake
// itself. A second try takes the place of the first.
func (j *Job) GatherRead(ctx context.Context, s *Sources, pieces []*PieceRead) (*Ingested, error) {
	if err := j.TakeBack(); err != nil {
		return nil, err
	}
	skips, warnings := s.told()
	return j.gatherPieces(ctx, pieces, len(s.inputs), skips, warnings, func(*PieceRead) string { return j.Lake })
}

// Sweep removes what workers that died were writing. It is for when the manifest of
// what was read stands: before that nothing tells a part from one that nobody wants.
func (j *Job) Sweep() error {
	lock, err := lake.NewLock(j.Lake)
	if err != nil {
		return err
	}
	defer lock.Close()
	_, err = lock.Sweep()
	return err
}

// TakeBack takes back what Features and StoreDiagnosis of this run have made in a lake
// that holds no other, so that a second try finds what the first has found.
func (j *Job) TakeBack() error { return j.takeBack(j.RunID + "-") }

// TakeBackLabels is TakeBack of what StoreDiagnosis has made.
func (j *Job) TakeBackLabels() error { return j.takeBack(j.RunID + "-" + lake.Labels) }

// takeBack takes back the runs whose names begin so, the model and the registry.
func (j *Job) takeBack(begin string) error {
	lock, err := lake.NewLock(j.Lake)
	if err != nil {
		return err
	}
	defer lock.Close()
	manifests, err := j.Manifests()
	if err != nil {
		return err
	}
	gone := []string{lake.RegistryPath, lake.ModelPath(modelFile)}
	for _, m := range manifests {
		switch {
		case strings.HasPrefix(m.Run, begin):
			gone = append(gone, lake.RunPath(m.Run))
		case m.Run != j.RunID && !strings.HasPrefix(m.Run, j.RunID+"-"):
			return fmt.Errorf("lake %s holds other runs: %s", j.Lake, m.Run)
		}
	}
	for _, path := range gone {
		if err := os.Remove(filepath.Join(j.Lake, filepath.FromSlash(path))); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
