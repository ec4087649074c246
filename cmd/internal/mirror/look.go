package mirror

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/ingest/lake"
)

const (
	looks     = 5
	stateMost = 1 << 30 // bytes of a manifest, a model, the registry
)

// look lists the lake, reads what tells which files count, and puts holes where
// the others lie. A reader looks again where a writer has been at work meanwhile,
// until what it saw is of one moment.
func (c *Copy) look() error {
	c.seen = nil
	c.shelf.b.Forget()
	var before []string
	for n := 1; ; n++ {
		torn, err := c.lookOnce()
		if err != nil {
			if n < looks && errors.Is(err, fs.ErrNotExist) {
				continue // it was there when it was listed
			}
			return err
		}
		if torn == nil || n > 1 && slices.Equal(torn, before) || n == looks {
			return c.dig() // what is missing twice is missing
		}
		before = torn
	}
}

// lookOnce gives what can't be of one moment: nil for nothing.
func (c *Copy) lookOnce() (torn []string, err error) {
	first, err := c.shelf.journal(c.ctx)
	if err != nil {
		return nil, err
	}
	all, err := c.shelf.list(c.ctx, "")
	if err != nil {
		return nil, err
	}
	c.files = map[string]*file{}
	for _, o := range all {
		if isFile(o.Key) {
			c.files[o.Key] = &file{object: o.Key, size: o.Size}
		}
	}
	if first != nil {
		first.over(c.files)
	}
	if err := errors.Join(os.RemoveAll(c.Dir()), os.RemoveAll(filepath.Join(c.home.Dir(), blocksDir))); err != nil {
		return nil, fmt.Errorf("mirror: %w", err)
	}
	c.blocks = 0
	g, gctx := errgroup.WithContext(c.ctx)
	g.SetLimit(4 * atOnce)
	for rel, f := range c.files {
		if isState(rel) {
			g.Go(func() error {
				data, err := c.shelf.b.Get(gctx, c.shelf.key(f.object), stateMost)
				if err != nil {
					return err
				}
				f.size, f.here = int64(len(data)), true
				return c.put(rel, f, func(to *os.File) error { _, err := to.Write(data); return err })
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if c.parts, err = partFiles(c.Dir()); err != nil {
		return nil, err
	}
	if c.lease != nil {
		return nil, nil // nobody else writes
	}
	last, err := c.shelf.journal(c.ctx)
	if err != nil {
		return nil, err
	}
	again, err := c.shelf.list(c.ctx, "runs/")
	if err != nil {
		return nil, err
	}
	c.seen = &moment{last, again}
	if !same(first, last) || !slices.Equal(again, slices.DeleteFunc(all, func(o bucket.Object) bool { return !strings.HasPrefix(o.Key, "runs/") })) {
		return []string{"runs"}, nil
	}
	for rel, p := range c.parts {
		if f := c.files[rel]; f == nil || f.size != p.Bytes {
			torn = append(torn, rel)
		}
	}
	slices.Sort(torn)
	return torn, nil
}

// moment is by what a reader tells that something was published: the journal and the
// listing of the runs.
type moment struct {
	journal *journal
	runs    []bucket.Object
}

// Renew looks at the bucket again if something was published since it was looked at
// last; what was fetched is let go of then. Nobody may work on the copy meanwhile. A
// copy with the right to write is the newest there is.
func (c *Copy) Renew() error {
	if c.lease != nil {
		return nil
	}
	if c.seen != nil {
		j, err := c.shelf.journal(c.ctx)
		if err != nil {
			return err
		}
		runs, err := c.shelf.list(c.ctx, "runs/")
		if err != nil {
			return err
		}
		if same(j, c.seen.journal) && slices.Equal(runs, c.seen.runs) {
			return nil
		}
	}
	return c.look()
}

func same(a, b *journal) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && a.Committed == b.Committed
}

// over makes files those that there are when the journal is done.
func (j *journal) over(files map[string]*file) {
	if !j.Committed {
		for _, rel := range j.New {
			delete(files, rel)
		}
		return
	}
	for _, m := range j.Moves {
		files[m.To] = &file{object: m.From, size: m.Size}
	}
	for _, rel := range j.Remove {
		delete(files, rel)
	}
}

// partFiles gives the files that the manifests of a lake name.
func partFiles(dir string) (map[string]lake.Part, error) {
	manifests, err := lake.Manifests(dir)
	if err != nil {
		return nil, err
	}
	named := map[string]lake.Part{}
	for _, table := range []string{lake.Events, lake.Samples, lake.Evidence, lake.Ticks, lake.Windows, lake.Profiles, lake.Labels, lake.Baselines} {
		files, err := lake.Files(manifests, lake.Parts(manifests, table))
		if err != nil {
			return nil, err
		}
		for _, p := range files {
			named[p.Path] = p
		}
	}
	return named, nil
}

// dig puts a hole of its size where a file lies whose bytes are not here.
func (c *Copy) dig() error {
	if err := os.MkdirAll(c.Dir(), 0o777); err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	for rel, f := range c.files {
		if f.local == nil && !slices.Contains(own, rel) {
			if err := c.hole(rel, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Copy) hole(rel string, f *file) error {
	f.here = false
	return c.put(rel, f, func(to *os.File) error { return to.Truncate(f.size) })
}

// put gives a file its place in the working copy, whole.
func (c *Copy) put(rel string, f *file, fill func(*os.File) error) error {
	path := c.path(rel)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("mirror: %s: %w", rel, err)
	}
	to, err := os.CreateTemp(filepath.Dir(path), ".*.tmp")
	if err != nil {
		return fmt.Errorf("mirror: %s: %w", rel, err)
	}
	err = fill(to)
	if err = errors.Join(err, to.Close()); err == nil {
		err = os.Rename(to.Name(), path)
	}
	if err == nil {
		f.local, err = os.Stat(path)
	}
	if err != nil {
		_ = os.Remove(to.Name())
		return fmt.Errorf("mirror: %s: %w", rel, err)
	}
	return nil
}
