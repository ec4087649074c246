package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/ingest/lake"
)

// A Folder is a directory that stands for a folder of a bucket, such as the one that a
// report goes to. What is there shows by its names; Fetch brings files, and Send puts
// those into the bucket that are new or were written anew.
type Folder struct {
	ctx   context.Context
	shelf shelf
	dir   string

	mu   sync.Mutex
	was  map[string]os.FileInfo // what stands for what the bucket holds
	here map[string]bool        // of these: their bytes are

	stand []stand
}

const lockFile = ".lock"

// folderPrefix begins the names of the directories of folders.
const folderPrefix = "iopathy-folder-"

// fileMost is the most bytes of a file of a folder that is fetched to be looked at.
const fileMost = 256 << 20

// OpenFolder makes the directory below parent, which may be "" for the system's own. Of
// the folder's own files those of these names are fetched; others are empty, as are
// its folders.
func OpenFolder(ctx context.Context, b *bucket.Bucket, prefix, parent string, wanted ...string) (f *Folder, err error) {
	if f, err = EmptyFolder(ctx, b, prefix, parent); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	all, err := f.shelf.list(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		name, file, below := strings.Cut(o.Key, "/")
		if !isFile(name) {
			continue
		}
		at := filepath.Join(f.dir, name)
		if below {
			if err := os.MkdirAll(at, 0o777); err != nil {
				return f, fmt.Errorf("mirror: %w", err)
			}
			if file != lockFile { // by which a lake is told from other things
				continue
			}
			at, name = filepath.Join(at, file), o.Key
		}
		switch {
		case slices.Contains(wanted, name):
			data, err := f.shelf.b.Get(ctx, f.shelf.key(name), fileMost)
			if err != nil {
				return f, err
			}
			if err := os.WriteFile(at, data, 0o666); err != nil {
				return f, fmt.Errorf("mirror: %w", err)
			}
			f.here[name] = true
		default:
			if err := os.WriteFile(at, nil, 0o666); err != nil {
				return f, fmt.Errorf("mirror: %w", err)
			}
		}
		if f.was[name], err = os.Stat(at); err != nil {
			return f, fmt.Errorf("mirror: %w", err)
		}
	}
	return f, nil
}

// EmptyFolder is OpenFolder without a look at what is there.
func EmptyFolder(ctx context.Context, b *bucket.Bucket, prefix, parent string) (*Folder, error) {
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	if parent != "" {
		if err := os.MkdirAll(parent, 0o777); err != nil {
			return nil, fmt.Errorf("mirror: %w", err)
		}
	}
	dir, err := os.MkdirTemp(parent, folderPrefix)
	if err != nil {
		return nil, fmt.Errorf("mirror: %w", err)
	}
	return &Folder{ctx: ctx, shelf: shelf{b: b, prefix: prefix}, dir: dir, was: map[string]os.FileInfo{}, here: map[string]bool{}}, nil
}

// Dir is the directory.
func (f *Folder) Dir() string { return f.dir }

// URL is what the folder is called, without parameters.
func (f *Folder) URL() string {
	return strings.TrimSuffix(f.shelf.b.Name()+"/"+f.shelf.prefix, "/")
}

// Bring makes files of the folder be in its directory, several at once.
func (f *Folder) Bring(paths ...string) error {
	g := new(errgroup.Group)
	g.SetLimit(atOnce)
	for _, p := range paths {
		g.Go(func() error { return f.bring(p, nil) })
	}
	return g.Wait()
}

// BringParts is Bring of parts of the lake that lies in a folder below, each held
// against its checksums.
func (f *Folder) BringParts(below string, parts []lake.Part) error {
	g := new(errgroup.Group)
	g.SetLimit(atOnce)
	for _, p := range parts {
		g.Go(func() error { return f.bring(path.Join(below, p.Path), &p) })
	}
	return g.Wait()
}

