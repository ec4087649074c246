package compare

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Run is what a tool that gives no single I/Os says of one of its jobs; NaN is
// unknown.
type Run struct {
	Name                               string
	BytesPerS, IOPS, P50MS, P99MS, CPU float64 // CPU: share of one core
}

// runMetrics are the figures of runs, by the names that windows have for them.
var runMetrics = []struct {
	Metric
	of func(*Run) float64
}{
	{Metric{Name: "throughput", Unit: "B/s", Worse: neither}, func(r *Run) float64 { return r.BytesPerS }},
	{Metric{Name: "iops", Unit: "1/s", Worse: neither}, func(r *Run) float64 { return r.IOPS }},
	{Metric{Name: "latency_p50", Unit: "ms", Worse: higher}, func(r *Run) float64 { return r.P50MS }},
	{Metric{Name: "latency_p99", Unit: "ms", Worse: higher}, func(r *Run) float64 { return r.P99MS }},
	{Metric{Name: "cpu_share", Unit: "0..1", Worse: neither}, func(r *Run) float64 { return r.CPU }},
}

// runs holds the jobs of B against those of A that have their names, the nth
// of a name against the nth. A job is one figure, so what chance does is read
// from how much the jobs differ in their change; one job has no interval.
func runs(a, b Side, o Options) (*Comparison, error) {
	if len(a.Runs) == 0 || len(b.Runs) == 0 {
		return nil, errors.New("compare: one side holds sums of whole jobs and the other windows: make both alike")
	}
	c := &Comparison{A: a.Name, B: b.Name, Paired: true, Jobs: true, DevicesA: len(a.Runs), DevicesB: len(b.Runs), Resamples: o.Resamples, Level: o.Level, Alpha: o.Alpha, Over: o.Above,
		Devices: []Device{}, LeftOut: []LeftOut{}, Notes: []string{"the sides hold sums of whole jobs: each is one figure, and what chance does is read from the jobs' differences"}}
	pairs := runPairs(a.Runs, b.Runs)
	for _, p := range pairs {
		if p.a == nil || p.b == nil {
			l := LeftOut{Device: p.name, Why: "only in A"}
			if p.a == nil {
				l.Why = "only in B"
			}
			c.LeftOut = append(c.LeftOut, l)
			if len(c.LeftOut) <= leftOutNamed {
				c.Notes = append(c.Notes, "job left out, "+l.Why+": "+l.Device)
			}
			continue
		}
		c.Devices = append(c.Devices, Device{Device: p.name})
	}
	if n := len(c.LeftOut) - leftOutNamed; n > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d more jobs are on one side only", n))
	}
	if len(c.Devices) == 0 {
		return nil, errors.New("compare: the sides have no job of the same name")
	}
	var metrics []Metric
	for k := range runMetrics {
		m := &runMetrics[k]
		metrics = append(metrics, m.Metric)
		var as, bs, changes []float64
		at := -1
		for _, p := range pairs {
			if p.a == nil || p.b == nil {
				continue
			}
			at++
			x, y := m.of(p.a), m.of(p.b)
			if !m.share() {
				x, y = math.Log(x), math.Log(y)
			}
			if d := y - x; !math.IsNaN(d) && !math.IsInf(d, 0) && !math.IsInf(x, 0) {
				as, bs, changes = append(as, x), append(bs, y), append(changes, d)
				c.Devices[at].Effects = append(c.Devices[at].Effects, m.effect(x, y, d, 0, 0, 1, o))
			}
		}
		if n := len(changes); n > 0 {
			spread := math.Hypot(deviation(as), deviation(bs)) / math.Sqrt2
			apart := 0.0
			if spread > 0 {
				apart = size(mean(changes), spread)
			}
			c.Effects = append(c.Effects, m.effect(mean(as), mean(bs), mean(changes), deviation(changes)/math.Sqrt(float64(n)), apart, n, o))
		}
	}
	c.told(append(metrics, Metrics...))
	c.alarms(o)
	return c, nil
}

type runPair struct {
	name string
	a, b *Run
}

// runPairs matches jobs by name, in the order of A, then what only B has.
func runPairs(a, b []Run) []runPair {
	var out []runPair
	at := map[string]int{}
	name := func(r *Run, seen map[string]int) string {
		seen[r.Name]++
		if n := seen[r.Name]; n > 1 {
			return r.Name + " #" + strconv.Itoa(n)
		}
		return r.Name
	}
	seen := map[string]int{}
	for i := range a {
		n := name(&a[i], seen)
		at[n] = len(out)
		out = append(out, runPair{name: n, a: &a[i]})
	}
	clear(seen)
	for i := range b {
		n := name(&b[i], seen)
		if k, ok := at[n]; ok && out[k].b == nil {
			out[k].b = &b[i]
		} else {
			out = append(out, runPair{name: n, b: &b[i]})
		}
	}
	return out
}
