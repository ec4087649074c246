package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

const (
	rawBytes    = 300      // of a raw line that are shown
	unpackBytes = 64 << 20 // of a packed log that are unpacked for its lines
)

// quote puts in how the requests stand in their logs, where these still lie
// where they lay and begin as they did. words say of the other logs why not.
func (j *Job) quote(lines []reports.SlowLine, sources map[string]lake.Input) (words []string) {
	places := map[string][]int64{}
	for i := range lines {
		places[lines[i].Input] = append(places[lines[i].Input], lines[i].Event.Position)
	}
	texts := map[string]map[int64][]byte{}
	for _, id := range sortedKeys(places) {
		in, ok := sources[id]
		if !ok {
			continue
		}
		name := Printable(filepath.Base(in.Path))
		got, err := j.linesOf(in, places[id])
		switch {
		case errors.Is(err, ingest.ErrOtherInput):
			words = append(words, name+" is not the log any more that was read: its lines are not shown")
		case err != nil:
			words = append(words, name+" can't be read where it lay: its lines are not shown")
		case len(got) == 0:
			words = append(words, fmt.Sprintf("%s is packed, and the lines lie behind its first %d MiB: they are not shown", name, unpackBytes>>20))
		}
		texts[id] = got
	}
	for i := range lines {
		if raw := texts[lines[i].Input][lines[i].Event.Position]; bytes.IndexByte(raw, 0) < 0 { // else it is no text
			lines[i].Raw = Printable(string(raw))
		}
	}
	return words
}

// linesOf reads lines of an input that is a regular file.
func (j *Job) linesOf(in lake.Input, places []int64) (map[int64][]byte, error) {
	if bucket.IsURL(in.Path) {
		source, err := j.object(context.Background(), in.Path)
		if err != nil {
			return nil, err
		}
		return ingest.Lines(source, j.Config.Ingest, in.ID, in.HeadBytes, places, rawBytes, unpackBytes)
	}
	info, err := os.Stat(in.Path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", in.Path)
	}
	source := ingest.Input{Path: in.Path, Open: func() (io.ReadCloser, error) { return os.Open(in.Path) }}
	return ingest.Lines(source, j.Config.Ingest, in.ID, in.HeadBytes, places, rawBytes, unpackBytes)
}
