package cluster

import (
	"math"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// Row is the sick windows in a row that a window stands among, before those that
// together are too mild are let go (see hear, step 5).
type Row struct {
	Windows int     `json:"windows"` // 0: the window is not sick by itself or by its neighbours
	Excess  float64 `json:"excess"`  // of their severities over the gate in sum, a window of 10 s weighing 1
	Needs   float64 `json:"needs"`   // Options.Excess
}

// rowReach is how many windows before and behind the one that is asked for may
// belong to its row.
const rowReach = 128

// row finds the row of points.At(at), as Label does but for its last step.
func (m *Model) row(points features.Rows[reduce.Point], at int, r *Rules, o Options) Row {
	if o.Alone {
		return Row{Needs: o.Excess}
	}
	lenient := o
	lenient.Excess = math.Inf(-1)
	first, last, key := at, at, points.At(at).Window.Key
	for first > 0 && at-first < rowReach && points.At(first-1).Window.Key == key {
		first--
	}
	for last+1 < points.Len() && last-at < rowReach && points.At(last+1).Window.Key == key {
		last++
	}
	d := m.Label(points.Range(first, last+1).Slice(), r, lenient).Diagnoses.Slice()
	i := at - first
	x := Row{Needs: o.Excess}
	if d[i].Verdict != Sick {
		return x
	}
	from, to := i, i
	for from > 0 && d[from-1].Verdict == Sick && d[from-1].EndNS == d[from].StartNS {
		from--
	}
	for to+1 < len(d) && d[to+1].Verdict == Sick && d[to].EndNS == d[to+1].StartNS {
		to++
	}
	for k := from; k <= to; k++ {
		x.Windows++
		x.Excess += max(d[k].Severity-1, 0) * lengthWeight(d[k].EndNS-d[k].StartNS)
	}
	return x
}
