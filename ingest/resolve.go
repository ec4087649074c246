package ingest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Input is one stream of bytes to read, or several that one format reads as one
// source (Members; Open then gives their bytes one after the other).
type Input struct {
	Path      string // as found; "-" is the standard input; ARCHIVE/MEMBER of a tar archive
	Host      string // of a host=H directory above it, else Options.Host, else ""
	ID        string // identity by which it was known when it was shorter; "": that of its head
	Duplicate bool   // read before, in this run or an earlier one: its lines are counted, its rows dropped
	Size      int64  // bytes as stored; 0 if unknown
	ChangedNS int64  // when its file was last written; 0 if unknown. Never an input of what is computed, unless asked for
	Clock     Clock  // what is known of its clock
	Table     bool   // its bytes are the rows of a table (Parquet) as CSV: only a mapping for that reads it
	Members   []Input

	Checkpoints bool        // the report is to have the last checkpoint
	Resume      *Checkpoint // of an earlier reading: this one goes on there, if it still fits

	Stretch Stretch // of its chunks, that are read; zero: all. Only of one that CanStretch

	Open func() (io.ReadCloser, error)

	torn string // damage at which the archive that holds it ends
}

// Skip is a file that was left out, and why.
type Skip struct {
	Path   string
	Reason string
	Lost   bool // it can't be read, though it was meant to be
	Used   bool // it was read for what it tells of the inputs
}

// Resolve turns sources into inputs, sorted by path, each once. A source is a
// file, a directory (read with all below it), a glob or "-" for stdin. A tar
// archive, compressed or not, is a directory of its members. Hidden files,
// lakes and what iopathy itself writes are left out of directories, archives and
// globs. Files that one format reads together (Format.Group) become one input.
// A source that does not exist, or a glob without a match, is an error.
func Resolve(sources []string, stdin io.Reader, o Options) ([]Input, []Skip, error) {
	return ResolveWith(sources, stdin, o, nil)
}

// ResolveWith is Resolve where some sources are no paths: list finds what they
// hold, and may be nil.
func ResolveWith(sources []string, stdin io.Reader, o Options, list Lister) ([]Input, []Skip, error) {
	o = o.filled()
	f := finder{o: o, seen: make(map[string]bool), list: list}
	for _, s := range sources {
		if err := f.source(s, stdin); err != nil {
			return nil, nil, err
		}
	}
	f.inputs = grouped(f.inputs, o)
	slices.SortFunc(f.inputs, func(a, b Input) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(f.skips, func(a, b Skip) int { return strings.Compare(a.Path, b.Path) })
	return f.inputs, slices.Compact(f.skips), nil
}

type finder struct {
	o        Options
	inputs   []Input
	skips    []Skip
	seen     map[string]bool
	unpacked unpacked
	list     Lister
}

func (f *finder) source(s string, stdin io.Reader) error {
	if s == "-" {
		if stdin == nil {
			return errors.New("ingest: source -: there is no standard input")
		}
		if f.seen[s] {
			return nil
		}
		f.seen[s] = true
		in := Input{Path: s, Host: f.o.Host}
		if ok, err := f.expandPipe(&in, stdin); ok || err != nil {
			return err
		}
		f.inputs = append(f.inputs, in)
		return nil
	}
	if f.list != nil {
		found, err := f.list(s)
		if err != nil {
			return fmt.Errorf("ingest: source: %w", err)
		}
		if found != nil {
			return f.objects(found)
		}
	}
	info, err := os.Stat(s)
	switch {
	case err == nil && info.IsDir():
		return f.walk(s)
	case err == nil:
		return f.add(s, info)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("ingest: source: %w", err)
	case !strings.ContainsAny(s, `*?[`):
		return fmt.Errorf("ingest: source %s does not exist", s)
	}
	matches, err := filepath.Glob(s)
	if err != nil {
		return fmt.Errorf("ingest: source %s: %w", s, err)
	}
	if len(matches) == 0 {
		return fmt.Errorf("ingest: source %s matches nothing", s)
	}
	for _, m := range matches {
		if info, err := os.Lstat(m); err == nil && info.IsDir() {
			if hidden(m) {
				f.skips = append(f.skips, Skip{Path: m, Reason: "hidden"})
			} else if isLake(m) {
				f.skips = append(f.skips, Skip{Path: m, Reason: lakeReason})
			} else if err := f.walk(m); err != nil {
				return err
			}
			continue
		}
		if err := f.found(m); err != nil {
			return err
		}
	}
	return nil
}

const lakeReason = "a lake of iopathy"

// walk adds the files below a directory.
func (f *finder) walk(dir string) error {
	root := dir + string(filepath.Separator) // so that a link that was named is followed
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return f.found(path)
		case path != root && hidden(path):
			f.skips = append(f.skips, Skip{Path: path, Reason: "hidden"})
			return filepath.SkipDir
		case isLake(path):
			f.skips = append(f.skips, Skip{Path: filepath.Clean(path), Reason: lakeReason})
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("ingest: source: %w", err)
	}
	return nil
}

