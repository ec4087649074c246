package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/cmd/internal/mirror"
	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/ingest/lake"
)

// A room is where a step works: the directories of a file system that all workers share
// or, where the lake or the output lies in a bucket, directories that stand for it as
// long as the step takes. Then workers share nothing but the bucket.
type room struct {
	ctx     context.Context
	spec    Spec
	buckets *bucket.Opened
	copied  *mirror.Copy              // of the lake; nil: it is a directory
	folders map[string]*mirror.Folder // of what steps leave to others, by name
	out     *mirror.Folder
}

// enter makes the room of a step that reads the lake, or writes in it.
func (s Spec) enter(ctx context.Context, write bool) (*room, error) {
	r := s.room(ctx)
	if !bucket.IsURL(s.lake()) {
		return r, nil
	}
	b, p, err := s.place(ctx, r.buckets, s.lake())
	if err != nil {
		return nil, r.leave(err)
	}
	o := s.Config.Bucket
	r.copied, err = mirror.Open(ctx, b, p.Key, mirror.Options{Write: write, Dir: o.Dir, KeepBytes: int64(o.KeepMiB) << 20, Lease: o.Lease})
	if err != nil {
		return nil, r.leave(err)
	}
	return r, nil
}

// room is a room without the lake.
func (s Spec) room(ctx context.Context) *room {
	return &room{ctx: ctx, spec: s, buckets: new(bucket.Opened), folders: map[string]*mirror.Folder{}}
}

func (s Spec) place(ctx context.Context, all *bucket.Opened, url string) (*bucket.Bucket, bucket.Place, error) {
	p, err := bucket.Parse(url)
	if err != nil {
		return nil, p, err
	}
	b, err := all.Of(ctx, p)
	return b, p, err
}

// job is the job on the room's lake.
func (r *room) job() *local.Job {
	j := r.spec.job()
	j.Buckets = r.buckets
	if r.copied != nil {
		j.Lake, j.Away = r.copied.Dir(), r.copied
	}
	return j
}

// publish makes what was done in the lake that of all.
func (r *room) publish() error {
	if r.copied == nil {
		return nil
	}
	return r.copied.Publish(r.ctx)
}

// leave ends the room, with what went wrong in it.
func (r *room) leave(err error) error {
	if r.copied != nil {
		err = errors.Join(err, r.copied.Close())
	}
	for _, f := range r.folders {
		err = errors.Join(err, f.Close())
	}
	if r.out != nil {
		err = errors.Join(err, r.out.Close())
	}
	return errors.Join(err, r.buckets.Close())
}

// folder is the directory that stands for a folder of what steps leave to others, and
// holds nothing of it yet.
func (r *room) folder(name string) (*mirror.Folder, error) {
	if f := r.folders[name]; f != nil {
		return f, nil
	}
	b, p, err := r.spec.place(r.ctx, r.buckets, r.spec.Config.Out)
	if err != nil {
		return nil, err
	}
	f, err := mirror.EmptyFolder(r.ctx, b, path.Join(p.Key, workDir, name), r.spec.Config.Bucket.Dir)
	if err != nil {
		return nil, err
	}
	r.folders[name] = f
	return f, nil
}

// scratch makes a directory for one try of a step. Its name is for keep and kept.
func (r *room) scratch(step string) (dir, name string, err error) {
	name = step + "-" + rand.Text()
	if !bucket.IsURL(r.spec.Config.Out) {
		dir = filepath.Join(r.spec.Config.Out, workDir, name)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return "", "", fmt.Errorf("%s: %w", step, err)
		}
		return dir, name, nil
	}
	f, err := r.folder(name)
	if err != nil {
		return "", "", err
	}
	return f.Dir(), name, nil
}

// keep lets later steps have what lies in the directory of a name.
func (r *room) keep(name string) error {
	if f := r.folders[name]; f != nil {
		return f.Send(r.ctx)
	}
	return nil
}

