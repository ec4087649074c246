package reports

import (
	"bytes"
	"io"
	"sync/atomic"
	"testing"

	"github.com/iopathy/iopathy/features"
)

// Rows that can't be read any more, whoever asks for them and when, end the call
// in its own goroutine: who called can make an error of it.
func TestRowsLostWhileThePageIsMade(t *testing.T) {
	in := made(12, 60, 4, 1)
	var asked, most atomic.Int64
	type fault struct{}
	rows := in.Windows.Slice()
	in.Windows = features.Fetched(len(rows), func(i int) *features.Window {
		if asked.Add(1) > most.Load() {
			panic(fault{})
		}
		return &rows[i]
	})
	page := func(to int64) (whole bool) {
		asked.Store(0)
		most.Store(to)
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(fault); !ok {
					panic(r)
				}
			}
		}()
		if err := HTML(io.Discard, in); err != nil {
			t.Fatal(err)
		}
		return true
	}
	if !page(1 << 40) {
		t.Fatal("the page isn't made of whole rows")
	}
	all := asked.Load()
	for part := range int64(8) {
		if page(all * part / 8) {
			t.Errorf("rows are lost after %d eighths of the reads, and nobody is told", part)
		}
	}
}

// The maps' cells are drawn beside the rest: what befalls them is told to who waits,
// once all is done.
func TestAsideTellsWhoWaits(t *testing.T) {
	var a aside
	var done bytes.Buffer
	a.do(func() { panic("lost") })
	a.do(func() { done.WriteString("done") })
	defer func() {
		if r := recover(); r != "lost" || done.String() != "done" {
			t.Errorf("who waits is told %v, the other piece is %q", r, done.String())
		}
	}()
	a.wait()
	t.Error("nobody is told")
}
