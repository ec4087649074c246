package local

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/ingest/lake"
)

// resolve finds the inputs of sources: paths, also as file:// URLs, and URLs of buckets. Parquet files become inputs of their rows
// as text where a mapping of the settings reads such files.
func (j *Job) resolve(ctx context.Context, sources []string, stdin io.Reader) ([]ingest.Input, []ingest.Skip, error) {
	paths := make([]string, len(sources))
	for i, s := range sources {
		var err error
		if paths[i], err = bucket.LocalPath(s); err != nil {
			return nil, nil, fmt.Errorf("ingest: source: %w", err)
		}
	}
	inputs, skips, err := ingest.ResolveWith(paths, stdin, j.Config.Ingest, j.lister(ctx))
	if err != nil {
		return nil, nil, err
	}
	want := tableColumns(j.Config.Ingest.Mappings)
	for i := range inputs {
		if in := &inputs[i]; len(want) > 0 && len(in.Members) == 0 && bucket.IsURL(in.Path) {
			if err := j.tableObject(ctx, in, want); err != nil {
				return nil, nil, err
			}
		} else if len(want) > 0 && len(in.Members) == 0 && isParquet(in.Path) {
			path := in.Path
			in.Table = true
			in.Open = func() (io.ReadCloser, error) {
				t, err := lake.OpenText(path, want)
				if err != nil {
					return nil, err
				}
				return tableText{t}, nil
			}
		}
	}
	return inputs, skips, nil
}

// tableColumns lists the columns that mappings of Parquet files use.
func tableColumns(all []ingest.Mapping) []string {
	var want []string
	for i := range all {
		if all[i].Layout == "parquet" {
			want = append(want, all[i].Used()...)
		}
	}
	slices.Sort(want)
	return slices.Compact(want)
}

// isParquet looks at the first bytes of a file.
func isParquet(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) == "PAR1"
}

// tableText gives the rows of a table; damage to it ends them.
type tableText struct{ *lake.Text }

func (t tableText) Read(p []byte) (int, error) {
	n, err := t.Text.Read(p)
	if err != nil && err != io.EOF {
		if what := lake.Refused(err); what != "" {
			return n, ingest.Damage("unread-parquet: " + what)
		}
		err = ingest.Damage("corrupt-parquet")
	}
	return n, err
}