// kept is the directory of what an earlier step has kept under a name.
func (r *room) kept(name string) (string, error) {
	if !bucket.IsURL(r.spec.Config.Out) {
		return filepath.Join(r.spec.Config.Out, workDir, name), nil
	}
	f, err := r.folder(name)
	if err != nil {
		return "", err
	}
	return f.Dir(), f.BringBelow("")
}

// allKept are the directories of some names.
func (r *room) allKept(names []string) (dirs []string, err error) {
	for _, name := range names {
		dir, err := r.kept(name)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// told writes what a later step needs of this try into a file, and gives the name for tell.
func (r *room) told(step string, v any) (string, error) {
	dir, name, err := r.scratch(step)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("%s: %w", step, err)
	}
	if err := lake.WriteFileAtomic(filepath.Join(dir, toldFile), data); err != nil {
		return "", err
	}
	return name, r.keep(name)
}

const (
	toldFile = "told.json"
	workDir  = ".folds" // below the output: what is of no use when the job is done
)

// tell reads what told has written.
func (r *room) tell(name string, v any) error {
	dir, err := r.kept(name)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(dir, toldFile))
	if err != nil {
		return fmt.Errorf("what an earlier step has left: %w", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// read reads a piece into the lake.
func (r *room) read(sources *local.Sources, p local.Piece) (*local.PieceRead, error) {
	if !bucket.IsURL(r.spec.lake()) {
		return sources.Read(r.ctx, p, r.spec.lake())
	}
	b, place, err := r.spec.place(r.ctx, r.buckets, r.spec.lake())
	if err != nil {
		return nil, err
	}
	f, err := mirror.EmptyFolder(r.ctx, b, place.Key, r.spec.Config.Bucket.Dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out, err := sources.Read(r.ctx, p, f.Dir())
	if err != nil {
		return nil, err
	}
	return out, f.Send(r.ctx)
}

// report is the job's output directory, or one that stands for it until sendReport.
func (r *room) report() (string, error) {
	if !bucket.IsURL(r.spec.Config.Out) {
		return r.spec.Config.Out, nil
	}
	b, p, err := r.spec.place(r.ctx, r.buckets, r.spec.Config.Out)
	if err != nil {
		return "", err
	}
	if r.out, err = mirror.OpenFolder(r.ctx, b, p.Key, r.spec.Config.Bucket.Dir, "report.json"); err != nil {
		return "", err
	}
	return r.out.Dir(), nil
}

func (r *room) sendReport() error {
	if r.out == nil {
		return nil
	}
	return r.out.Send(r.ctx)
}

// clean removes what steps have left to others.
func (s Spec) clean(ctx context.Context) (err error) {
	if !bucket.IsURL(s.Config.Out) {
		return os.RemoveAll(filepath.Join(s.Config.Out, workDir))
	}
	r := s.room(ctx)
	defer func() { err = r.leave(err) }()
	b, p, err := s.place(ctx, r.buckets, s.Config.Out)
	if err != nil {
		return err
	}
	all, err := b.List(ctx, path.Join(p.Key, workDir)+"/")
	if err != nil {
		return err
	}
	for _, o := range all {
		if err := b.Delete(ctx, o.Key); err != nil {
			return err
		}
	}
	return nil
}

// free refuses a lake that holds runs, and an output that holds other things.
func (s Spec) free(ctx context.Context) (err error) {
	r := s.room(ctx)
	defer func() { err = r.leave(err) }()
	holds := false
	if bucket.IsURL(s.lake()) {
		b, p, err := s.place(ctx, r.buckets, s.lake())
		if err == nil {
			holds, err = mirror.Holds(ctx, b, p.Key)
		}
		if err != nil {
			return err
		}
	} else {
		manifests, err := lake.Manifests(s.lake())
		if err != nil {
			return err
		}
		holds = len(manifests) > 0
	}
	if holds {
		return fmt.Errorf("lake %s holds runs already: this makes a lake of its own", bucket.Redact(s.lake()))
	}
	out, err := r.report()
	if err != nil {
		return err
	}
	return local.CheckOut(out, false)
}
