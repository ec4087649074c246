package features

import "testing"

func TestLatencyGrid(t *testing.T) {
	g := NewLatencyGrid(1000, 11000, 10, 1)
	if g.Cols != 10 || g.StepNS != 1000 {
		t.Fatalf("%d columns of %d ns", g.Cols, g.StepNS)
	}
	// A latency lies within its row; rows meet without gaps.
	for _, ns := range []int64{1024, 1279, 1280, 1500, 1791, 1792, 2047, 2048, 999_999, 1_000_000, 1 << 36, 1<<37 - 1} {
		low, high := g.Row(gridRow(ns))
		if ns < low || ns >= high {
			t.Errorf("%d ns is in the row of %d to %d", ns, low, high)
		}
	}
	for row := range gridRows - 1 {
		_, high := g.Row(row)
		if low, _ := g.Row(row + 1); low != high {
			t.Errorf("row %d ends at %d, the next begins at %d", row, high, low)
		}
	}
	g.Add(1000, 5, 1)      // below the lowest row: counts there
	g.Add(10999, 1<<40, 2) // above the highest
	g.Add(11000, 2000, 4)  // too late
	g.Add(999, 2000, 8)    // too early
	g.Add(5000, -1, 16)    // of no latency
	if g.Total != 3 || g.Outside != 28 || g.Count[0] != 1 || g.Count[gridRows*10-1] != 2 {
		t.Errorf("total %d, outside %d", g.Total, g.Outside)
	}
	if from, to := g.Rows(); from != 0 || to != gridRows {
		t.Errorf("rows %d to %d", from, to)
	}
	if g := NewLatencyGrid(0, 1000, 120, 100); g.Cols != 10 { // no column is shorter than asked
		t.Errorf("%d columns", g.Cols)
	}
}
