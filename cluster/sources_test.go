package cluster

import (
	"math"
	"os"
	"regexp"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/iopathy/iopathy/features"
)

// sources is which facts come from which kind of log, by their names. What the
// course of requests in time tells is of every source with I/O.
var sources = map[string]*regexp.Regexp{
	"kernel log":            regexp.MustCompile(`^seen\("kernel_`),
	"SMART":                 regexp.MustCompile(`"(nvme|smart)_`),
	"memory counters":       regexp.MustCompile(`"(pswp|pgmajfault|nr_dirty|nr_writeback|swap_(in|out))`),
	"cgroup files":          regexp.MustCompile(`"cgroup_`),
	"CPU counters":          regexp.MustCompile(`"cpu_`),
	"GPU counters":          regexp.MustCompile(`"gpu_`),
	"pressure":              regexp.MustCompile(`"psi_`),
	"limits":                regexp.MustCompile(`^(link_share|link_downgrade|bytes_limit_share|iops_limit_share|queue_limit_share)$`),
	"stages":                regexp.MustCompile(`^queue_share$`),
	"commands":              regexp.MustCompile(`^(comms|top_comm_share)$`),
	"offsets":               regexp.MustCompile(`^(sequential_share|moved_share|misaligned_share|slow_region|reread.*|read_footprint_bytes)$`),
	"flags":                 regexp.MustCompile(`^(sync_share|write_sync_share|meta_share|meta_read_share|fua_share|readahead_share)$`),
	"stated depth":          regexp.MustCompile(`^depth_over_little$`),
	"sizes":                 regexp.MustCompile(`^(bytes_per_s|.*size.*_bytes|small_write_share|write_bytes_share|write_peak_.*|flood_share|rate_share|ceiling.*|throughput_(plateau|entropy|cv|trend|on_depth)|write_flood)$`),
	"latency, and so depth": regexp.MustCompile(`^(.*latency.*|.*_over_normal|expected_ms|.*outlier_share|slow_share|tail_ratio|service_ms|stall_.*|(mean|peak)_depth|peak_over_mean_depth|depth_(cv|trend)|busy_fraction|idle_fraction|queue_.*|burst_queueing|full_seconds)$`),
	"operations":            regexp.MustCompile(`^(read_share|write_share|flush_share|discard_share|sync_metadata_share)$`),
	"course":                regexp.MustCompile(`^(iops|requests|arrival_.*|active_share|completion_.*|burst_(requests|size|share)|period_s|caller_side|remote)$`),
}

// Every fact that a cause or a note uses is of a source that is listed, so that a
// new kind of evidence can't stay outside of the tests below.
func TestEverySourceIsListed(t *testing.T) {
	for _, f := range shippedRules(t).facts {
		n := 0
		for _, of := range sources {
			if of.MatchString(f.Name) {
				n++
			}
		}
		if n == 0 {
			t.Errorf("%s is of no source", f.Name)
		}
	}
}

// leans reports whether an expression uses a fact of a source.
func leans(r *Rules, e *expression, source string) bool {
	return slices.ContainsFunc(e.needs, func(i int) bool { return sources[source].MatchString(r.facts[i].Name) })
}

// without leaves the facts that aren't of a source.
func without(facts map[string]float64, source string) map[string]float64 {
	rest := map[string]float64{}
	for k, v := range facts {
		if !sources[source].MatchString(k) {
			rest[k] = v
		}
	}
	return rest
}

// A source that is absent takes each cause and note that leans on it along,
// though all else is as where it holds.
func TestCausesAbstainWithoutTheirSource(t *testing.T) {
	r := shippedRules(t)
	w := r.Witness()
	notes, outside := readCases(t, "notes"), readCases(t, "outside")
	for source := range sources {
		tried := 0
		check := func(what string, e *expression, facts map[string]float64) {
			t.Helper()
			if !leans(r, e, source) {
				return
			}
			tried++
			if yes, told := judgeFacts(w, e, without(facts, source)); yes || told {
				t.Errorf("%s is judged (holds %v) without %s", what, yes, source)
			}
		}
		for i := range r.entries {
			e := &r.entries[i]
			f := readFixture(t, e.Slug)
			for j := range e.causes {
				check(e.Slug+": "+e.Causes[j].ID, &e.causes[j], f.Causes[e.Causes[j].ID].Holds)
			}
		}
		for i := range r.remarks {
			check("note "+r.remarks[i].ID, &r.remarks[i].expression, notes[r.remarks[i].ID].Holds)
		}
		for i := range r.outsiders {
			check("outside "+r.outsiders[i].ID, &r.outsiders[i].expression, outside[r.outsiders[i].ID].Holds)
		}
		if tried == 0 {
			t.Errorf("no cause and no note leans on %s", source)
		}
	}
}

