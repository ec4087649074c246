package mirror

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/ingest/lake"
)

// change is what a run did to the working copy.
type change struct {
	put    map[string]os.FileInfo // files that are new, or other than those of the bucket
	remove []string
}

// Publish makes the lake in the bucket what the working copy is. New parts go to
// their places, where no manifest names them; what takes another's place, and all
// that tells which parts count, waits aside. Then the journal is committed: that
// is the moment. What waits is given its place, and what is no more goes.
//
// Of an error before that moment the bucket shows nothing; what was sent the next
// writer removes. Of one after it the next writer does the rest.
func (c *Copy) Publish(ctx context.Context) error {
	if c.lease == nil {
		return errors.New("mirror: publish: the lake was opened for reading alone")
	}
	c.listLent()
	what, err := c.changes()
	if err != nil || len(what.put)+len(what.remove) == 0 {
		return errors.Join(err, c.trim())
	}
	j := &journal{ID: rand.Text(), Remove: what.remove}
	to := map[string]string{} // where each file is sent first
	for _, rel := range sorted(what.put) {
		if c.files[rel] == nil && !isState(rel) {
			j.New = append(j.New, rel)
			to[rel] = rel
			continue
		}
		m := move{stagedDir + j.ID + "/" + strconv.Itoa(len(j.Moves)), rel, what.put[rel].Size()}
		j.Moves = append(j.Moves, m)
		to[rel] = m.From
	}
	if err := c.shelf.write(ctx, j); err != nil {
		return err
	}
	if err := c.send(ctx, what, to); err != nil {
		return err
	}
	if err := c.commit(ctx, j); err != nil {
		return err
	}
	c.published(what)
	return errors.Join(c.shelf.apply(ctx, j), c.trim())
}

// commit is the moment. A request that does not come through while the lease is
// surely ours is given up: it is not to arrive under another's hands.
func (c *Copy) commit(ctx context.Context, j *journal) error {
	manifests, err := c.sequence(j.Moves)
	if err != nil {
		return err
	}
	j.Committed, j.New, j.Moves = true, nil, manifests
	soon, cancel := context.WithTimeout(ctx, c.lease.length/4)
	defer cancel()
	return c.shelf.write(soon, j)
}

// sequence puts manifests behind all else, in the order of their runs.
func (c *Copy) sequence(moves []move) ([]move, error) {
	manifests, err := lake.Manifests(c.Dir())
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i, m := range manifests {
		at[lake.RunPath(m.Run)] = i + 1
	}
	rank := func(m move) int {
		if isManifest(m.To) {
			return 1 + at[m.To]
		}
		return 0
	}
	moves = slices.Clone(moves)
	slices.SortStableFunc(moves, func(a, b move) int { return rank(a) - rank(b) })
	return moves, nil
}

// changes compares the working copy with what was put there.
func (c *Copy) changes() (*change, error) {
	what := &change{put: map[string]os.FileInfo{}}
	seen := map[string]bool{}
	err := filepath.WalkDir(c.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(c.Dir(), path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		name := d.Name()
		switch {
		case slices.Contains(own, rel):
			if c.files[rel] != nil {
				return nil
			}
		case strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp"):
			if c.files[rel] != nil {
				seen[rel] = true
			}
			return nil
		case !isFile(rel):
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		seen[rel] = true
		if f := c.files[rel]; f == nil || !unchanged(f.local, info) {
			what.put[rel] = info
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("mirror: publish: %w", err)
	}
	for rel := range c.files {
		if !seen[rel] && !slices.Contains(own, rel) {
			what.remove = append(what.remove, rel)
		}
	}
	slices.Sort(what.remove)
	return what, nil
}

// send puts the files where they are to be before the commit.
func (c *Copy) send(ctx context.Context, what *change, to map[string]string) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, rel := range sorted(to) {
		g.Go(func() error {
			if err := c.shelf.mayWrite(); err != nil {
				return err
			}
			if key := c.lentKey(what.put[rel]); key != "" {
				return c.shelf.b.Copy(gctx, c.shelf.key(to[rel]), key)
			}
			size, open := what.put[rel].Size(), func() (io.ReadCloser, error) { return os.Open(c.path(rel)) }
			if slices.Contains(own, rel) {
				size, open = 0, fromMemory(nil)
			}
			return c.shelf.b.Put(gctx, c.shelf.key(to[rel]), size, open)
		})
	}
	return g.Wait()
}

// published takes down that the bucket holds what the working copy does.
func (c *Copy) published(what *change) {
	for rel, info := range what.put {
		if was := c.files[rel]; was != nil {
			c.forget(was)
		}
		c.fetched++
		c.files[rel] = &file{object: rel, size: info.Size(), local: info, here: c.lentKey(info) == "", used: c.fetched}
	}
	for _, rel := range what.remove {
		c.forget(c.files[rel])
		delete(c.files, rel)
	}
	if parts, err := partFiles(c.Dir()); err == nil { // else the next stage says what is wrong
		c.parts = parts
	}
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
