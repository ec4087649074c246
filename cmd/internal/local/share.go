package local

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// Shard is one of several processes that do a job together: number Index of Of,
// from 0.
type Shard struct{ Index, Of int }

// mostShards bounds the processes of a job.
const mostShards = 1 << 16

// ParseShard reads "i/N".
func ParseShard(s string) (Shard, error) {
	index, of, ok := strings.Cut(s, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(of)
	if !ok || err1 != nil || err2 != nil || n < 1 || n > mostShards || i < 0 || i >= n {
		return Shard{}, fmt.Errorf("shard %q: want i/N, with i from 0 to N-1", s)
	}
	return Shard{i, n}, nil
}

// Sources is what a job reads, as every process of it finds it by itself.
type Sources struct {
	job      *Job
	inputs   []ingest.Input
	claims   []claim
	beside   besides
	skips    []ingest.Skip
	warnings []string

	pseudonyms *Pseudonyms // nil: names stay
	asked      map[string]bool
}

// Sources finds what is to be read, for a lake that holds nothing yet.
func (j *Job) Sources(ctx context.Context, sources []string) (*Sources, error) {
	s := &Sources{job: j}
	var err error
	if s.pseudonyms, err = NewPseudonyms(&j.Config); err != nil {
		return nil, err
	}
	if s.pseudonyms != nil {
		if s.asked, err = askedFacts(j.Config.Catalogue); err != nil {
			return nil, err
		}
	}
	if s.inputs, s.beside, s.skips, err = j.find(ctx, sources, nil); err != nil {
		return nil, err
	}
	for _, in := range s.inputs {
		if once(in) {
			return nil, fmt.Errorf("%s can be read only once: not by several processes", in.Path)
		}
	}
	s.claims, s.warnings, err = j.know(ctx, s.inputs, s.beside, nil)
	return s, err
}

// Hash names what all processes of a job must agree on: the inputs as they were
// found, how they are to be read, and by which version.
func (s *Sources) Hash() (string, error) {
	h := sha256.New()
	o := s.job.Config.Ingest
	o.ReadBytes = 0
	options, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%s\n%s\n", s.job.Version, options)
	for i := range s.inputs {
		in, c := &s.inputs[i], &s.claims[i]
		fmt.Fprintf(h, "%q %d %q %q %v %+v\n", in.Path, in.Size, c.id, in.Host, in.Duplicate, in.Clock)
	}
	sum := hex.EncodeToString(h.Sum(nil)[:16])
	if s.pseudonyms != nil {
		sum = s.pseudonyms.mac("sources", sum) // else who knows the key to no name could try names out
	}
	return sum, nil
}

// hide puts pseudonyms into what is told of these sources.
func (s *Sources) hide(out *Ingested) {
	s.pseudonyms.another().account(out, s.inputs, hostsOf(s.claims), &s.job.Config)
}

// told are the skips and warnings of these sources, as everybody may see them.
func (s *Sources) told() (skips []ingest.Skip, warnings []string) {
	out := &Ingested{Skips: slices.Clone(s.skips), Warnings: slices.Clone(s.warnings)}
	s.hide(out)
	return out.Skips, out.Warnings
}

// Piece is what one process reads at a time: an input, or some of its chunks.
type Piece struct {
	Input   int            `json:"input"` // its number among the sources
	Stretch ingest.Stretch `json:"stretch"`
}

// Pieces gives the share of a shard: next to one another, and of about the same
// number of stored bytes as any other's. An input is cut at chunks if it can be.
func (s *Sources) Pieces(shard Shard) ([]Piece, error) {
	total := int64(0)
	for i := range s.inputs {
		total += weightOf(&s.inputs[i])
	}
	of := func(at int64) int { return int(min(at/max(total/int64(shard.Of), 1), int64(shard.Of-1))) }
	var out []Piece
	from := int64(0)
	for i := range s.inputs {
		in := &s.inputs[i]
		to := from + weightOf(in)
		first, last := of(from), of(to-1)
		switch {
		case first > shard.Index || last < shard.Index:
		case first == last:
			out = append(out, Piece{Input: i})
		default:
			chunks, ok := int64(0), false
			if !s.job.Config.Ingest.ClockMtime { // which asks for the end of the input first
				chunks, ok = ingest.CanStretch(*in, s.job.Config.Ingest)
			}
			if !ok {
				if of(from+(to-from)/2) == shard.Index {
					out = append(out, Piece{Input: i})
				}
				break
			}
			p := Piece{Input: i, Stretch: ingest.Stretch{From: -1}}
			for k := range chunks {
				switch mine := of(min(from+k*s.job.Config.Ingest.ChunkBytes, to-1)) == shard.Index; {
				case mine && p.Stretch.From < 0:
					p.Stretch.From = k
				case !mine && p.Stretch.From >= 0 && p.Stretch.To == 0:
					p.Stretch.To = k
				}
			}
			if p.Stretch.From >= 0 {
				out = append(out, p)
			}
		}
		from = to
	}
	return out, nil
}

// weightOf is the work of an input: its bytes, and that of opening it.
func weightOf(in *ingest.Input) int64 { return in.Size + ingest.IdentityBytes }

// PieceRead is what became of a piece: the account of its lines, and the parts of
// the lake that were made of them.
type PieceRead struct {
	Piece
	ID        string               `json:"id"`
	HeadBytes int                  `json:"head_bytes"`
	Host      string               `json:"host,omitempty"`
	Below     map[string][]string  `json:"below,omitempty"`
	Names     map[string]string    `json:"names,omitempty"`
	Report    ingest.Report        `json:"report"`
	Parts     []lake.Part          `json:"parts,omitempty"`
	Rejects   []rejectRow          `json:"rejects,omitempty"`
	Ticks     int64                `json:"ticks,omitempty"`
	Kept      *lake.CheckpointFile `json:"checkpoint,omitempty"` // of a whole input
	Mark      []byte               `json:"mark,omitempty"`       // the checkpoint of a stretch
}

// rejectRow is a bad line; its text is no text to be trusted.
type rejectRow struct {
	Line   int64  `json:"line"`
	At     int64  `json:"byte"`
	Reason string `json:"reason"`
	Text   []byte `json:"text"`
}

// Read reads a piece and writes its parts below dir. Their names, and so what a
// second reading puts in the place of the first, follow from the input.
func (s *Sources) Read(ctx context.Context, p Piece, dir string) (*PieceRead, error) {
	if p.Input < 0 || p.Input >= len(s.inputs) {
		return nil, fmt.Errorf("piece of input %d, of %d", p.Input, len(s.inputs))
	}
	j := s.job
	in, c := s.inputs[p.Input], s.claims[p.Input]
	in.Stretch = p.Stretch
	folder := filepath.Dir(in.Path)
	pseudonyms := s.pseudonyms.another()
	w := &chunkWriter{lake: dir, workers: 1, names: s.beside.of(folder, c.names), below: pseudonyms.stack(s.beside.below[folder]), pseudonyms: pseudonyms, asked: s.asked}
	if in.Size >= largeInput {
		w.workers = j.workers()
	}
	if err := j.byMtime(ctx, &in); err != nil {
		return nil, err
	}
	rep, err := j.readOne(ctx, in, &c, w, nil)
	if err != nil {
		return nil, err
	}
	if s.pseudonyms != nil {
		told := &Ingested{Reports: []ingest.Report{rep}}
		s.hide(told)
		rep, c.host = told.Reports[0], pseudonyms.Of(HostField, c.host)
	}
	out := &PieceRead{Piece: p, ID: c.id, HeadBytes: c.headBytes, Host: c.host, Below: w.below, Names: c.names, Report: rep, Parts: w.parts, Ticks: w.ticks}
	for _, r := range w.rejects {
		if s.pseudonyms != nil {
			r.Text = "" // it may hold any name
		}
		out.Rejects = append(out.Rejects, rejectRow{r.Line, r.Position, r.Reason, []byte(r.Text)})
	}
	if rep.Checkpoint == nil {
		return out, nil
	}
	data, err := rep.Checkpoint.Encode()
	switch {
	case err != nil:
		return nil, err
	case p.Stretch != ingest.Stretch{}:
		out.Mark = data
	case len(w.parts) > 0 && len(data) <= ingest.CheckpointBytes:
		file, err := lake.SaveCheckpoint(dir, rep.ID, rep.Checkpoint.Chunk, data)
		if err != nil {
			return nil, err
		}
		out.Kept = &file
	}
	return out, nil
}

// Share is what one process of a job has read.
type Share struct {
	Tool     string        `json:"tool"`
	Version  string        `json:"version"`
	Sources  string        `json:"sources"`            // Hash
	Mark     string        `json:"key_mark,omitempty"` // of the key of its pseudonyms; "" where names stayed
	Index    int           `json:"shard"`
	Of       int           `json:"of"`
	Inputs   int           `json:"inputs"` // of all
	Skips    []ingest.Skip `json:"skips,omitempty"`
	Warnings []string      `json:"warnings,omitempty"`
	Pieces   []*PieceRead  `json:"pieces"`
}

// ShareFile is where a process leaves its Share, and shareLake its parts, below the
// directory that it was given.
const (
	ShareFile = "share.json"
	shareLake = "lake"
)

// CheckShare says whether a share may be put into dir: it is absent, empty, or holds one.
func CheckShare(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("share: %w", err)
	}
	for _, e := range entries {
		if e.Name() != ShareFile && e.Name() != shareLake && e.Name() != foldsDir {
			return fmt.Errorf("directory %s holds other things than the share of a job: choose another", dir)
		}
	}
	return nil
}