func readCases(t *testing.T, name string) map[string]ruleCase {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]ruleCase{}
	if err := yaml.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// Each note, and each entry of what is outside of storage, holds for some facts,
// fails for others, and abstains without any one of them.
func TestEachNoteHoldsFailsAbstains(t *testing.T) {
	r := shippedRules(t)
	w := r.Witness()
	check := func(name string, n int, each func(i int) (id string, e *expression)) {
		t.Helper()
		cases := readCases(t, name)
		if len(cases) != n || n == 0 {
			t.Errorf("%s: %d cases for %d", name, len(cases), n)
		}
		for i := range n {
			id, e := each(i)
			c, ok := cases[id]
			if !ok {
				t.Errorf("%s: no case of %s", name, id)
				continue
			}
			if yes, told := judgeFacts(w, e, c.Holds); !yes || !told {
				t.Errorf("%s: %s doesn't hold for %v", name, id, c.Holds)
			}
			if yes, told := judgeFacts(w, e, c.Fails); yes || !told {
				t.Errorf("%s: %s doesn't fail for %v", name, id, c.Fails)
			}
			for fact := range c.Holds {
				if _, told := judgeFacts(w, e, lacking(c.Holds, fact)); told {
					t.Errorf("%s: %s doesn't abstain without %s", name, id, fact)
				}
			}
		}
	}
	check("notes", len(r.remarks), func(i int) (string, *expression) { return r.remarks[i].ID, &r.remarks[i].expression })
	check("outside", len(r.outsiders), func(i int) (string, *expression) { return r.outsiders[i].ID, &r.outsiders[i].expression })
}

// lacking is facts without one of them.
func lacking(facts map[string]float64, name string) map[string]float64 {
	rest := map[string]float64{}
	for k, v := range facts {
		if k != name {
			rest[k] = v
		}
	}
	return rest
}

// strip takes from a window what a source tells.
func strip(w *features.Window, source string, asked []features.Query, nan float64) {
	of := sources[source]
	for i, f := range features.Features {
		if of.MatchString(f.Name) {
			w.Vector[i] = f.Neutral
			w.Missing |= 1 << i
		}
	}
	for i, f := range features.ContextTable {
		if of.MatchString(f.Name) {
			w.Context[i] = nan
		}
	}
	w.Evidence = slices.DeleteFunc(slices.Clone(w.Evidence), func(x features.Reading) bool { return of.MatchString(asked[x.Query].String()) })
}

// A fleet of which a source tells nothing gets no cause that leans on it, no
// device another pathology than the one that it has, and none that is well any.
func TestNoSourceNoClass(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it works side by side: not for the race detector")
	}
	r := shippedRules(t)
	nan := math.NaN()
	for source := range sources {
		ws, inv := fleetOf(t, r, 2)
		for i := range ws {
			strip(&ws[i], source, r.Asked(), nan)
		}
		for _, kind := range []string{Shipped, Fitted} {
			res, _, err := Diagnose(placed(t, ws, inv, r), r, &Model{Kind: Shipped}, kind, DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			for i := range res.Diagnoses.Slice() {
				d := res.Diagnoses.At(i)
				want := ""
				for _, s := range r.Slugs() {
					if ws[i].StartNS >= 100e9 && len(d.Device) > len(s) && d.Device[:len(s)] == s {
						want = s
					}
				}
				if d.Pathology != "" && d.Pathology != Unrecognised && d.Pathology != want {
					t.Errorf("without %s, %s classes: %s at %d s is %s, want %q or nothing", source, kind, d.Device, d.StartNS/1e9, d.Pathology, want)
				}
				if d.RootCause == "" || r.index(d.Pathology) < 0 {
					continue
				}
				e := &r.entries[r.index(d.Pathology)]
				k := slices.IndexFunc(e.Causes, func(c RootCause) bool { return c.ID == d.RootCause })
				if k < 0 || leans(r, &e.causes[k], source) {
					t.Errorf("without %s: %s is said to have %s", source, d.Device, d.RootCause)
				}
			}
		}
	}
}
