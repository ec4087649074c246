package cluster

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
)

// The order of the windows changes nothing that is said.
func TestDiagnosisIsIndependentOfOrder(t *testing.T) {
	r := shippedRules(t)
	ws, inv := fleetOf(t, r, 2)
	key := func(d *Diagnosis) string { return d.Host + "/" + d.Device + "/" + stamp(d.StartNS) }
	said := func(ws []features.Window) (map[string]Diagnosis, Result) {
		res, _, err := Diagnose(placed(t, ws, inv, r), r, &Model{Kind: Shipped}, "", DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]Diagnosis{}
		for _, d := range res.Diagnoses.Slice() {
			all[key(&d)] = d
		}
		return all, res
	}
	want, first := said(ws)
	rng := rand.New(rand.NewPCG(3, 3))
	rng.Shuffle(len(ws), func(i, j int) { ws[i], ws[j] = ws[j], ws[i] })
	got, second := said(ws)
	if !reflect.DeepEqual(got, want) {
		t.Error("another order of windows gives other diagnoses")
	}
	if !reflect.DeepEqual(first.Top, second.Top) || !reflect.DeepEqual(first.Cuts, second.Cuts) {
		t.Error("another order of windows gives another tree")
	}
	if !reflect.DeepEqual(first.Episodes, second.Episodes) {
		t.Error("another order of windows gives other episodes")
	}
}

func stamp(ns int64) string { return string(rune('0' + ns/10e9)) }

// The classes come from the linkage alone: other names and signatures leave
// the partition as it is.
func TestClassesAreIndependentOfNames(t *testing.T) {
	c := shippedCatalogue(t)
	r := shippedRules(t)
	ws, inv := fleetOf(t, r, 2)
	points := placed(t, ws, inv, r)
	part := func(r *Rules) []int {
		rows := features.List(points)
		sick, _ := sickPoints(rows, newJudge(r, nil, DefaultOptions()))
		return gather(rows, sick, DefaultOptions()).cut(8, DefaultOptions())
	}
	want := part(r)
	names := make([]Pathology, len(c.Pathologies))
	for i := range names {
		names[i] = c.Pathologies[i]
		other := c.Pathologies[(i+3)%len(names)]
		names[i].Slug, names[i].ID, names[i].Name = other.Slug, other.ID, other.Name
	}
	shuffled, err := Compile(Catalogue{Pathologies: names})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(part(shuffled), want) {
		t.Error("shuffled names give other classes")
	}
}

