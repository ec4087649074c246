package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/iopathy/iopathy/cmd/internal/mirror"
	"github.com/iopathy/iopathy/ingest/bucket"
)

// needLake is the lake of the verbs that read one: its directory, or that of the
// working copy of one in a bucket.
func (a *app) needLake(must bool) (string, error) { return a.lakeDir(must, false) }

// writeLake is needLake for the verbs that write in it. They end with publish.
func (a *app) writeLake(must bool) (string, error) { return a.lakeDir(must, true) }

func (a *app) lakeDir(must, write bool) (string, error) {
	lake := a.config.Lake
	if lake == "" && a.config.Out != "" {
		lake = filepath.Join(a.config.Out, "lake")
	}
	if lake == "" {
		return "", usage("say which lake: --lake DIR")
	}
	lake, err := bucket.LocalPath(lake)
	if err != nil {
		return "", failure{exitUsage, err}
	}
	if bucket.IsURL(lake) {
		return a.copyLake(lake, must, write)
	}
	if must && !exists(lake) {
		return "", usage("lake %s: no such directory", lake)
	}
	return lake, nil
}

// copyLake makes the working copy of a lake in a bucket, once for the verb.
func (a *app) copyLake(url string, must, write bool) (string, error) {
	if a.mirror != nil {
		return a.mirror.Dir(), nil
	}
	place, err := bucket.Parse(url)
	if err != nil {
		return "", failure{exitUsage, err}
	}
	if _, glob := place.Pattern(); glob {
		return "", usage("lake %s: a lake is one place, not a pattern", place)
	}
	b, err := a.buckets.Of(a.ctx, place)
	if err != nil {
		return "", failure{exitUsage, err}
	}
	o := a.config.Bucket
	c, err := mirror.Open(a.ctx, b, place.Key, mirror.Options{Write: write, Dir: o.Dir, KeepBytes: int64(o.KeepMiB) << 20, Lease: o.Lease})
	if err != nil {
		return "", err
	}
	a.mirror, a.place = c, place
	for _, w := range c.Words() {
		a.say("iopathy: %s: %s", c.URL(), w)
	}
	if must && c.Empty() {
		return "", usage("lake %s: there is none", c.URL())
	}
	return c.Dir(), nil
}

// publish makes what a stage did in the working copy of a lake that of the
// bucket; a lake in a directory needs none.
func (a *app) publish(ctx context.Context) error {
	if a.mirror == nil {
		return nil
	}
	return a.mirror.Publish(ctx)
}

// closeLake gives the working copy back, and calls it by the lake's own name in
// what went wrong.
func (a *app) closeLake(err error) error {
	if a.mirror == nil {
		return errors.Join(err, a.buckets.Close())
	}
	dir, url := a.mirror.Dir(), a.mirror.URL()
	if cerr := errors.Join(a.mirror.Close(), a.buckets.Close()); cerr != nil {
		a.say("iopathy: %s: %s", url, strings.ReplaceAll(cerr.Error(), dir, url)) // what was published stands
	}
	if err == nil {
		return nil
	}
	var f failure
	if errors.As(err, &f) {
		return failure{f.code, renamed{err, dir, url}}
	}
	return renamed{err, dir, url}
}

// renamed is an error whose words speak of the bucket.
type renamed struct {
	error
	dir, url string
}

func (r renamed) Error() string { return strings.ReplaceAll(r.error.Error(), r.dir, r.url) }
func (r renamed) Unwrap() error { return r.error }
