// Package matrix reads a test matrix: runs of one benchmark under factors such
// as data scale, access pattern or topology. It says which factors, and which
// pairs of them, the latency hangs on, where along a factor it takes off, and
// which cells are empty.
package matrix

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Figures are what one run gave; NaN is unknown.
type Figures struct {
	BytesPerS float64
	IOPS      float64
	P50MS     float64 // latency
	P99MS     float64
	CPUShare  float64 // of one core
	IOWait    float64 // share of time with an I/O in flight
}

// Run is one run: its level of each factor, by name.
type Run struct {
	Name   string
	Levels map[string]string
	Figures
}

// Factor is one factor and its levels: by value where all are numbers (with a
// unit as in 4KiB, 10GB, 2ms, if any), else in the order of the runs.
type Factor struct {
	Name    string    `json:"name"`
	Levels  []string  `json:"levels"`
	Numeric bool      `json:"numeric"`
	Values  []float64 `json:"-"`
}

// Cell is one combination of levels and the geometric means of its runs (the
// arithmetic ones of shares).
type Cell struct {
	Levels  []int `json:"-"`
	Runs    int   `json:"runs"`
	Figures `json:"-"`
}

// Matrix is the runs in order.
type Matrix struct {
	Factors []Factor
	Cells   []Cell // those with runs, by level of the first factor, then the second...
	Empty   [][]string
	Runs    int
	runs    []placed
}

type placed struct {
	levels []int
	Figures
}

// mostEmpty bounds the list of empty cells.
const mostEmpty = 1000

// New orders the runs by factors; names gives the order of the factors, nil is
// by name. Every run must have a level of every factor.
func New(runs []Run, names []string) (*Matrix, error) {
	if len(runs) == 0 {
		return nil, errors.New("matrix: there are no runs")
	}
	if names == nil {
		for name := range runs[0].Levels {
			names = append(names, name)
		}
		slices.Sort(names)
	}
	if len(names) == 0 {
		return nil, errors.New("matrix: the runs have no factors")
	}
	m := &Matrix{Runs: len(runs)}
	for _, name := range names {
		f := Factor{Name: name}
		for _, r := range runs {
			level, ok := r.Levels[name]
			if !ok {
				return nil, fmt.Errorf("matrix: run %s has no level of factor %s", r.Name, name)
			}
			if !slices.Contains(f.Levels, level) {
				f.Levels = append(f.Levels, level)
			}
		}
		f.order()
		m.Factors = append(m.Factors, f)
	}
	for _, r := range runs {
		if len(r.Levels) != len(names) {
			return nil, fmt.Errorf("matrix: run %s has factors beside %s", r.Name, strings.Join(names, ", "))
		}
		p := placed{Figures: r.Figures}
		for _, f := range m.Factors {
			p.levels = append(p.levels, slices.Index(f.Levels, r.Levels[f.Name]))
		}
		m.runs = append(m.runs, p)
	}
	m.fill()
	return m, nil
}

// order sorts the levels of a factor whose levels are all numbers.
func (f *Factor) order() {
	values := map[string]float64{}
	for _, l := range f.Levels {
		v, ok := Number(l)
		if !ok {
			return
		}
		values[l] = v
	}
	f.Numeric = true
	slices.SortStableFunc(f.Levels, func(a, b string) int { return cmp.Compare(values[a], values[b]) })
	for _, l := range f.Levels {
		f.Values = append(f.Values, values[l])
	}
}

// units are the ends of numbers that are known; sizes in bytes, times in seconds.
var units = map[string]float64{
	"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "x": 1, "%": 0.01,
}

// Number reads a level that is a number, with a unit or without.
func Number(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	end := strings.TrimLeft(s, "0123456789.+-eE")
	// An exponent needs a digit behind it: 4e is no number.
	v, err := strconv.ParseFloat(strings.TrimSpace(s[:len(s)-len(end)]), 64)
	scale, ok := units[strings.ToLower(strings.TrimSpace(end))]
	if err != nil || !ok || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, false
	}
	return v * scale, true
}

// fill makes the cells, and the list of those that have no run.
func (m *Matrix) fill() {
	byLevels := map[string][]placed{}
	for _, r := range m.runs {
		k := fmt.Sprint(r.levels)
		byLevels[k] = append(byLevels[k], r)
	}
	at := make([]int, len(m.Factors))
	for {
		if rs := byLevels[fmt.Sprint(at)]; len(rs) > 0 {
			m.Cells = append(m.Cells, Cell{Levels: slices.Clone(at), Runs: len(rs), Figures: pooled(rs)})
		} else if len(m.Empty) < mostEmpty {
			var names []string
			for i, l := range at {
				names = append(names, m.Factors[i].Levels[l])
			}
			m.Empty = append(m.Empty, names)
		}
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < len(m.Factors[i].Levels) {
				break
			}
			at[i] = 0
		}
		if i < 0 || len(m.Cells) == len(byLevels) && len(m.Empty) == mostEmpty {
			return
		}
	}
}

func pooled(rs []placed) Figures {
	geometric := func(get func(*Figures) float64) float64 {
		var s, n float64
		for i := range rs {
			if v := get(&rs[i].Figures); v > 0 {
				s += math.Log(v)
				n++
			}
		}
		return math.Exp(s / n)
	}
	arithmetic := func(get func(*Figures) float64) float64 {
		var s, n float64
		for i := range rs {
			if v := get(&rs[i].Figures); !math.IsNaN(v) {
				s += v
				n++
			}
		}
		return s / n
	}
	return Figures{
		BytesPerS: geometric(func(f *Figures) float64 { return f.BytesPerS }),
		IOPS:      geometric(func(f *Figures) float64 { return f.IOPS }),
		P50MS:     geometric(func(f *Figures) float64 { return f.P50MS }),
		P99MS:     geometric(func(f *Figures) float64 { return f.P99MS }),
		CPUShare:  arithmetic(func(f *Figures) float64 { return f.CPUShare }),
		IOWait:    arithmetic(func(f *Figures) float64 { return f.IOWait }),
	}
}

// Of is the levels of a cell by name.
func (m *Matrix) Of(c *Cell) map[string]string {
	out := map[string]string{}
	for i, l := range c.Levels {
		out[m.Factors[i].Name] = m.Factors[i].Levels[l]
	}
	return out
}
