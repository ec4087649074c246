package mirror

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/ingest/lake"
)

// Options say how a Copy is kept; zero values take the defaults.
type Options struct {
	Write     bool          // take the right to Publish
	Dir       string        // where the working copy is made (the system's folder for what is temporary)
	KeepBytes int64         // of files whose bytes are here that Publish leaves here, and of blocks of others (4 GiB)
	Lease     time.Duration // how long a writer that was killed keeps others out (3 min)
}

func (o Options) filled() Options {
	o.Dir = cmp.Or(o.Dir, os.TempDir())
	o.KeepBytes = cmp.Or(o.KeepBytes, 4<<30)
	o.Lease = cmp.Or(o.Lease, 3*time.Minute)
	return o
}

// A Copy is the working copy of a lake. It is safe for concurrent use, but for
// Publish, Renew and Close, during which nobody may work on it.
type Copy struct {
	ctx    context.Context
	shelf  shelf
	o      Options
	lease  *lease
	home   *lake.Lock // of the folder that the copy lies in
	before *lake.Holder
	mended string
	seen   *moment // when a reader looked last; nil: that failed

	mu      sync.Mutex
	files   map[string]*file
	parts   map[string]lake.Part // by path of the file, as the manifests of the bucket tell
	fetched int64                // counts uses

	blocks   int64         // bytes of files that are read by ranges
	numbered int           // of these files, those that there were
	carried  chan struct{} // requests for ranges that are under way

	lent  []*Folder
	stand map[int64][]stand // of lent, by size
}

// file is a file of the lake that the bucket holds.
type file struct {
	object string // path of the object below the lake
	size   int64
	local  os.FileInfo // as it was when it was put there; nil: not yet
	here   bool        // its bytes are
	used   int64
	some   *some // blocks of it that are; nil: none
	busy   sync.Mutex
}

// copyPrefix begins the names of the folders of working copies.
const copyPrefix = "iopathy-lake-"

// Open makes the working copy of the lake below a prefix of a bucket. With the
// right to write, what a process that was killed has left is settled first; the
// error of a lake that another writes in is a *Busy.
func Open(ctx context.Context, b *bucket.Bucket, prefix string, o Options) (_ *Copy, err error) {
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	c := &Copy{ctx: ctx, shelf: shelf{b: b, prefix: prefix}, o: o.filled(), carried: make(chan struct{}, atOnce)}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if c.o.Write {
		if c.lease, c.before, err = c.shelf.take(ctx, c.o.Lease); err != nil {
			return nil, err
		}
		c.shelf.held = c.lease.held
		if err := c.recover(); err != nil {
			return nil, err
		}
	}
	if err := c.makeHome(); err != nil {
		return nil, err
	}
	return c, c.look()
}

// makeHome makes the folder, and removes those of processes that were killed.
func (c *Copy) makeHome() error {
	if err := os.MkdirAll(c.o.Dir, 0o777); err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	others, err := filepath.Glob(filepath.Join(globless(c.o.Dir), copyPrefix+"*"))
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	for _, dir := range others {
		if _, err := os.Stat(filepath.Join(dir, ".lock")); err != nil {
			continue // somebody's, or just being made
		}
		if l, err := lake.NewLock(dir); err == nil { // nobody is at home
			_ = errors.Join(os.RemoveAll(filepath.Join(dir, "lake")), os.RemoveAll(filepath.Join(dir, blocksDir)), l.Close(), os.RemoveAll(dir)) // best effort: it takes room, no more
		}
	}
	dir, err := os.MkdirTemp(c.o.Dir, copyPrefix)
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	if c.home, err = lake.NewLock(dir); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return os.MkdirAll(c.Dir(), 0o777)
}

// globless is a path of which a glob matches itself alone.
func globless(path string) string {
	return regexp.MustCompile(`[*?\[\\]`).ReplaceAllStringFunc(path, func(s string) string {
		if s == string(filepath.Separator) {
			return s
		}
		return "[" + s + "]"
	})
}

// Dir is the working copy, as a lake.
func (c *Copy) Dir() string { return filepath.Join(c.home.Dir(), "lake") }

// URL is what the lake is called, without parameters.
func (c *Copy) URL() string {
	return strings.TrimSuffix(c.shelf.b.Name()+"/"+c.shelf.prefix, "/")
}

// Empty says that the bucket held no lake.
func (c *Copy) Empty() bool {
	for rel := range c.files {
		if isManifest(rel) {
			return false
		}
	}
	return true
}

// Words say what Open found of others that people should know.
func (c *Copy) Words() (words []string) {
	if c.before != nil {
		words = append(words, fmt.Sprintf("took over the right to write from process %d on host %q, which had it since %s and let it lapse",
			c.before.PID, c.before.Host, c.before.Since.UTC().Format(time.RFC3339)))
	}
	if c.mended != "" {
		words = append(words, c.mended)
	}
	return words
}

// recover settles what the last writer left undone.
func (c *Copy) recover() error {
	j, err := c.shelf.journal(c.ctx)
	if err != nil {
		return err
	}
	switch {
	case j == nil:
		left, err := c.shelf.list(c.ctx, stagedDir)
		if err != nil || len(left) == 0 {
			return err
		}
		j = &journal{}
	case j.Committed:
		c.mended = "finished what the last run had published when it ended"
	default:
		c.mended = "removed what the last run had sent, and not published, when it ended"
	}
	return c.shelf.settle(c.ctx, j)
}

// Close gives the lease back and removes the working copy. What was not
// published is gone. An error takes nothing back of what was: at worst others wait
// until the lease has lapsed.
func (c *Copy) Close() error {
	var err error
	if c.lease != nil {
		// A verb that was interrupted gives it back, too, but has no time to lose.
		patience := c.o.Lease
		if c.ctx.Err() != nil {
			patience = 4 * time.Second
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), patience)
		defer cancel()
		err = c.lease.giveBack(ctx)
		c.lease = nil
	}
	if c.home != nil {
		dir := c.home.Dir()
		err = errors.Join(err, os.RemoveAll(c.Dir()), os.RemoveAll(filepath.Join(dir, blocksDir)), c.home.Close(), os.RemoveAll(dir))
		c.home = nil
	}
	return err
}

// own are files at the top of a lake that are a process's own affair: the
// bucket has them, empty, as a directory has them that nobody writes in.
var own = []string{".lock", ".nightly.lock"}

// isFile says whether a path is one that a file of a lake may have. Keys are not
// trusted: they become paths.
func isFile(rel string) bool {
	if rel == "" || !filepath.IsLocal(filepath.FromSlash(rel)) || strings.ContainsAny(rel, "\\\x00") || strings.Contains(rel, "//") || strings.HasSuffix(rel, "/") {
		return false
	}
	for dir := range strings.SplitSeq(rel, "/") {
		if dir == "." || dir == ".." {
			return false
		}
	}
	return rel[0] != '.' || slices.Contains(own, rel)
}

func isManifest(rel string) bool {
	return strings.HasPrefix(rel, "runs/") && strings.HasSuffix(rel, ".json") && strings.Count(rel, "/") == 1
}

// isState says whether a file is read at once: such as tell which of the others
// count, and few and small ones that every verb looks at.
func isState(rel string) bool {
	dir, name, below := strings.Cut(rel, "/")
	switch {
	case !below:
		return strings.HasSuffix(rel, ".json")
	case dir == "runs":
		return isManifest(rel) || strings.HasSuffix(name, ".begun")
	}
	return dir == "models"
}

func (c *Copy) path(rel string) string { return filepath.Join(c.Dir(), filepath.FromSlash(rel)) }

func fromMemory(data []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}
