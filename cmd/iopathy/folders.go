package main

import (
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/cmd/internal/mirror"
	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/ingest/lake"
)

// bucketOf gives the bucket of a URL, and what the URL says.
func (a *app) bucketOf(url string) (*bucket.Bucket, bucket.Place, error) {
	place, err := bucket.Parse(url)
	if err != nil {
		return nil, place, failure{exitUsage, err}
	}
	if _, glob := place.Pattern(); glob {
		return nil, place, usage("%s: one place is wanted, not a pattern", place)
	}
	b, err := a.buckets.Of(a.ctx, place)
	if err != nil {
		return nil, place, failure{exitUsage, err}
	}
	return b, place, nil
}

// withQuery is the URL of a place, with what its store is reached by.
func withQuery(p bucket.Place) string {
	if p.Query == "" {
		return p.String()
	}
	return p.String() + "?" + p.Query
}

// settings whose values may be URLs. Of others, flags alone, a URL is refused: a file
// of the name s3: would be looked for.
var (
	urlFolders = []string{"lake", "out"}
	urlFiles   = []string{"inventory", "catalogue", "model", "truth"}
)

// fromBuckets fetches what the settings name by URLs, and lets --out stand for a folder
// in a bucket.
func (a *app) fromBuckets(cmd *cobra.Command) error {
	var wrong error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Value.String(), "file://") {
			path, err := bucket.LocalPath(f.Value.String())
			if err == nil {
				err = f.Value.Set(path)
			}
			if err != nil {
				wrong = usage("--%s: %w", f.Name, err)
			}
			return
		}
		may := slices.Contains(urlFolders, f.Name) || slices.Contains(urlFiles, f.Name)
		if bucket.IsURL(f.Value.String()) && !may {
			wrong = usage("--%s %s: a path on this machine is wanted, not the URL of a bucket", f.Name, bucket.Redact(f.Value.String()))
		}
	})
	if wrong != nil {
		return wrong
	}
	for name, setting := range map[string]*string{"anonymise": &a.config.Anonymise, "report.echarts_js": &a.config.Report.EchartsJS, "bucket.dir": &a.config.Bucket.Dir} {
		path, err := bucket.LocalPath(*setting)
		if err != nil {
			return usage("%s: %w", name, err)
		}
		if *setting = path; bucket.IsURL(path) {
			return usage("%s %s: a path on this machine is wanted, not the URL of a bucket", name, bucket.Redact(*setting))
		}
	}
	if cmd.Parent() != nil && cmd.Parent().Name() == "config" {
		return nil // it shows them
	}
	for _, setting := range []*string{&a.config.Inventory, &a.config.Catalogue, &a.config.Model} {
		var err error
		if *setting, err = a.fileOf(*setting); err != nil {
			return err
		}
	}
	out, err := bucket.LocalPath(a.config.Out)
	if err != nil {
		return failure{exitUsage, err}
	}
	a.config.Out = out
	if !bucket.IsURL(out) {
		return nil
	}
	if cmd.Name() == "nightly" {
		return usage("--out %s: nightly keeps the pages of its nights there, and what is still to be told: a directory is wanted (the lake may lie in a bucket)", bucket.Redact(out))
	}
	f, place, err := a.folder(out, "report.json")
	if err != nil {
		return err
	}
	a.out = f
	a.config.Out = f.Dir()
	if a.config.Lake == "" {
		place.Key = path.Join(place.Key, "lake")
		a.config.Lake = withQuery(place)
	}
	return nil
}

// folder is a directory that stands for a folder in a bucket.
func (a *app) folder(url string, wanted ...string) (*mirror.Folder, bucket.Place, error) {
	b, place, err := a.bucketOf(url)
	if err != nil {
		return nil, place, err
	}
	f, err := mirror.OpenFolder(a.ctx, b, place.Key, a.config.Bucket.Dir, wanted...)
	if err != nil {
		return nil, place, err
	}
	a.folders = append(a.folders, f)
	return f, place, nil
}

// fileOf is a file by its path or, fetched, by its URL.
func (a *app) fileOf(name string) (string, error) {
	name, err := bucket.LocalPath(name)
	if err != nil {
		return "", failure{exitUsage, err}
	}
	if !bucket.IsURL(name) {
		return name, nil
	}
	b, place, err := a.bucketOf(name)
	if err != nil {
		return "", err
	}
	dir, file := path.Split(place.Key)
	if file == "" {
		return "", usage("%s: a file is wanted, not a folder of a bucket", place)
	}
	f, err := mirror.EmptyFolder(a.ctx, b, dir, a.config.Bucket.Dir)
	if err != nil {
		return "", err
	}
	a.folders = append(a.folders, f)
	if err := f.Bring(file); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return "", usage("%s: there is no such object", place)
		}
		return "", err
	}
	return filepath.Join(f.Dir(), file), nil
}

// shareDirs are the shares of a job by their directories, and how what lies in buckets of
// them is brought.
func (a *app) shareDirs(args []string) (*local.Shares, []*mirror.Folder, error) {
	dirs, folders := make([]string, len(args)), make([]*mirror.Folder, len(args))
	for i, arg := range args {
		var err error
		if dirs[i], err = bucket.LocalPath(arg); err != nil {
			return nil, nil, failure{exitUsage, err}
		}
		if bucket.IsURL(dirs[i]) {
			if folders[i], _, err = a.folder(dirs[i], local.ShareFile); err != nil {
				return nil, nil, err
			}
			dirs[i] = folders[i].Dir()
		}
	}
	shares, err := local.LoadShares(dirs)
	if err != nil {
		return nil, nil, failure{exitUsage, err}
	}
	for i, f := range folders {
		if f != nil {
			shares.Bring(i, lentShare{f, a})
		}
	}
	return shares, folders, nil
}

// lentShare is a share in a bucket. A lake in the same bucket takes its parts without
// their bytes coming here.
type lentShare struct {
	*mirror.Folder
	a *app
}

func (l lentShare) BringParts(folder string, parts []lake.Part) error {
	if l.a.mirror != nil && l.a.mirror.Lend(l.Folder) {
		return l.Stand(folder, parts)
	}
	return l.Folder.BringParts(folder, parts)
}

// send puts what a verb has written for folders of buckets there. What asks for an exit
// code of its own has been written, too.
func (a *app) send(err error) error {
	var f failure
	if a.out == nil || err != nil && !(errors.As(err, &f) && (f.code == exitReached || f.code == exitRejects)) {
		return err
	}
	if serr := a.out.Send(a.ctx); serr != nil {
		return serr
	}
	return err
}

// naming is standard output, in which URLs stand for the directories that stand for them.
type naming struct {
	io.Writer
	a *app
}

func (n naming) Write(p []byte) (int, error) {
	if len(n.a.folders)+len(n.a.copies) == 0 {
		return n.Writer.Write(p)
	}
	if _, err := io.WriteString(n.Writer, n.a.standIns().Replace(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
