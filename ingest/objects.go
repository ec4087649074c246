package ingest

import (
	"path"
	"strings"
)

// A Lister finds what a source holds that is no path, such as the URL of a
// bucket; it gives nil for one that is a path.
type Lister func(source string) (*Objects, error)

// Objects are what a Lister found. Inputs have Path, Size, ChangedNS and Open.
type Objects struct {
	Root   string // what all their paths begin with, up to a '/'; "" if the source names one object
	Inputs []Input
}

// objects adds objects as the files below a directory are added: hidden ones,
// lakes and what iopathy itself writes are left out, unless they are named.
func (f *finder) objects(all *Objects) error {
	lakes, reports := map[string]int{}, map[string]bool{}
	for i := range all.Inputs {
		dir, name := path.Split(all.Inputs[i].Path)
		switch {
		case name == "report.json":
			reports[dir] = true
		case name == ".lock":
			lakes[dir] |= 1
		case path.Base(dir) == "runs":
			lakes[strings.TrimSuffix(dir, "runs/")] |= 2
		}
	}
	for i := range all.Inputs {
		in := all.Inputs[i]
		if f.seen[in.Path] {
			continue
		}
		f.seen[in.Path] = true
		at, reason := in.Path, ""
		if all.Root != "" {
			at, reason = f.objectLeftOut(all.Root, in.Path, lakes, reports)
		}
		if reason != "" {
			f.skips = append(f.skips, Skip{Path: at, Reason: reason})
			continue
		}
		if in.Host = hostOf(in.Path); in.Host == "" {
			in.Host = f.o.Host
		}
		if ok, err := f.expand(in); err != nil {
			return err
		} else if !ok {
			f.inputs = append(f.inputs, in)
		}
	}
	return nil
}

// objectLeftOut says why an object that nobody named is no input, and of what
// that is said: the object, or the folder that it lies in.
func (f *finder) objectLeftOut(root, name string, lakes map[string]int, reports map[string]bool) (at, reason string) {
	for end := len(root); ; {
		dir := name[:end]
		if lakes[dir] == 3 {
			return strings.TrimSuffix(dir, "/"), lakeReason
		}
		next := strings.IndexByte(name[end:], '/')
		if next < 0 {
			break
		}
		if name[end] == '.' {
			return name[:end+next], "hidden"
		}
		end += next + 1
	}
	switch reason = leftOut(name); {
	case reason == parquetReason && f.o.mapsTable(name):
		reason = ""
	case reason == "" && path.Base(name) == "labels.csv" && reports[name[:len(name)-len("labels.csv")]]:
		reason = "written by iopathy"
	}
	return name, reason
}