// Stand makes holes of their size stand for parts of the lake that lies in a folder
// below, for a Copy that the folder was lent to.
func (f *Folder) Stand(below string, parts []lake.Part) error {
	for _, p := range parts {
		rel := path.Join(below, p.Path)
		if !isFile(rel) {
			return fmt.Errorf("mirror: %q is no file of a folder", rel)
		}
		at := filepath.Join(f.dir, filepath.FromSlash(rel))
		err := os.MkdirAll(filepath.Dir(at), 0o777)
		if err == nil {
			err = os.WriteFile(at, nil, 0o666)
		}
		if err == nil {
			err = os.Truncate(at, p.Bytes)
		}
		info, serr := os.Stat(at)
		if err = errors.Join(err, serr); err != nil {
			return fmt.Errorf("mirror: %s: %w", rel, err)
		}
		f.mu.Lock()
		f.was[rel] = info
		f.stand = append(f.stand, stand{f.shelf.key(rel), info})
		f.mu.Unlock()
	}
	return nil
}

// stand is a hole, and the key of the object that it stands for.
type stand struct {
	key  string
	info os.FileInfo
}

// BringBelow is Bring of all files below a folder of it; "" is all.
func (f *Folder) BringBelow(below string) error {
	if below != "" {
		below += "/"
	}
	all, err := f.shelf.list(f.ctx, below)
	if err != nil {
		return err
	}
	var paths []string
	for _, o := range all {
		if isFile(o.Key) {
			paths = append(paths, o.Key)
		}
	}
	return f.Bring(paths...)
}

func (f *Folder) bring(rel string, part *lake.Part) error {
	if !isFile(rel) {
		return fmt.Errorf("mirror: %q is no file of a folder", rel)
	}
	at := filepath.Join(f.dir, filepath.FromSlash(rel))
	f.mu.Lock()
	was, here := f.was[rel], f.here[rel]
	f.mu.Unlock()
	if now, err := os.Stat(at); here || err == nil && !unchanged(was, now) {
		return nil // it was brought, or made, before
	}
	err := lake.WriteAtomic(at, func(w io.Writer) error {
		return f.shelf.download(f.ctx, w, rel, part)
	})
	if err != nil {
		return fmt.Errorf("mirror: %s/%s: %w", f.URL(), rel, err)
	}
	info, err := os.Stat(at)
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	f.mu.Lock()
	f.was[rel], f.here[rel] = info, true
	f.mu.Unlock()
	return nil
}

// Send puts files that are new, or were written anew, into the bucket: each as a whole,
// and those last that tell that the others are there. What was removed stays.
func (f *Folder) Send(ctx context.Context) error {
	var turns [3][]string
	sizes := map[string]int64{}
	err := filepath.WalkDir(f.dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(f.dir, at)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		info, err := d.Info()
		if err != nil || unchanged(f.was[rel], info) || strings.HasPrefix(d.Name(), ".") && (strings.HasSuffix(d.Name(), ".tmp") || d.Name() == lockFile) {
			return err
		}
		turn := 0
		if strings.HasSuffix(rel, ".json") {
			turn = 1
			if !strings.Contains(rel, "/") {
				turn = 2
			}
		}
		turns[turn], sizes[rel] = append(turns[turn], rel), info.Size()
		return nil
	})
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	for _, all := range turns {
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(atOnce)
		for _, rel := range all {
			g.Go(func() error {
				return f.shelf.b.Put(gctx, f.shelf.key(rel), sizes[rel], func() (io.ReadCloser, error) {
					return os.Open(filepath.Join(f.dir, filepath.FromSlash(rel)))
				})
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// Close removes the directory.
func (f *Folder) Close() error { return os.RemoveAll(f.dir) }

// Holds says whether a bucket has a lake below a prefix: one that has run once.
func Holds(ctx context.Context, b *bucket.Bucket, prefix string) (bool, error) {
	prefix = strings.Trim(prefix, "/")
	all, err := b.ListSome(ctx, path.Join(prefix, "runs")+"/", 1)
	return len(all) > 0, err
}
