package matrix

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Five factors, numbers with units among words, a third of the cells empty:
// what the latency hangs on is found, the rest is not, empty cells have names.
func TestFiveFactors(t *testing.T) {
	levels := [][]string{{"64KiB", "4KiB", "1MiB"}, {"128", "8", "32"}, {"random", "sequential"}, {"kafka 3.9 (tuned)", "kafka 3.8", "naïve <b>"}, {"rack", "local"}}
	names := []string{"size", "depth", "pattern", "framework", "topology"}
	found, wrong := 0, 0
	for trial := range uint64(10) {
		r := rand.New(rand.NewPCG(21, trial))
		var runs []Run
		at := make([]int, len(names))
		for cell := range 3 * 3 * 2 * 3 * 2 {
			k := cell
			for f := range names {
				at[f] = k % len(levels[f])
				k /= len(levels[f])
			}
			if (at[0]+at[1]+at[3])%3 == 0 {
				continue // not run
			}
			ms := math.Exp(0.1 * r.NormFloat64())
			if levels[1][at[1]] == "128" {
				ms *= 2
			}
			if at[2] == 0 && at[4] == 0 { // random on the rack
				ms *= 3.8
			}
			run := Run{Name: fmt.Sprint(cell), Levels: map[string]string{}, Figures: Figures{P50MS: ms, P99MS: 3 * ms}}
			for f, n := range names {
				run.Levels[n] = levels[f][at[f]]
			}
			runs = append(runs, run)
		}
		m, err := New(runs, names)
		if err != nil {
			t.Fatal(err)
		}
		if trial == 0 {
			if f := m.Factors; strings.Join(f[0].Levels, " ") != "4KiB 64KiB 1MiB" || strings.Join(f[1].Levels, " ") != "8 32 128" || f[3].Numeric || len(f[3].Levels) != 3 {
				t.Errorf("factors %+v", f)
			}
			if len(m.Cells) != 72 || len(m.Empty) != 36 || len(m.Empty[0]) != 5 {
				t.Errorf("%d cells, %d empty", len(m.Cells), len(m.Empty))
			}
			for _, e := range m.Empty {
				if slices.ContainsFunc(m.Cells, func(c Cell) bool {
					of := m.Of(&c)
					return !slices.ContainsFunc(names, func(n string) bool { return of[n] != e[slices.Index(names, n)] })
				}) {
					t.Errorf("%v has a run and is empty", e)
				}
			}
		}
		o := DefaultOptions()
		o.Resamples = 20
		effects, ok := m.Effects(Measures[0], o)
		if !ok {
			t.Fatal("no effects")
		}
		for _, e := range effects {
			switch strings.Join(e.Factors, " ") {
			case "depth":
				if e.Found && math.Abs(e.Ratio-2) < 0.3 && e.At[0] == "128" {
					found++
				}
			case "pattern topology":
				if e.Found && slices.Equal(e.At, []string{"random", "rack"}) {
					found++
				}
			case "pattern", "topology": // half of the pair each
			default:
				if e.Found {
					wrong++
					t.Logf("trial %d: %v, share %g, p %g", trial, e.Factors, e.Share, e.P)
				}
			}
		}
	}
	if found < 20 || wrong > 0 {
		t.Errorf("%d of 20 found, %d that are not there", found, wrong)
	}
}