// ReadShare reads the share of a shard into dir: parts, and what Gather needs to
// know of them. A share that was read before is read anew.
func (j *Job) ReadShare(ctx context.Context, sources []string, shard Shard, dir string) (*Share, error) {
	s, err := j.Sources(ctx, sources)
	if err != nil {
		return nil, err
	}
	share := &Share{Tool: Tool, Version: j.Version, Index: shard.Index, Of: shard.Of, Inputs: len(s.inputs), Mark: s.pseudonyms.Mark()}
	share.Skips, share.Warnings = s.told()
	if share.Sources, err = s.Hash(); err != nil {
		return nil, err
	}
	pieces, err := s.Pieces(shard)
	if err != nil {
		return nil, err
	}
	parts := filepath.Join(dir, shareLake)
	lock, err := lake.NewLock(parts)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if _, err := lock.Sweep(); err != nil {
		return nil, err
	}
	share.Pieces = make([]*PieceRead, len(pieces))
	large := make(chan struct{}, 1)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(j.workers())
	for i, p := range pieces {
		g.Go(func() (err error) {
			if s.inputs[p.Input].Size >= largeInput {
				large <- struct{}{}
				defer func() { <-large }()
			}
			share.Pieces[i], err = s.Read(gctx, p, parts)
			j.progress("ingest", int64(i+1), int64(len(pieces)))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(share, "", " ")
	if err != nil {
		return nil, fmt.Errorf("share: %w", err)
	}
	return share, lake.WriteFileAtomic(filepath.Join(dir, ShareFile), append(data, '\n'))
}

// Account sums what the share has read.
func (s *Share) Account(j *Job) Account {
	out := Ingested{}
	for _, p := range s.Pieces {
		out.Reports = append(out.Reports, p.Report)
		out.Parts += int64(len(p.Parts))
		out.Ticks += p.Ticks
	}
	j.sum(&out)
	return out.Account
}

// loadShare reads what ReadShare has left in dir.
func loadShare(dir string) (*Share, error) {
	data, err := os.ReadFile(filepath.Join(dir, ShareFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no share of a job, or one that did not come to its end: run its shard again", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("share: %w", err)
	}
	var s Share
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("share %s: %w", filepath.Join(dir, ShareFile), err)
	}
	if s.Tool != Tool || s.Of < 1 || s.Index < 0 || s.Index >= s.Of || cmp.Or(s.Sources, "") == "" {
		return nil, fmt.Errorf("share %s: it is none", filepath.Join(dir, ShareFile))
	}
	return &s, nil
}
