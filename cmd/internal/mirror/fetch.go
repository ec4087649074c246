package mirror

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/ingest/lake"
)

// Fetch makes the bytes of files be here; parts in bundles stand for these. What
// a manifest names is held against its SHA-256, block by block. Of files that the
// bucket does not hold nothing is said: who opens them finds them missing.
func (c *Copy) Fetch(paths ...string) error { return c.fetch(paths, true) }

// FetchAsIs is Fetch without a look at the checksums.
func (c *Copy) FetchAsIs(paths ...string) error { return c.fetch(paths, false) }

func (c *Copy) fetch(paths []string, check bool) error {
	g := new(errgroup.Group)
	g.SetLimit(atOnce)
	for _, p := range paths {
		rel := lake.FileOf(p)
		c.mu.Lock()
		f := c.files[rel]
		if f != nil {
			c.fetched++
			f.used = c.fetched
		}
		c.mu.Unlock()
		if f != nil {
			g.Go(func() error { return c.fetchOne(rel, f, check) })
		}
	}
	return g.Wait()
}

func (c *Copy) fetchOne(rel string, f *file, check bool) error {
	f.busy.Lock()
	defer f.busy.Unlock()
	return c.fetchHeld(rel, f, check)
}

// fetchHeld is fetchOne of a file that is busy for us.
func (c *Copy) fetchHeld(rel string, f *file, check bool) error {
	if f.here {
		return nil
	}
	if now, err := os.Stat(c.path(rel)); err != nil || !unchanged(f.local, now) {
		return nil // the run has removed it, or written it anew
	}
	part, named := c.parts[rel]
	if !check {
		named = false
	}
	err := c.put(rel, f, func(to *os.File) error {
		of := &part
		if !named {
			of = nil
		}
		err := c.shelf.download(c.ctx, to, f.object, of)
		if errors.Is(err, fs.ErrNotExist) && f.object != rel { // it has got its place meanwhile
			if _, err = to.Seek(0, io.SeekStart); err == nil {
				err = errors.Join(to.Truncate(0), c.shelf.download(c.ctx, to, rel, of))
			}
		}
		return err
	})
	if f.here = err == nil; f.here {
		c.forget(f)
	}
	return err
}

// forget lets go of the blocks of a file, if nobody reads them.
func (c *Copy) forget(f *file) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.some != nil {
		c.blocks -= f.some.drop()
	}
}

// Waits says that the bytes of a part are not here, but lie in the bucket, as many
// as the manifest tells.
func (c *Copy) Waits(p lake.Part) bool {
	rel := lake.FileOf(p.Path)
	c.mu.Lock()
	f := c.files[rel]
	c.mu.Unlock()
	if f == nil {
		return false
	}
	f.busy.Lock()
	defer f.busy.Unlock()
	now, err := os.Stat(c.path(rel))
	return err == nil && !f.here && unchanged(f.local, now) && (lake.InBundle(p.Path) || f.size == p.Bytes)
}

// Drop lets go of the bytes of a file that the bucket has, too.
func (c *Copy) Drop(path string) error {
	rel := lake.FileOf(path)
	c.mu.Lock()
	f := c.files[rel]
	c.mu.Unlock()
	if f == nil {
		return nil
	}
	f.busy.Lock()
	defer f.busy.Unlock()
	if now, err := os.Stat(c.path(rel)); err != nil || !f.here || !unchanged(f.local, now) {
		return nil
	}
	return c.hole(rel, f)
}

// errOther says that an object is not what the manifests tell.
var errOther = errors.New("its bytes are others than the manifest tells: it is damaged (iopathy verify names the blocks), or another run has just taken its place (then try again)")

// download copies an object, and holds it against the checksums of a part; nil: of none.
func (s shelf) download(ctx context.Context, to io.Writer, object string, p *lake.Part) error {
	from, err := s.b.Open(ctx, s.key(object))
	if err != nil {
		return err
	}
	defer from.Close()
	if p == nil {
		_, err := io.Copy(to, from)
		return err
	}
	block := make([]byte, lake.BlockBytes)
	size := int64(0)
	for i := 0; ; i++ {
		n, err := io.ReadFull(from, block)
		if err == io.EOF {
			break
		}
		if err != nil && err != io.ErrUnexpectedEOF {
			return err
		}
		size += int64(n)
		if sum := sha256.Sum256(block[:n]); i >= len(p.Blocks) || hex.EncodeToString(sum[:]) != p.Blocks[i] {
			return fmt.Errorf("block %d: %w", i, errOther)
		}
		if _, err := to.Write(block[:n]); err != nil {
			return err
		}
	}
	if size != p.Bytes {
		return fmt.Errorf("%d of %d bytes: %w", size, p.Bytes, errOther)
	}
	return nil
}

// trim lets go of the bytes of files that were used long ago, until no more than
// KeepBytes are here.
func (c *Copy) trim() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []kept
	bytes := c.blocks
	for rel, f := range c.files {
		if f.here && !isState(rel) {
			all, bytes = append(all, kept{rel, f}), bytes+f.size
		}
	}
	bytes -= c.blocks
	c.letGo(c.o.KeepBytes - bytes)
	bytes += c.blocks
	oldest(all)
	for _, k := range all {
		if bytes <= c.o.KeepBytes {
			return nil
		}
		bytes -= k.size
		if err := c.hole(k.rel, k.file); err != nil {
			return err
		}
	}
	return nil
}

// kept is a file with what tells how long ago it was used.
type kept struct {
	rel string
	*file
}

// oldest puts those first that were used long ago.
func oldest(all []kept) {
	slices.SortFunc(all, func(a, b kept) int { return cmp.Or(cmp.Compare(a.used, b.used), cmp.Compare(a.rel, b.rel)) })
}

// unchanged says that a file is the one that was put there.
func unchanged(was, now os.FileInfo) bool {
	return was != nil && os.SameFile(was, now) && was.ModTime().Equal(now.ModTime()) && was.Size() == now.Size()
}
