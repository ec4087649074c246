package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
)

// TestTickLanes gives the ticks of three devices out of turn: the first device
// last, the second more than waits in memory, so that it goes on to a file.
// The rows must stand as if each had come in its turn.
func TestTickLanes(t *testing.T) {
	const small, large = 100, heldTicks + 3*laneTicks + 5
	start := int64(1_700_000_000) * 1e9
	tick := func(i int) *features.Tick {
		return &features.Tick{StartNS: start + int64(i)*1e8, Reads: int64(i) + 1, Arrivals: int64(i % 7)}
	}
	key := func(d string) features.Key { return features.Key{Host: "h", Device: d} }
	write := func(inTurn bool) (dir string, rows int64) {
		dir = t.TempDir()
		keep := newKeeping(&Job{Lake: dir}, nil)
		w := newTickWriter(dir, keep)
		day := cell{"h", "2023-11-14"}
		a, b, c := w.lane(0, key("a"), day), w.lane(1, key("b"), day), w.lane(2, key("c"), day)
		first := func() {
			for i := range small {
				a.add(tick(i))
			}
			if err := a.close(); err != nil {
				t.Fatal(err)
			}
		}
		if inTurn {
			first()
		}
		for i := range large {
			b.add(tick(i))
		}
		if err := b.close(); err != nil {
			t.Fatal(err)
		}
		if spilled, _ := filepath.Glob(filepath.Join(dir, "ticks", ".*.tmp")); inTurn == (len(spilled) > 0) {
			t.Errorf("in turn %v: waits in files %q", inTurn, spilled)
		}
		if !inTurn {
			first()
		}
		for i := range small {
			c.add(tick(i))
		}
		if err := c.close(); err != nil {
			t.Fatal(err)
		}
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
		parts := keep.parts
		for i := range parts {
			rows += parts[i].Rows // what is left is what the parts say
			if _, err := os.Stat(filepath.Join(dir, parts[i].Path)); err != nil {
				t.Error(err)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "ticks", ".*")); len(left) > 0 {
			t.Errorf("left over: %q", left)
		}
		return dir, rows
	}
	read := func(dir string) (all string) {
		paths, err := filepath.Glob(filepath.Join(dir, "ticks", "*", "*", "*.parquet"))
		if err != nil || len(paths) != 1 { // 2023-11-14 22:13:20 and 3.6 hours: two days
			if len(paths) != 2 {
				t.Fatal(paths, err)
			}
		}
		var b strings.Builder
		for _, p := range paths {
			data, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(data)
		}
		return b.String()
	}
	one, n := write(true)
	two, m := write(false)
	if n != 2*small+large || m != n {
		t.Errorf("%d and %d ticks, want %d", n, m, 2*small+large)
	}
	if read(one) != read(two) {
		t.Error("the files depend on whose ticks came first")
	}
}

// TestTickLanesFail gives up while a small device waits for its turn.
func TestTickLanesFail(t *testing.T) {
	w := newTickWriter(t.TempDir(), newKeeping(&Job{}, nil))
	w.lane(0, features.Key{Host: "h", Device: "a"}, cell{})
	w.held = heldTicks // of others
	b := w.lane(1, features.Key{Host: "h", Device: "b"}, cell{})
	ended := make(chan error)
	go func() {
		for i := range laneTicks {
			b.add(&features.Tick{StartNS: int64(i) * 1e8})
		}
		ended <- b.close()
	}()
	w.abort()
	if err := <-ended; err == nil {
		t.Error("no error after the others gave up")
	}
	if err := w.close(); err == nil {
		t.Error("closed without an error")
	}
}
