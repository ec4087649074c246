package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
)

// Chunks are handed on one after the other, in their order, all before Read
// returns; and while one is in hand the next is read.
func TestReadBesideEmit(t *testing.T) {
	var text strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&text, "+n%d %d\n-n%d\n", i, i, i)
	}
	data := []byte(text.String())
	in := Input{Path: "x", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}}
	stop := errors.New("enough")
	check := func(what string, workers int, fail int64) {
		t.Helper()
		var inHand, chunks, events atomic.Int64
		rep, err := Read(context.Background(), in, Options{ChunkBytes: 1000, ReadBytes: 100}, workers, func(c *Chunk) error {
			if inHand.Add(1) != 1 || c.Number != chunks.Load() {
				t.Errorf("%s: chunk %d is not the next one, or not the only one", what, c.Number)
			}
			defer inHand.Add(-1)
			if chunks.Add(1) == fail {
				return stop
			}
			events.Add(int64(len(c.Events)))
			return nil
		})
		switch {
		case fail == 0 && (err != nil || events.Load() != 4000 || rep.Events != 4000):
			t.Errorf("%s: %d events, %v", what, events.Load(), err)
		case fail > 0 && (!errors.Is(err, stop) || chunks.Load() != fail):
			t.Errorf("%s: %d chunks, want the %d to the one that fails: %v", what, chunks.Load(), fail, err)
		}
		if inHand.Load() != 0 {
			t.Errorf("%s: Read has returned with a chunk in hand", what)
		}
	}
	for workers := 1; workers <= 3; workers++ {
		check(fmt.Sprint(workers, " workers"), workers, 0)
		check(fmt.Sprint(workers, " workers, the first fails"), workers, 1)
		check(fmt.Sprint(workers, " workers, a later one fails"), workers, 7)
	}
	// The first chunk waits for a line behind it to be decoded: beside it.
	data = bytes.Repeat([]byte("beside\n"), 3)
	data = append([]byte("beside \n"), data...)
	first := true
	_, err := Read(context.Background(), in, Options{ChunkBytes: 10}, 2, func(*Chunk) error {
		if first {
			<-secondChunk
		}
		first = false
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// test-beside is a format that says when it decodes a line of the second chunk.
var _ = Register(Format{Name: "test-beside", Doc: "test", Sniff: prefix("beside "),
	Lines: func(*Source) (LinesDecoder, error) { return besides{}, nil }})

var secondChunk = make(chan struct{}, 1)

type besides struct{}

func (besides) Line(_ []byte, out *Out) {
	out.Note()
	if out.Lineno == 3 {
		secondChunk <- struct{}{}
	}
}

func (besides) End(*Out) {}
