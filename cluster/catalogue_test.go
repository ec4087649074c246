package cluster

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reduce"
)

func shippedCatalogue(t *testing.T) Catalogue {
	t.Helper()
	data, err := os.ReadFile("../configs/catalogue.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c Catalogue
	if err := yaml.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func shippedRules(t *testing.T) *Rules {
	t.Helper()
	r, err := Compile(shippedCatalogue(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ruleCase is facts for which an expression holds, and for which it fails.
type ruleCase struct {
	Holds map[string]float64 `yaml:"holds"`
	Fails map[string]float64 `yaml:"fails"`
}

// fixture is the case.yaml of a pathology.
type fixture struct {
	Window struct {
		LatencyMS float64            `yaml:"latency_ms"`
		Features  map[string]float64 `yaml:"features"`
		Context   map[string]float64 `yaml:"context"`
	} `yaml:"window"`
	Cause    string              `yaml:"cause"`
	Requires []ruleCase          `yaml:"requires"`
	Evidence []ruleCase          `yaml:"evidence"`
	Causes   map[string]ruleCase `yaml:"causes"`
}

func readFixture(t *testing.T, slug string) fixture {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", slug, "case.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var f fixture
	if err := yaml.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// windowOf builds the window number at of a device.
func (f fixture) windowOf(t *testing.T, host, device string, at int) features.Window {
	t.Helper()
	w := features.Window{
		Key: features.Key{Host: host, Device: device}, StartNS: int64(at) * 10e9, EndNS: int64(at+1) * 10e9,
		Kind: ingest.KindQ2C, TickNS: 100e6, Requests: 1000, Coverage: 1, Known: 1, CoveredTicks: 100,
	}
	for i := range w.Context {
		w.Context[i] = math.NaN()
	}
	known := 0
	for i, feature := range features.Features {
		if v, ok := f.Window.Features[feature.Name]; ok {
			w.Vector[i] = v
			known++
		}
	}
	for i, fact := range features.ContextTable {
		if v, ok := f.Window.Context[fact.Name]; ok {
			w.Context[i] = v
			known++
		}
	}
	if known != len(f.Window.Features)+len(f.Window.Context) {
		t.Fatalf("%s: the fixture names a feature or fact that is none", device)
	}
	w.Vector[features.LatencyLoadResidual] = math.Log10(f.Window.LatencyMS*1e6/features.LatencyUnitNS) - w.Vector[features.QueueDepthLevel]
	return w
}

// healthyWindow is ordinary work: 0.2 ms at one in flight.
func healthyWindow(device string, at int) features.Window {
	w := features.Window{
		Key: features.Key{Host: "h", Device: device}, StartNS: int64(at) * 10e9, EndNS: int64(at+1) * 10e9,
		Kind: ingest.KindQ2C, TickNS: 100e6, Requests: 1000, Coverage: 1, Known: 1, CoveredTicks: 100,
	}
	for i := range w.Context {
		w.Context[i] = math.NaN()
	}
	w.Vector[features.LatencyKurtosis] = 5.2
	w.Vector[features.ThroughputEntropy] = 0.13
	w.Vector[features.QueueDepthLevel] = 0.04
	w.Vector[features.BusyFraction] = 0.08 + 0.001*float64(at%5)
	w.Vector[features.LatencyLoadResidual] = math.Log10(0.2e6/features.LatencyUnitNS) + 0.01*float64(at%7-3)
	return w
}

// fleetOf gives one device a pathology, each sick for windows 10 to 19, beside
// ten healthy devices.
func fleetOf(t *testing.T, r *Rules, sickDevices int) ([]features.Window, reduce.Inventory) {
	t.Helper()
	var ws []features.Window
	inv := reduce.Inventory{}
	add := func(w features.Window) {
		inv[w.Key] = reduce.Device{Model: "FLASH", Rotational: "0"}
		ws = append(ws, w)
	}
	for d := range 10 {
		for at := range 20 {
			add(healthyWindow("well-"+string(rune('a'+d)), at))
		}
	}
	for _, slug := range r.Slugs() {
		f := readFixture(t, slug)
		for d := range sickDevices {
			device := slug + string(rune('a'+d))
			for at := range 10 {
				add(healthyWindow(device, at))
			}
			for at := 10; at < 20; at++ {
				w := f.windowOf(t, "h", device, at)
				w.Vector[features.BusyFraction] *= 1 - 0.002*float64((at+d)%5)
				w.Vector[features.ThroughputEntropy] += 0.003 * float64((at*3+d)%7)
				add(w)
			}
		}
	}
	return ws, inv
}

func placed(t *testing.T, ws []features.Window, inv reduce.Inventory, r *Rules) []reduce.Point {
	t.Helper()
	points, _, err := Place(ws, inv, r, nil, reduce.DefaultOptions(), DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return points
}

// Each pathology is recovered from its fixture, with its cause, by shipped
// classes and by classes found in the data; the healthy stay healthy.
func TestPathologiesAreRecovered(t *testing.T) {
	r := shippedRules(t)
	for _, devices := range []int{1, 2} {
		ws, inv := fleetOf(t, r, devices)
		points := placed(t, ws, inv, r)
		res, m, err := Diagnose(points, r, &Model{Kind: Shipped}, "", DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		if want := map[int]string{1: Shipped, 2: Fitted}[devices]; res.Model != want || m.Kind != want {
			t.Fatalf("%d devices of each: labelled by %s classes (%s), want %s", devices, res.Model, res.Why, want)
		}
		if devices == 2 && len(res.Classes) != 8 {
			t.Errorf("%d classes, want 8", len(res.Classes))
		}
		for i, d := range res.Diagnoses.Slice() {
			want := ""
			if at := slices.IndexFunc(r.Slugs(), func(s string) bool { return strings.HasPrefix(d.Device, s) }); at >= 0 && ws[i].StartNS >= 100e9 {
				want = r.Slugs()[at]
			}
			if d.Pathology != want {
				t.Errorf("%s at %d s: %s %q (nearest %s, severity %.2f), want %q", d.Device, d.StartNS/1e9, d.Verdict, d.Pathology, d.Nearest, d.Severity, want)
				continue
			}
			if want == "" {
				continue
			}
			if cause := readFixture(t, want).Cause; d.RootCause != cause {
				t.Errorf("%s: cause %q, want %q", want, d.RootCause, cause)
			}
			if devices == 2 && d.ClassID == 0 {
				t.Errorf("%s has no class", want)
			}
			if d.Confidence <= 0 || d.Confidence > 1 || len(d.Evidence) == 0 && len(r.entries[r.index(want)].evidence) > 0 {
				t.Errorf("%s: confidence %v, evidence %q", want, d.Confidence, d.Evidence)
			}
		}
		if len(res.Episodes) != 8*devices {
			t.Errorf("%d episodes, want %d", len(res.Episodes), 8*devices)
		}
	}
}

// judgeFacts evaluates an expression on named facts alone.
func judgeFacts(w *Witness, e *expression, facts map[string]float64) (yes, told bool) {
	for i := range w.r.facts {
		v, ok := facts[w.r.facts[i].Name]
		w.known[i] = ok
		w.env[w.r.facts[i].Name] = v
	}
	return w.holds(e)
}

// Each rule has facts for which it holds and facts for which it fails, and it
// abstains when any one of them is missing.
func TestEachRuleHoldsFailsAbstains(t *testing.T) {
	r := shippedRules(t)
	w := r.Witness()
	check := func(what string, e *expression, c ruleCase) {
		t.Helper()
		if yes, told := judgeFacts(w, e, c.Holds); !yes || !told {
			t.Errorf("%s doesn't hold for %v (told %v)", what, c.Holds, told)
		}
		if yes, told := judgeFacts(w, e, c.Fails); yes || !told {
			t.Errorf("%s doesn't fail for %v (told %v)", what, c.Fails, told)
		}
		for name := range c.Holds {
			rest := map[string]float64{}
			for k, v := range c.Holds {
				if k != name {
					rest[k] = v
				}
			}
			if _, told := judgeFacts(w, e, rest); told {
				t.Errorf("%s doesn't abstain without %s", what, name)
			}
		}
	}
	for i := range r.entries {
		e := &r.entries[i]
		f := readFixture(t, e.Slug)
		if len(f.Requires) != len(e.Requires) || len(e.Requires) == 0 {
			t.Errorf("%s: %d cases of requirements for %d, want as many and one at least", e.Slug, len(f.Requires), len(e.Requires))
			continue
		}
		for _, c := range f.Requires { // a requirement is the veto of its opposite
			f.Evidence = append(f.Evidence, ruleCase{Holds: c.Fails, Fails: c.Holds})
		}
		if len(f.Evidence) != len(e.evidence) || len(f.Causes) != len(e.causes) {
			t.Errorf("%s: %d cases of evidence for %d rules, %d of causes for %d", e.Slug, len(f.Evidence), len(e.evidence), len(f.Causes), len(e.causes))
			continue
		}
		if len(e.causes) < 3 {
			t.Errorf("%s has %d causes to tell apart, want 3", e.Slug, len(e.causes))
		}
		for j := range e.evidence {
			check(e.Slug+": "+e.Evidence[j].When, &e.evidence[j], f.Evidence[j])
		}
		for j := range e.causes {
			c, ok := f.Causes[e.Causes[j].ID]
			if !ok {
				t.Errorf("%s: no case of cause %s", e.Slug, e.Causes[j].ID)
				continue
			}
			check(e.Slug+": cause "+e.Causes[j].ID, &e.causes[j], c)
		}
	}
}

func causeOf(p *Pathology, id string) *RootCause {
	return &p.Causes[slices.IndexFunc(p.Causes, func(c RootCause) bool { return c.ID == id })]
}

func TestCompileNamesTheFault(t *testing.T) {
	for want, break_ := range map[string]func(*Pathology){
		"queue-saturation: requirement 1: n":                func(p *Pathology) { p.Requires[0].When = "" },
		"queue-saturation: requirement 1: no expression or": func(p *Pathology) { p.Requires[0].Says = "" },
		"queue-saturation: evidence 1":                      func(p *Pathology) { p.Evidence[0].When = "mean_deepth > 3" },
		"queue-saturation: evidence 2":                      func(p *Pathology) { p.Evidence[1].When = "mean_depth + 1" },
		`queue-saturation: cause "slow-arra`:                func(p *Pathology) { causeOf(p, "slow-array").When = "(((" },
		"queue-saturation: evidence 3: says":                func(p *Pathology) { p.Evidence[2].Says = "" },
		`signature: "queue_dept"`:                           func(p *Pathology) { p.Signature = map[string]float64{"queue_dept": 1} },
		"signature: no direction":                           func(p *Pathology) { p.Signature = nil },
		"stands twice":                                      func(p *Pathology) { p.Slug = "burst-congestion" },
		`cause "too-many-jobs": no expres`:                  func(p *Pathology) { causeOf(p, "too-many-jobs").When = "" },
	} {
		c := shippedCatalogue(t)
		break_(&c.Pathologies[0])
		if _, err := Compile(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	if _, err := Compile(Catalogue{}); err == nil {
		t.Error("an empty catalogue compiles")
	}
}

// A window that goes the way of a pathology all along can't have it when one
// of its requirements is known to be unmet, though its class and all its
// neighbours have it; when the facts are missing, it can.
func TestWhatIsImpossibleIsNotSaid(t *testing.T) {
	r, o := shippedRules(t), DefaultOptions()
	check := func(slug string, unmeet func(w *features.Window), want bool) {
		t.Helper()
		ws, inv := fleetOf(t, r, 1)
		at := -1
		for i := range ws {
			if ws[i].Device == slug+"a" && ws[i].StartNS == 150e9 {
				at = i
				unmeet(&ws[i])
			}
		}
		if at < 0 {
			t.Fatalf("no window of %s", slug)
		}
		points, _, err := Place(ws, inv, r, nil, reduce.DefaultOptions(), o)
		if err != nil {
			t.Fatal(err)
		}
		model, err := Fit(features.List(points), r, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		alone := o
		alone.Alone = true
		if got := model.Label(points, r, alone).Diagnoses.At(at).Pathology == slug; got != want {
			t.Errorf("%s: said %v, want %v: %+v", slug, got, want, model.Label(points, r, alone).Diagnoses.At(at))
		}
	}
	reread := func(v float64) func(w *features.Window) {
		return func(w *features.Window) { w.Context[features.CtxReread] = v }
	}
	gap := func(v float64) func(w *features.Window) {
		return func(w *features.Window) { w.Context[features.CtxStallSeconds] = v }
	}
	check("cache-thrash", reread(0.9), true)
	check("cache-thrash", reread(math.NaN()), true)
	check("cache-thrash", reread(0.001), false)
	check("sudden-stall", gap(2), true)
	check("sudden-stall", gap(0.01), false)
	check("metadata-storm", func(w *features.Window) { w.Context[features.CtxIOPS] = 3 }, false)
}
