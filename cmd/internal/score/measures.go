package score

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// Measures is what Score gives. Shares are 0..1.
type Measures struct {
	MacroF1        float64 `json:"macroF1"`    // mean F1 over healthy and the pathologies
	DetectF1       float64 `json:"detectF1"`   // of sick against healthy
	FalseAlarm     float64 `json:"falseAlarm"` // healthy windows called sick
	DeviceAcc      float64 `json:"deviceAcc"`  // sick devices whose severest label is right
	ARI            float64 `json:"ari"`        // adjusted Rand index of class_id against the truth over truth-sick windows
	ARICoverage    float64 `json:"ariCoverage"`
	Windows        int     `json:"windows"` // that count
	WindowCoverage float64 `json:"windowCoverage"`
	CoverageKnown  bool    `json:"windowCoverageKnown"` // false: the truth doesn't tell which windows there are
	Runs           float64 `json:"runs"`                // share of the truth's devices that have a label

	WindowNS        int64   `json:"window_ns"`
	Needed          int     `json:"windowsNeeded"`
	Missing         int     `json:"windowsMissing"`
	Devices         int     `json:"devices"`
	DevicesSeen     int     `json:"devicesSeen"`
	SickDevices     int     `json:"sickDevices"`
	NamedRight      int     `json:"sickDevicesNamedRight"`
	DetectPrecision float64 `json:"detectPrecision"`
	DetectRecall    float64 `json:"detectRecall"`
	ClassesUsed     int     `json:"classesUsed"`

	Classes     []ClassScore `json:"classes"`
	Confusion   Confusion    `json:"confusion"`
	Reliability []Bin        `json:"reliability"`
	Calibration float64      `json:"calibrationError"` // mean |confidence - share right| over the bins, by their windows
	Causes      []CauseScore `json:"causes"`
}

