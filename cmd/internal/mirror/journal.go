package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/ingest/bucket"
)

const (
	journalKey  = ".publish"
	stagedDir   = ".staged/"
	journalMost = 256 << 20 // bytes that a journal may have
	atOnce      = 4         // requests that carry files
)

// journal is what the bucket holds while a Publish is at work. Until it is
// committed it tells what to remove if the Publish is never finished; from then
// on it tells what is left to do, and readers see the lake as if it were done.
type journal struct {
	ID        string   `json:"id"`
	Committed bool     `json:"committed"`
	New       []string `json:"new,omitempty"`    // files that were not there, and no manifest of the bucket names yet
	Moves     []move   `json:"moves,omitempty"`  // in this order
	Remove    []string `json:"remove,omitempty"` // files that are no more
}

// move gives what waits under a key below .staged/ its place.
type move struct {
	From string `json:"from"`
	To   string `json:"to"`
	Size int64  `json:"size"`
}

// shelf is the part of a bucket that a lake lies in.
type shelf struct {
	b      *bucket.Bucket
	prefix string       // "" or ends with '/'
	held   func() error // that the lease is ours still; nil: none is needed
}

// mayWrite says that what is to be changed now may be.
func (s shelf) mayWrite() error {
	if s.held == nil {
		return nil
	}
	return s.held()
}

func (s shelf) key(rel string) string { return s.prefix + rel }

// list gives the files below dir, by path below the lake.
func (s shelf) list(ctx context.Context, dir string) ([]bucket.Object, error) {
	all, err := s.b.List(ctx, s.key(dir))
	for i := range all {
		all[i].Key = strings.TrimPrefix(all[i].Key, s.prefix)
	}
	return all, err
}

// journal reads the journal; nil if there is none.
func (s shelf) journal(ctx context.Context) (*journal, error) {
	data, err := s.b.Get(ctx, s.key(journalKey), journalMost)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var j journal
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, fmt.Errorf("mirror: %s%s: %w", s.prefix, journalKey, err)
	}
	paths := append(slices.Clone(j.New), j.Remove...)
	for _, m := range j.Moves {
		paths = append(paths, m.To)
		if !strings.HasPrefix(m.From, stagedDir) {
			return nil, fmt.Errorf("mirror: %s%s: %q is no place for what waits", s.prefix, journalKey, m.From)
		}
	}
	for _, p := range paths {
		if !isFile(p) {
			return nil, fmt.Errorf("mirror: %s%s: %q is no file of a lake", s.prefix, journalKey, p)
		}
	}
	return &j, nil
}

func (s shelf) write(ctx context.Context, j *journal) error {
	if err := s.mayWrite(); err != nil {
		return err
	}
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return s.b.Put(ctx, s.key(journalKey), int64(len(data)), fromMemory(data))
}

// settle does what is left of a Publish: of one that was committed all, else it
// removes what that had sent.
func (s shelf) settle(ctx context.Context, j *journal) error {
	if j.Committed {
		return s.apply(ctx, j)
	}
	if err := s.remove(ctx, j.New); err != nil {
		return err
	}
	return s.clear(ctx)
}

// apply does what a committed journal tells. Whatever of it was done before is
// done again, with the same outcome.
func (s shelf) apply(ctx context.Context, j *journal) error {
	// Those who read without knowing of journals see the parts before the
	// manifests, and these in their order.
	last := len(j.Moves)
	for last > 0 && isManifest(j.Moves[last-1].To) {
		last--
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, m := range j.Moves[:last] {
		g.Go(func() error { return s.move(gctx, m) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, m := range j.Moves[last:] {
		if err := s.move(ctx, m); err != nil {
			return err
		}
	}
	if err := s.remove(ctx, j.Remove); err != nil {
		return err
	}
	return s.clear(ctx)
}

func (s shelf) move(ctx context.Context, m move) error {
	if err := s.mayWrite(); err != nil {
		return err
	}
	return s.b.Copy(ctx, s.key(m.To), s.key(m.From))
}

// clear takes the journal away, and then what nothing tells of any more.
func (s shelf) clear(ctx context.Context) error {
	if err := s.remove(ctx, []string{journalKey}); err != nil {
		return err
	}
	left, err := s.list(ctx, stagedDir)
	if err != nil {
		return err
	}
	var paths []string
	for _, o := range left {
		paths = append(paths, o.Key)
	}
	return s.remove(ctx, paths)
}

func (s shelf) remove(ctx context.Context, paths []string) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(4 * atOnce)
	for _, p := range paths {
		g.Go(func() error {
			if err := s.mayWrite(); err != nil {
				return err
			}
			return s.b.Delete(gctx, s.key(p))
		})
	}
	return g.Wait()
}
