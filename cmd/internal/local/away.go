package local

import (
	"path/filepath"

	"github.com/iopathy/iopathy/ingest/lake"
)

// Away holds the files of a lake that lies elsewhere, such as in a bucket, where
// Job.Lake is a working copy of it. What a stage is about to read it is asked for
// first, by path below the lake, or opens it by Open.
type Away interface {
	Fetch(paths ...string) error          // makes their bytes be there, as the manifests tell of them
	FetchAsIs(paths ...string) error      // whatever they are
	Open(path string) (lake.Bytes, error) // what is read of a file by its path there comes when it is read
	Waits(p lake.Part) bool               // its bytes are not there, but kept elsewhere, as many as there should be
	Drop(path string) error               // lets go of bytes that are kept elsewhere, too
	URL() string                          // where the lake lies
}

// at is the path of a part, which opener opens.
func (j *Job) at(path string) string { return filepath.Join(j.Lake, filepath.FromSlash(path)) }

// opener opens parts of which some rows are wanted. Those that are read as a whole
// come quicker by Fetch.
func (j *Job) opener() lake.Opener {
	if j.Away == nil {
		return nil
	}
	return j.Away.Open
}

// Fetch makes the bytes of files of the lake be there, before they are opened by
// their paths.
func (j *Job) Fetch(paths ...string) error {
	if j.Away == nil {
		return nil
	}
	return j.Away.Fetch(paths...)
}

// FetchFiles is Fetch of parts, or of the files that they lie in.
func (j *Job) FetchFiles(parts []lake.Part) error {
	if j.Away == nil {
		return nil
	}
	paths := make([]string, len(parts))
	for i := range parts {
		paths[i] = parts[i].Path
	}
	return j.Away.Fetch(paths...)
}

// FetchBundles is Fetch of the bundles that parts lie in: they are written anew
// without these.
func (j *Job) FetchBundles(parts []string) error {
	var in []string
	for _, p := range parts {
		if lake.InBundle(p) {
			in = append(in, p)
		}
	}
	return j.Fetch(in...)
}

// Named is what the lake is called: its directory, or where it lies instead.
func (j *Job) Named() string {
	if j.Away == nil {
		return j.Lake
	}
	return j.Away.URL()
}

// named is what a file of the lake is called.
func (j *Job) named(path string) string {
	if j.Away == nil {
		return filepath.Join(j.Lake, filepath.FromSlash(path))
	}
	return j.Away.URL() + "/" + path
}