// ClassScore is how well one label is found.
type ClassScore struct {
	Label     string  `json:"label"`
	Windows   int     `json:"windows"` // of which it is the truth
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"F1"`
}

// Confusion counts windows: a row a true label, a column what was said.
type Confusion struct {
	Truth  []string `json:"truth"`
	Said   []string `json:"said"`
	Counts [][]int  `json:"counts"`
}

func share(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func harmonic(p, r float64) float64 {
	if p+r == 0 {
		return 0
	}
	return 2 * p * r / (p + r)
}

func (s *scoring) perClass(m *Measures) {
	sum := 0.0
	for _, c := range s.classes {
		tp, fp, fn := 0, 0, 0
		for i := range s.rows {
			is, said := s.rows[i].truth == c, s.rows[i].said == c
			switch {
			case is && said:
				tp++
			case said:
				fp++
			case is:
				fn++
			}
		}
		x := ClassScore{Label: c, Windows: tp + fn, Precision: share(tp, tp+fp), Recall: share(tp, tp+fn)}
		x.F1 = harmonic(x.Precision, x.Recall)
		sum += x.F1
		m.Classes = append(m.Classes, x)
	}
	m.MacroF1 = sum / float64(len(s.classes))
}

func sick(word string) bool { return word != healthy && word != missing }

func (s *scoring) detection(m *Measures) {
	tp, fp, fn, well := 0, 0, 0, 0
	for i := range s.rows {
		r := &s.rows[i]
		switch {
		case r.truth == healthy:
			well++
			if sick(r.said) {
				fp++
			}
		case sick(r.said):
			tp++
		default:
			fn++
		}
	}
	m.DetectPrecision, m.DetectRecall = share(tp, tp+fp), share(tp, tp+fn)
	m.DetectF1 = harmonic(m.DetectPrecision, m.DetectRecall)
	m.FalseAlarm = share(fp, well)
}

// deviceNames gives each device with sick windows the word that has most
// severity over them; equal ones: the word that came first.
func (s *scoring) deviceNames(m *Measures) {
	type name struct {
		words  []string
		weight map[string]float64
		truth  string
	}
	names := map[Key]*name{}
	var order []Key
	for i := range s.rows {
		r := &s.rows[i]
		if r.truth == healthy {
			continue
		}
		n := names[r.key]
		if n == nil {
			n = &name{weight: map[string]float64{}}
			names[r.key] = n
			order = append(order, r.key)
		}
		n.truth = r.truth
		if _, ok := n.weight[r.said]; !ok {
			n.words = append(n.words, r.said)
		}
		w := nameWeight
		if r.said != healthy {
			w += r.severity
		}
		n.weight[r.said] += w
	}
	for _, k := range order {
		n := names[k]
		best := n.words[0]
		for _, w := range n.words[1:] {
			if n.weight[w] > n.weight[best] {
				best = w
			}
		}
		if best == n.truth {
			m.NamedRight++
		}
	}
	m.SickDevices = len(order)
	m.DeviceAcc = share(m.NamedRight, m.SickDevices)
}

// partition compares class_id with the truth over all truth-sick windows; a
// window without a class is a class of its own.
func (s *scoring) partition(m *Measures) {
	var truth, class []string
	used := map[string]bool{}
	with := 0
	for i := range s.rows {
		r := &s.rows[i]
		if r.truth == healthy {
			continue
		}
		c := r.class
		if c == "" || c == "-1" {
			c = "\x00" + strconv.Itoa(i) // no class_id is that
		} else {
			with++
			used[c] = true
		}
		truth, class = append(truth, r.truth), append(class, c)
	}
	m.ARI = ARI(truth, class)
	m.ARICoverage = share(with, len(truth))
	m.ClassesUsed = len(used)
}

// ARI is the adjusted Rand index of two partitions (Hubert and Arabie, 1985):
// 1 for equal ones, about 0 for unrelated ones; 0 for fewer than 2 things.
func ARI(a, b []string) float64 {
	n := len(a)
	if n < 2 {
		return 0
	}
	pairs := func(n int) float64 { return float64(n) * float64(n-1) / 2 }
	both, inA, inB := map[[2]string]int{}, map[string]int{}, map[string]int{}
	for i := range a {
		both[[2]string{a[i], b[i]}]++
		inA[a[i]]++
		inB[b[i]]++
	}
	// Sums of integers and halves of them are exact in any order of the maps.
	var s, sa, sb float64
	for _, n := range both {
		s += pairs(n)
	}
	for _, n := range inA {
		sa += pairs(n)
	}
	for _, n := range inB {
		sb += pairs(n)
	}
	expected, most := sa*sb/pairs(n), (sa+sb)/2
	if most == expected {
		return 1
	}
	return (s - expected) / (most - expected)
}

// confusion counts; columns that never occur beside the classes are left out.
func (s *scoring) confusion(m *Measures) {
	c := &m.Confusion
	c.Truth = slices.Clone(s.classes)
	c.Said = slices.Clone(s.classes)
	extra := []string{unrecognised, artefact, missing}
	for i := range s.rows {
		if w := s.rows[i].said; !slices.Contains(s.classes, w) && !slices.Contains(extra, w) {
			extra = append(extra, w) // a name of another catalogue
		}
	}
	slices.SortStableFunc(extra[3:], cmp.Compare[string])
	for _, w := range extra {
		if slices.ContainsFunc(s.rows, func(r row) bool { return r.said == w }) {
			c.Said = append(c.Said, w)
		}
	}
	c.Counts = make([][]int, len(c.Truth))
	for i := range c.Counts {
		c.Counts[i] = make([]int, len(c.Said))
	}
	for i := range s.rows {
		r := &s.rows[i]
		if t := slices.Index(c.Truth, r.truth); t >= 0 {
			c.Counts[t][slices.Index(c.Said, r.said)]++
		}
	}
}

// Bin is the windows whose confidence lies in [From, To), 1 in the last.
type Bin struct {
	From       float64 `json:"from"`
	To         float64 `json:"to"`
	Windows    int     `json:"n"`
	Confidence float64 `json:"confidence"` // mean
	Right      float64 `json:"right"`      // share of right labels
}

const bins = 10

// reliability says how often a label of a confidence was right, over windows
// that have one; bins without windows are left out.
func (s *scoring) reliability(m *Measures) {
	var n, right [bins]int
	var sum [bins]float64
	all := 0
	for i := range s.rows {
		r := &s.rows[i]
		if math.IsNaN(r.confidence) {
			continue
		}
		b := min(max(int(r.confidence*bins), 0), bins-1)
		n[b]++
		all++
		sum[b] += r.confidence
		if r.said == r.truth {
			right[b]++
		}
	}
	for b := range bins {
		if n[b] == 0 {
			continue
		}
		x := Bin{From: float64(b) / bins, To: float64(b+1) / bins, Windows: n[b], Confidence: sum[b] / float64(n[b]), Right: share(right[b], n[b])}
		m.Reliability = append(m.Reliability, x)
		m.Calibration += math.Abs(x.Confidence-x.Right) * float64(n[b]) / float64(all)
	}
}