// found adds a file that nobody named, or says why it is left out. A link to a
// file is a file; one to a directory may be a loop.
func (f *finder) found(path string) error {
	reason := leftOut(path)
	if reason == parquetReason && f.o.mapsTable(path) {
		reason = ""
	}
	var info fs.FileInfo
	if reason == "" {
		var err error
		info, err = os.Stat(path)
		switch {
		case err != nil:
			reason = "a link to nothing"
		case info.IsDir():
			reason = "a link to a directory"
		case !info.Mode().IsRegular():
			reason = "not a regular file"
		}
	}
	if reason != "" {
		f.skips = append(f.skips, Skip{Path: path, Reason: reason})
		return nil
	}
	return f.add(path, info)
}

// add adds a file, or the members of an archive. What is no regular file, a
// named pipe for one, can be read but once and is not looked at here.
func (f *finder) add(path string, info fs.FileInfo) error {
	path = filepath.Clean(path)
	if f.seen[path] {
		return nil
	}
	f.seen[path] = true
	in := Input{Path: path, Host: hostOf(path), Open: func() (io.ReadCloser, error) { return os.Open(path) }}
	if in.Host == "" {
		in.Host = f.o.Host
	}
	if info.Mode().IsRegular() {
		in.Size, in.ChangedNS = info.Size(), info.ModTime().UnixNano()
		if ok, err := f.expand(in); ok || err != nil {
			return err
		}
	}
	f.inputs = append(f.inputs, in)
	return nil
}

// hostOf is the host that the last host=H directory of a path names.
func hostOf(path string) string {
	host := ""
	for _, part := range strings.Split(filepath.ToSlash(filepath.Dir(path)), "/") {
		if h, ok := strings.CutPrefix(part, "host="); ok && h != "" {
			if plain, err := url.PathUnescape(h); err == nil {
				h = plain
			}
			host = h
		}
	}
	return host
}

func hidden(path string) bool {
	return strings.HasPrefix(filepath.Base(path), ".")
}

const parquetReason = "a Parquet file"

// leftOut says why a file that nobody named is no input, "" if it is one.
func leftOut(path string) string {
	name := filepath.Base(path)
	switch {
	case hidden(path):
		return "hidden"
	case strings.HasSuffix(name, ".parquet"):
		return parquetReason
	case name == "report.json", name == "report.html":
		return "written by iopathy"
	case name == "labels.csv" && exists(filepath.Join(filepath.Dir(path), "report.json")):
		return "written by iopathy"
	}
	return ""
}

// isLake tells a lake from a directory of logs by its lock and its manifests.
func isLake(dir string) bool {
	return exists(filepath.Join(dir, ".lock")) && exists(filepath.Join(dir, "runs"))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// once opens a stream that can be read but once.
func once(r io.Reader) func() (io.ReadCloser, error) {
	opened := false
	return func() (io.ReadCloser, error) {
		if opened {
			return nil, errors.New("the standard input can be read only once")
		}
		opened = true
		return io.NopCloser(r), nil
	}
}
