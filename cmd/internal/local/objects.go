package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/ingest/lake"
)

// lister finds the objects of sources that are URLs of buckets: of one object,
// of all below a folder, or of those that fit a glob.
func (j *Job) lister(ctx context.Context) ingest.Lister {
	if j.Buckets == nil {
		return nil
	}
	return func(source string) (*ingest.Objects, error) {
		if !bucket.IsURL(source) {
			return nil, nil
		}
		p, err := bucket.Parse(source)
		if err != nil {
			return nil, err
		}
		b, err := j.Buckets.Of(ctx, p)
		if err != nil {
			return nil, err
		}
		prefix, glob := p.Pattern()
		if !glob && p.Key != "" && !strings.HasSuffix(p.Key, "/") {
			o, err := b.Stat(ctx, p.Key)
			if err == nil {
				return &ingest.Objects{Inputs: []ingest.Input{objectInput(ctx, b, p, o)}}, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			prefix += "/"
		}
		all, err := b.List(ctx, prefix)
		if err != nil {
			return nil, err
		}
		found := &ingest.Objects{Root: p.URL(prefix[:strings.LastIndexByte(prefix, '/')+1])}
		for _, o := range all {
			if !glob || p.Matches(o.Key) {
				found.Inputs = append(found.Inputs, objectInput(ctx, b, p, o))
			}
		}
		switch {
		case len(found.Inputs) > 0:
			return found, nil
		case glob:
			return nil, fmt.Errorf("%s matches nothing", p)
		}
		return nil, fmt.Errorf("%s does not exist: the bucket holds no such object, and none below it", p)
	}
}

func objectInput(ctx context.Context, b *bucket.Bucket, p bucket.Place, o bucket.Object) ingest.Input {
	open := func() (io.ReadCloser, error) { return b.Open(ctx, o.Key) }
	return ingest.Input{Path: p.URL(o.Key), Size: o.Size, ChangedNS: o.ChangedNS, Open: open}
}

// object is an object whose URL, without a query, stands in a manifest.
func (j *Job) object(ctx context.Context, url string) (in ingest.Input, err error) {
	if j.Buckets == nil {
		return in, errors.New("it lies in a bucket")
	}
	p, err := bucket.Parse(url)
	if err != nil {
		return in, err
	}
	b, err := j.Buckets.Of(ctx, p)
	if err != nil {
		return in, err
	}
	o, err := b.Stat(ctx, p.Key)
	return objectInput(ctx, b, p, o), err
}

// tableObject lets an input be read as a table, if it is a Parquet file.
func (j *Job) tableObject(ctx context.Context, in *ingest.Input, want []string) error {
	p, err := bucket.Parse(in.Path)
	if err != nil {
		return err
	}
	b, err := j.Buckets.Of(ctx, p)
	if err != nil {
		return err
	}
	at, err := b.At(ctx, p.Key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a member of an archive, whose path is none of an object
	}
	if err != nil {
		return err
	}
	var magic [4]byte
	if n, err := at.ReadAt(magic[:], 0); n < len(magic) && err != io.EOF {
		return err
	}
	if string(magic[:]) != "PAR1" {
		return nil
	}
	in.Table = true
	in.Open = func() (io.ReadCloser, error) {
		at, err := b.At(ctx, p.Key)
		if err != nil {
			return nil, err
		}
		t, err := lake.OpenTextAt(in.Path, at, at.Size(), want)
		if err != nil {
			return nil, err
		}
		return tableText{t}, nil
	}
	return nil
}
