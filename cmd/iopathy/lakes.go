package main

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"strings"

	"github.com/iopathy/iopathy/cmd/internal/local"
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
	c, place, err := a.openCopy(url, write)
	if err != nil {
		return "", err
	}
	a.mirror, a.place = c, place
	if must && c.Empty() {
		return "", usage("lake %s: there is none", c.URL())
	}
	return c.Dir(), nil
}

// openCopy makes a working copy of the lake in a bucket.
func (a *app) openCopy(url string, write bool) (*mirror.Copy, bucket.Place, error) {
	b, place, err := a.bucketOf(url)
	if err != nil {
		return nil, place, err
	}
	o := a.config.Bucket
	c, err := mirror.Open(a.ctx, b, place.Key, mirror.Options{Write: write, Dir: o.Dir, KeepBytes: int64(o.KeepMiB) << 20, Lease: o.Lease})
	if err != nil {
		return nil, place, err
	}
	a.copies = append(a.copies, c)
	for _, w := range c.Words() {
		a.say("iopathy: %s: %s", c.URL(), w)
	}
	return c, place, nil
}

// otherLake is the lake at a path, or in its folder lake, that a verb reads beside that
// of --lake; "" if there is none.
func (a *app) otherLake(where string) (string, error) {
	where, err := bucket.LocalPath(where)
	if err != nil {
		return "", failure{exitUsage, err}
	}
	if !bucket.IsURL(where) {
		return local.LakeOf(where), nil
	}
	b, place, err := a.bucketOf(where)
	if err != nil {
		if place.Key != "" && place.Bucket != "" { // a pattern is of logs
			return "", nil
		}
		return "", err
	}
	for _, key := range []string{place.Key, path.Join(place.Key, "lake")} {
		holds, err := mirror.Holds(a.ctx, b, key)
		if err != nil {
			return "", err
		}
		if holds {
			place.Key = key
			c, _, err := a.openCopy(withQuery(place), false)
			if err != nil {
				return "", err
			}
			return c.Dir(), nil
		}
	}
	return "", nil
}

// publish makes what a stage did in the working copy of a lake that of the
// bucket; a lake in a directory needs none.
func (a *app) publish(ctx context.Context) error {
	if a.mirror == nil {
		return nil
	}
	return a.mirror.Publish(ctx)
}

// closeLake gives working copies back, and calls them by the names of what they stand
// for in what went wrong.
func (a *app) closeLake(err error) error {
	names := a.standIns()
	for _, c := range a.copies {
		if cerr := c.Close(); cerr != nil {
			a.say("iopathy: %s: %s", c.URL(), names.Replace(cerr.Error())) // what was published stands
		}
	}
	for _, f := range a.folders {
		if cerr := f.Close(); cerr != nil {
			a.say("iopathy: %s: %s", f.URL(), names.Replace(cerr.Error()))
		}
	}
	if cerr := a.buckets.Close(); cerr != nil {
		a.say("iopathy: %s", names.Replace(cerr.Error()))
	}
	if err == nil || len(a.copies)+len(a.folders) == 0 {
		return err
	}
	var f failure
	if errors.As(err, &f) {
		return failure{f.code, renamed{err, names}}
	}
	return renamed{err, names}
}

// standIns puts URLs in the place of the directories that stand for them.
func (a *app) standIns() *strings.Replacer {
	var pairs []string
	for _, c := range a.copies {
		pairs = append(pairs, c.Dir(), c.URL())
	}
	for _, f := range a.folders {
		pairs = append(pairs, f.Dir(), f.URL())
	}
	return strings.NewReplacer(pairs...)
}

// renamed is an error whose words speak of buckets.
type renamed struct {
	error
	names *strings.Replacer
}

func (r renamed) Error() string { return r.names.Replace(r.error.Error()) }
func (r renamed) Unwrap() error { return r.error }