func TestFewAreLabelledByShippedClasses(t *testing.T) {
	r := shippedRules(t)
	ws, inv := fleetOf(t, r, 1)
	check := func(what, force, kind, why string, keep func(*features.Window) bool) {
		t.Helper()
		var some []features.Window
		for i := range ws {
			if keep(&ws[i]) {
				some = append(some, ws[i])
			}
		}
		res, _, err := Diagnose(placed(t, some, inv, r), r, &Model{Kind: Shipped}, force, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		if res.Model != kind || !strings.Contains(res.Why, why) {
			t.Errorf("%s: labelled by %s classes (%s), want %s (%s)", what, res.Model, res.Why, kind, why)
		}
	}
	all := func(*features.Window) bool { return true }
	check("80 sick windows", "", Shipped, "fewer than 100", all)
	check("80 sick windows, fit asked for", Fitted, Fitted, "fitted on", all)
	check("none sick", "", Shipped, "0 sick windows", func(w *features.Window) bool { return strings.HasPrefix(w.Device, "well") })
	check("none sick, fit asked for", Fitted, Shipped, "no window is sick", func(w *features.Window) bool { return strings.HasPrefix(w.Device, "well") })
	check("nothing at all", "", Shipped, "0 sick", func(*features.Window) bool { return false })
}

// A healthy fleet raises no episode.
func TestHealthyFleetIsQuiet(t *testing.T) {
	r := shippedRules(t)
	var ws []features.Window
	for d := range 20 {
		for at := range 30 {
			ws = append(ws, healthyWindow("well-"+string(rune('a'+d)), at))
		}
	}
	res, _, err := Diagnose(placed(t, ws, nil, r), r, &Model{Kind: Shipped}, "", DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Episodes) != 0 {
		t.Errorf("%d episodes, the first %+v", len(res.Episodes), res.Episodes[0])
	}
}

func TestIdleArtefactAndZero(t *testing.T) {
	r := shippedRules(t)
	idle, lost, zero := healthyWindow("a", 0), healthyWindow("a", 1), healthyWindow("a", 2)
	idle.Idle = true
	lost.Known, lost.Coverage = 0.2, 0.2
	points := placed(t, []features.Window{idle, lost, zero}, nil, r)
	points[2].Z, points[2].Y = features.Vector{}, make([]float64, len(points[2].Y))
	m := &Model{Kind: Shipped}
	for i, want := range []Verdict{Idle, Artefact, Healthy} {
		if got := m.Label(points, r, DefaultOptions()).Diagnoses.At(i); got.Verdict != want || got.Pathology != "" || math.IsNaN(got.Severity+got.Confidence) {
			t.Errorf("window %d: %+v, want %s", i, got, want)
		}
	}
}

// sequenceOf makes looks of one device: per window the pathology that it
// leans to and its severity.
func heard(t *testing.T, r *Rules, o Options, windows []struct {
	slug     string
	severity float64
}) []string {
	t.Helper()
	m := &Model{Kind: Shipped}
	j := newJudge(r, m, o)
	steps, looks, said := make([]step, len(windows)), make([]look, len(windows)), make([]saying, len(windows))
	for i, x := range windows {
		w := healthyWindow("d", i)
		w.Context[features.CtxIOPS] = 100
		steps[i] = stepOf(i, &w)
		n := len(r.entries)
		looks[i] = look{score: make([]float64, n), projection: make([]float64, n), evidence: make([]float64, n), lean: r.index(x.slug), severity: x.severity, verdict: Healthy}
		looks[i].score[looks[i].lean] = 0.9
		looks[i].projection[looks[i].lean] = x.severity * j.gates[looks[i].lean]
		said[i] = saying{verdict: Healthy, entry: -1, class: -1}
		if x.severity > 1 {
			looks[i].verdict = Sick
			said[i] = saying{verdict: Sick, entry: looks[i].lean, class: -1}
		}
	}
	s := sequence{steps: steps, looks: looks, said: said, j: j}
	s.hear()
	out := make([]string, len(said))
	for i, s := range said {
		if s.verdict == Sick {
			out[i] = r.entries[s.entry].Slug
		}
	}
	return out
}

func TestNeighboursAreHeard(t *testing.T) {
	type w = []struct {
		slug     string
		severity float64
	}
	const m, c, s = "media-degradation", "cache-thrash", "sudden-stall"
	check := func(what string, in w, want ...string) {
		t.Helper()
		if got := heard(t, shippedRules(t), DefaultOptions(), in); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	check("a blip", w{{m, 0.2}, {m, 1.1}, {m, 0.2}}, "", "", "")
	check("mild ones here and there", w{{m, 1.1}, {m, 0.2}, {m, 1.1}, {m, 0.2}, {m, 0.2}, {s, 1.1}}, "", "", "", "", "", "")
	check("mild ones in a row", w{{m, 1.11}, {m, 1.1}, {m, 1.1}, {m, 1.1}}, m, m, m, m)
	check("too few mild ones", w{{m, 1.1}, {m, 1.1}, {m, 1.1}, {m, 0.8}}, "", "", "", "")
	check("a severe one", w{{m, 0.2}, {m, 1.5}, {m, 0.2}}, "", m, "")
	check("hysteresis", w{{m, 0.2}, {m, 0.8}, {m, 1.5}, {m, 2}, {m, 0.9}, {m, 0.2}}, "", m, m, m, m, "")
	check("not of another kind", w{{m, 0.2}, {s, 0.8}, {m, 1.5}, {m, 2}}, "", "", m, m)
	check("a gap of one", w{{m, 2}, {m, 0.1}, {m, 2}}, m, m, m)
	check("a gap of two", w{{m, 2}, {m, 0.1}, {m, 0.1}, {m, 2}}, m, "", "", m)
	check("reach of 30 s", w{{m, 0.1}, {m, 0.1}, {m, 0.1}, {m, 0.1}, {c, 2}, {c, 2}}, "", c, c, c, c, c)
	check("no reach of one window", w{{m, 0.1}, {m, 0.1}, {c, 2}, {m, 0.1}, {m, 0.1}}, "", "", c, "", "")
}

func TestEpisodeSeverity(t *testing.T) {
	r := shippedRules(t)
	check := func(windows int, worst, want float64, level string) {
		t.Helper()
		f := readFixture(t, "queue-saturation")
		var d []Diagnosis
		var said []saying
		var causes []int
		var costs []cost
		jobs := slices.IndexFunc(r.entries[0].Causes, func(c RootCause) bool { return c.ID == "too-many-jobs" })
		for at := range windows {
			w := f.windowOf(t, "h", "d", at)
			severity := 1.0
			if at == windows/2 {
				severity = worst
			}
			d = append(d, Diagnosis{Key: w.Key, StartNS: w.StartNS, EndNS: w.EndNS, Verdict: Sick, Pathology: "queue-saturation", Severity: severity})
			said = append(said, saying{verdict: Sick, entry: 0})
			causes, costs = append(causes, jobs), append(costs, costOf(&w))
		}
		e := episodes(d, said, causes, costs, r)
		if len(e) != 1 || math.Abs(e[0].Severity-want) > 1e-9 || e[0].Level != level {
			t.Errorf("%d windows, worst %v: %+v, want severity %v %q", windows, worst, e, want, level)
			return
		}
		if e[0].SickSeconds != float64(10*windows) || e[0].DelayedBytes != 16e6*float64(10*windows) {
			t.Errorf("cost is %v s and %v bytes", e[0].SickSeconds, e[0].DelayedBytes)
		}
		if c := e[0].Causes[0]; c.ID != "too-many-jobs" || c.Votes != windows || c.Share != 1 {
			t.Errorf("cause is %+v", c)
		}
	}
	check(30, 3, 3, "warn")         // 5 minutes: as it is
	check(120, 3, 6, "bad")         // 20 minutes: doubled
	check(480, 4, 8, "critical")    // no more than doubled
	check(480, 9, 10, "critical")   // capped
	check(6, 3, 3/math.Sqrt(5), "") // one minute
	check(30, 1.5, 1.5, "")         // too mild
}

func TestWilson(t *testing.T) {
	// Oracle: statsmodels' proportion_confint(8, 10, method="wilson").
	low, high := wilson(8, 10)
	if math.Abs(low-0.4901624715) > 1e-9 || math.Abs(high-0.9433178485) > 1e-9 {
		t.Errorf("8 of 10: %v to %v", low, high)
	}
	if low, high := wilson(0, 0); low != 0 || high != 1 {
		t.Errorf("of nothing: %v to %v", low, high)
	}
}

func TestReliability(t *testing.T) {
	var all []outcome
	for i := range 100 {
		all = append(all, outcome{float64(i) / 100, i >= 50 || i%2 == 0})
	}
	r := reliability(all, 10)
	for i := 1; i < len(r); i++ {
		if r[i].Right <= r[i-1].Right || r[i].Margin <= r[i-1].Margin {
			t.Errorf("steps don't rise: %+v", r)
		}
	}
	if got := r.At(0.2); math.Abs(got-0.5) > 0.05 {
		t.Errorf("at 0.2: %v", got)
	}
	if got := r.At(0.9); got < 0.95 {
		t.Errorf("at 0.9: %v", got)
	}
	if got := r.At(-3); got != r[0].Right {
		t.Errorf("below all: %v", got)
	}
	if got := Reliability(nil).At(1); got != 0.5 {
		t.Errorf("of nothing: %v", got)
	}
}

// Nearest takes a negative distance for none: the product of a unit vector
// with itself may exceed 1 by a rounding.
func TestNearestOfItself(t *testing.T) {
	rows := lcgPoints(2000)
	var directions [][]float64
	for i := range 2000 {
		directions = append(directions, rows[i*8:i*8+8])
	}
	c := centres(directions)
	for i := range directions {
		if got := c.Nearest(observation(directions[i])); got != i {
			t.Fatalf("point %d is nearest to %d", i, got)
		}
	}
}

// A few outliers don't eat a class.
func TestFragmentsAreNoClasses(t *testing.T) {
	o := DefaultOptions()
	g := &gathering{d: 8, n: 1000, rows: lcgSeparable(1000)}
	for i, k := 0, 0; i < 3; i, k = i+1, k+8 { // three lone directions
		v := g.rows[i*331*8 : i*331*8+8]
		for x := range v {
			v[x] = -0.5
		}
		v[i] = -1
		normalise(v)
	}
	g.tree = Linkage(g.rows, g.d, nil)
	part := g.cut(8, o)
	seen := map[int]int{}
	for _, c := range part {
		seen[c]++
	}
	if len(seen) != 9 || seen[-1] != 3 {
		t.Errorf("classes by size: %v, want 8 and 3 points of none", seen)
	}
	if k := len(slices.Compact(slices.Sorted(slices.Values(g.cut(3, o))))); k < 3 {
		t.Errorf("%d classes of 3", k)
	}
	few := &gathering{d: 8, n: 12, rows: lcgSeparable(12)}
	few.tree = Linkage(few.rows, few.d, nil)
	if most := slices.Max(few.cut(8, o)); most > 1 {
		t.Errorf("12 points make %d classes, want at most 2", most+1)
	}
}

func TestModelIsReadBack(t *testing.T) {
	r := shippedRules(t)
	ws, inv := fleetOf(t, r, 2)
	points := placed(t, ws, inv, r)
	m, err := Fit(features.List(points), r, nil, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back Model
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	a, b := m.Label(points, r, DefaultOptions()), back.Label(points, r, DefaultOptions())
	if !reflect.DeepEqual(a.Diagnoses, b.Diagnoses) {
		t.Error("a model that is written and read labels otherwise")
	}
	for name, change := range map[string][2]string{
		"schema":  {`"schema":1`, `"schema":7`},
		"kind":    {`"kind":"fitted"`, `"kind":"guessed"`},
		"gate":    {`"projection":1.6`, `"projection":0`},
		"class":   {`"id":1`, `"id":2`},
		"normals": {`"reduce":{`, `"reduced":{`},
	} {
		if err := json.Unmarshal([]byte(strings.Replace(string(data), change[0], change[1], 1)), &back); err == nil {
			t.Errorf("%s: a damaged model is read", name)
		}
	}
}

func TestOptionsNameWhatIsWrong(t *testing.T) {
	for name, set := range map[string]func(*Options){
		"k":            func(o *Options) { o.K = 0 },
		"exact":        func(o *Options) { o.Exact = 1 },
		"centres":      func(o *Options) { o.Centres = 3 },
		"fragment":     func(o *Options) { o.Fragment = 1 },
		"distinct":     func(o *Options) { o.Distinct = -1 },
		"excess":       func(o *Options) { o.Excess = -1 },
		"hysteresis":   func(o *Options) { o.Hysteresis = 0 },
		"min_coverage": func(o *Options) { o.MinCoverage = 2 },
	} {
		o := DefaultOptions()
		set(&o)
		if err := o.Validate(); err == nil || !strings.HasPrefix(err.Error(), name+":") {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// Beyond Exact the classes come from representatives, and are the same where
// they can be told.
func TestRepresentativesFindTheClasses(t *testing.T) {
	r := shippedRules(t)
	ws, inv := fleetOf(t, r, 2)
	points := placed(t, ws, inv, r)
	o := DefaultOptions()
	exact, err := Fit(features.List(points), r, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Exact, o.Centres = 50, 40
	fewer, err := Fit(features.List(points), r, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	names := func(m *Model) []string {
		var s []string
		for _, c := range m.Classes {
			s = append(s, c.Pathology)
		}
		slices.Sort(s)
		return s
	}
	if !slices.Equal(names(exact), names(fewer)) {
		t.Errorf("classes by representatives %q, exact %q", names(fewer), names(exact))
	}
}
