package reports

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// The windows of 70 devices are gone through in two pieces, of which the first ends
// within a device: the workers change nothing, and what is counted on the way is what
// the windows say one by one.
func TestDigestOfPieces(t *testing.T) {
	in := made(70, 1000, 20, 5)
	if n := in.Windows.Len(); n <= PieceRows || n%1000 == 0 && PieceRows%1000 == 0 {
		t.Fatalf("%d windows are of one piece", n)
	}
	read := func(workers int) (*Digest, []byte, int) {
		var text []byte
		rows, starts := 0, []int64(nil)
		g, err := NewDigest(in, workers, Labels{
			Pack: func(columns []Column) (any, error) { return slices.Clone(columns[2].Data.([]int64)), nil },
			Take: func(some []byte, packed any) error {
				text, rows, starts = append(text, some...), rows+bytes.Count(some, []byte("\n")), append(starts, packed.([]int64)...)
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, start := range starts {
			if start != in.Windows.At(i).StartNS {
				t.Fatalf("row %d of the columns is of another window", i)
			}
		}
		return g, text, rows
	}
	one, text, rows := read(1)
	if rows != in.Windows.Len() {
		t.Errorf("%d rows of %d windows", rows, in.Windows.Len())
	}
	three, other, _ := read(3)
	if !bytes.Equal(text, other) {
		t.Error("three workers make other labels than one")
	}
	if fmt.Sprint(one.keys, one.slugs, one.groups, one.runs[3].usual, one.covered) != fmt.Sprint(three.keys, three.slugs, three.groups, three.runs[3].usual, three.covered) {
		t.Error("three workers make another digest than one")
	}
	for i := range in.Windows.Len() {
		w, d, c := in.Windows.At(i), in.Result.Diagnoses.At(i), one.Cell(i)
		if c.Key != w.Key || c.StartNS != w.StartNS || c.EndNS != w.EndNS || c.Idle != w.Idle || c.Verdict != d.Verdict || c.Severity != d.Severity ||
			c.Pathology != d.Pathology || *three.row(i) != *one.row(i) && c.Values[1] == c.Values[1] || c.Values[1] != w.Context[features.CtxLatencyMean] && !math.IsNaN(c.Values[1]) {
			t.Fatalf("window %d is kept as %+v", i, c)
		}
	}
	f := gathered(t, in)
	if covered, judged := 0.0, 0; one.straight {
		low := f.quality.low
		f.quality.low = 0
		for _, k := range one.keys {
			f.cover(f.index[k], &covered, &judged)
		}
		if covered != one.covered || judged != one.judged || f.quality.low != one.low || low != one.low {
			t.Errorf("seen is %g of %d (%d low), by itself %g of %d (%d)", one.covered, one.judged, one.low, covered, judged, f.quality.low)
		}
	} else {
		t.Error("the windows of devices don't stand together")
	}
	facts := tellFacts(&in.Catalogue)
	for k, run := range one.Runs() {
		var depth []float64
		sick := false
		for i := run[0]; i < run[1]; i++ {
			switch in.Result.Diagnoses.At(i).Verdict {
			case cluster.Healthy:
				depth = append(depth, in.Windows.At(i).Context[facts[0]])
			case cluster.Sick:
				sick = true
			}
		}
		got := one.runs[slices.Index(one.keys, k)]
		if sick != (got.own != nil) {
			t.Errorf("%v: sick is %v, and medians are there: %v", k, sick, got.own != nil)
		}
		if slices.Sort(depth); sick && (got.usual[0] != depth[(len(depth)-1)/2] || got.own[0].Windows != len(depth)) {
			t.Errorf("%v: usual depth %g of %d windows, want %g of %d", k, got.usual[0], got.own[0].Windows, depth[(len(depth)-1)/2], len(depth))
		}
	}
}

// Windows in any order give the same account; medians are then taken from the windows.
func TestDigestOfShuffledWindows(t *testing.T) {
	in := made(20, 100, 8, 3)
	before := *in
	want := gathered(t, &before)
	n := in.Windows.Len()
	if n%41 == 0 {
		t.Fatalf("41 steps over %d windows meet some twice", n)
	}
	windows, points, said := make([]features.Window, n), make([]reduce.Point, n), make([]cluster.Diagnosis, n)
	for i := range n {
		k := i * 41 % n
		windows[i], points[i], said[i] = *in.Windows.At(k), *in.Points.At(k), *in.Result.Diagnoses.At(k)
	}
	in.Windows, in.Points, in.Result.Diagnoses = features.List(windows), features.List(points), features.List(said)
	got := gathered(t, in)
	if got.all.straight || got.all.Runs() != nil {
		t.Fatal("shuffled windows are taken for ordered ones")
	}
	if math.Abs(got.quality.coverage-want.quality.coverage) > 1e-12 || got.quality.low != want.quality.low || !reflect.DeepEqual(got.verdicts, want.verdicts) {
		t.Errorf("coverage %g, %d low, %v; want %g, %d, %v", got.quality.coverage, got.quality.low, got.verdicts, want.quality.coverage, want.quality.low, want.verdicts)
	}
	for i := range in.Result.Episodes {
		e := &in.Result.Episodes[i]
		if a, b := got.tells(got.index[e.Key], e), want.tells(want.index[e.Key], e); !slices.Equal(a, b) {
			t.Errorf("%v is told by %q, want %q", e.Key, a, b)
		}
	}
}

// Who takes the labels may fail, and parts may not belong together.
func TestDigestFails(t *testing.T) {
	in, failure := made(3, 50, 1, 1), errors.New("no room")
	if _, err := NewDigest(in, 2, Labels{Take: func([]byte, any) error { return failure }}); !errors.Is(err, failure) {
		t.Errorf("a reader that fails gives %v", err)
	}
	if _, err := NewDigest(in, 2, Labels{Pack: func([]Column) (any, error) { return nil, failure }}); !errors.Is(err, failure) {
		t.Errorf("a packer that fails gives %v", err)
	}
	in.Result.Diagnoses.At(7).StartNS++
	if _, err := NewDigest(in, 2, Labels{}); err == nil {
		t.Error("a diagnosis of another window is taken")
	}
}

func TestSelect(t *testing.T) {
	for n := 1; n < 40; n++ {
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(i * 7 % 11)
		}
		sorted := slices.Sorted(slices.Values(v))
		if got, want := cluster.MedianOf(slices.Clone(v)), (sorted[(n-1)/2]+sorted[n/2])/2; got.Value != want || got.Windows != n {
			t.Errorf("median of %v is %+v, want %g", v, got, want)
		}
	}
}
