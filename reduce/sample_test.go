package reduce

import (
	"fmt"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/features"
)

// A sample takes of each device about as many windows as of another, none that is
// idle, and the same whatever other devices there are.
func TestSample(t *testing.T) {
	var ws []features.Window
	for d, n := range []int{3, 40, 400, 40} { // the second is idle but for four
		for i := range n {
			w := features.Window{StartNS: int64(i) * 1e10}
			w.Host, w.Device = "h", fmt.Sprintf("d%d", d)
			w.Idle = d == 1 && i%10 > 0
			ws = append(ws, w)
		}
	}
	rows := features.List(ws)
	if at := Sample(rows, len(ws)); at != nil {
		t.Errorf("of all windows %d are left out", len(ws)-len(at))
	}
	count := func(at []int32) map[string]int {
		n := map[string]int{}
		for _, i := range at {
			if ws[i].Idle {
				t.Errorf("window %d is idle", i)
			}
			n[ws[i].Device]++
		}
		return n
	}
	at := Sample(rows, 67)
	if n := count(at); len(at) != 67 || !slices.IsSorted(at) || n["d0"] != 3 || n["d1"] != 4 || n["d2"] != 30 || n["d3"] != 30 {
		t.Errorf("67 of %d windows: by device %v, want 3, 4, 30, 30", len(ws), n)
	}
	if n := count(Sample(rows, 460)); n["d0"] != 3 || n["d1"] != 4 || n["d2"] != 400 || n["d3"] != 40 {
		t.Errorf("460 of %d windows: by device %v, want all that aren't idle", len(ws), n)
	}
	// The turns of two halves, merged, are the turns of all.
	half := 3 + 40
	var merged []Turned
	merged = append(merged, InTurn(rows.Range(0, half))...)
	for _, x := range InTurn(rows.Range(half, len(ws))) {
		x.At += int32(half)
		merged = append(merged, x)
	}
	slices.SortStableFunc(merged, func(a, b Turned) int { return a.Compare(b.Turn) })
	if !slices.Equal(merged, InTurn(rows)) {
		t.Error("the turns of two halves are not those of all")
	}
}
