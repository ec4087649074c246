package cluster_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// setting is all that was chosen by hand, or learnt from labels.
type setting struct {
	catalogue cluster.Catalogue
	model     *cluster.Model
	reduce    reduce.Options
	cluster   cluster.Options
}

// turn is a change of one number of a setting.
type turn struct {
	what  string
	kind  string
	apply func(s *setting)
}

// figures of a set of recordings under a setting.
type figures struct{ f1, alarm, ari float64 }

// What the figures owe to any one number: every threshold and weight of the
// catalogue, every component of a signature, every gate, healthy centre and
// scale, and every option is moved by a fifth, one at a time, down and up.
// IOPATHY_SENSITIVITY lists directories of recordings (labels.csv,
// inventory.csv, runs), separated by colons; .ci/sensitivity calls it.
func TestSensitivity(t *testing.T) {
	dirs := filepath.SplitList(os.Getenv("IOPATHY_SENSITIVITY"))
	if len(dirs) == 0 {
		t.Skip("IOPATHY_SENSITIVITY names no recordings; it takes minutes")
	}
	only := regexp.MustCompile(os.Getenv("IOPATHY_SENSITIVITY_ONLY")) // of the turns, by name
	var sets []recording
	for _, d := range dirs {
		sets = append(sets, foldRecording(t, d))
	}
	base := shippedSetting(t)
	measure := func(s *setting) []figures {
		out := make([]figures, len(sets))
		r, err := cluster.Compile(s.catalogue)
		if err != nil {
			t.Fatal(err)
		}
		for i := range sets {
			out[i] = figuresOf(t, &sets[i], r, s)
		}
		return out
	}
	still := measure(base)
	type moved struct {
		turn
		all  []figures
		cost float64 // the largest loss of macroF1 on any set
	}
	var all []moved
	for _, x := range turnsOf(base) {
		if !only.MatchString(x.what) {
			continue
		}
		s := shippedSetting(t)
		x.apply(s)
		m := moved{turn: x, all: measure(s)}
		for i := range sets {
			m.cost = max(m.cost, still[i].f1-m.all[i].f1, m.all[i].alarm-still[i].alarm)
		}
		all = append(all, m)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n| moved by 20 %% | turns |")
	for _, d := range dirs {
		fmt.Fprintf(&b, " %s: macroF1 | falseAlarm | ari |", filepath.Base(d))
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|---|---|", len(dirs)) + "\n")
	row := func(what string, of []moved) {
		fmt.Fprintf(&b, "| %s | %d |", what, len(of))
		for i := range sets {
			low, high := still[i], still[i]
			for _, m := range of {
				f := m.all[i]
				low = figures{min(low.f1, f.f1), min(low.alarm, f.alarm), min(low.ari, f.ari)}
				high = figures{max(high.f1, f.f1), max(high.alarm, f.alarm), max(high.ari, f.ari)}
			}
			fmt.Fprintf(&b, " %s | %s | %s |", span(low.f1, high.f1), span(low.alarm, high.alarm), span(low.ari, high.ari))
		}
		b.WriteByte('\n')
	}
	row("nothing", nil)
	kinds := map[string][]moved{}
	for _, m := range all {
		kinds[m.kind] = append(kinds[m.kind], m)
	}
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		row(k, kinds[k])
	}
	row("any", all)
	slices.SortStableFunc(all, func(a, b moved) int { return int(math.Copysign(1, b.cost-a.cost)) })
	b.WriteString("\nThe dearest:\n\n")
	for _, m := range all[:min(40, len(all))] {
		fmt.Fprintf(&b, "%.3f %s:", m.cost, m.what)
		for i := range sets {
			fmt.Fprintf(&b, " %.3f/%.3f/%.3f", m.all[i].f1, m.all[i].alarm, m.all[i].ari)
		}
		b.WriteByte('\n')
	}
	t.Log(b.String())
}

func span(low, high float64) string {
	if low == high {
		return fmt.Sprintf("%.3f", low)
	}
	return fmt.Sprintf("%.3f to %.3f", low, high)
}

func shippedSetting(t *testing.T) *setting {
	t.Helper()
	data, err := os.ReadFile("../configs/catalogue.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := &setting{model: shippedModel(t), reduce: reduce.DefaultOptions(), cluster: cluster.DefaultOptions()}
	if err := yaml.Unmarshal(data, &s.catalogue); err != nil {
		t.Fatal(err)
	}
	return s
}

func figuresOf(t *testing.T, rec *recording, r *cluster.Rules, s *setting) (f figures) {
	t.Helper()
	points, _, err := cluster.Place(rec.windows, rec.inv, r, s.model, s.reduce, s.cluster)
	if err != nil {
		t.Fatal(err)
	}
	res, _, err := cluster.Diagnose(points, r, s.model, "", s.cluster)
	if err != nil {
		t.Fatal(err)
	}
	d := res.Diagnoses.Slice()
	f.f1, f.alarm = score(d, rec.truth)
	slugs := append([]string{"", "healthy"}, r.Slugs()...)
	var is, of []int
	for i, truth := range rec.truth {
		if at := slices.Index(slugs, truth); at > 1 {
			class := d[i].ClassID
			if class == 0 {
				class = -1 - i // a window without a class is one of its own
			}
			is, of = append(is, at), append(of, class)
		}
	}
	f.ari = cluster.AdjustedRand(renumbered(is), renumbered(of))
	return f
}

// renumbered gives equal numbers from 0 on to what is equal.
func renumbered(x []int) []int {
	to, out := map[int]int{}, make([]int, len(x))
	for i, v := range x {
		if _, ok := to[v]; !ok {
			to[v] = len(to)
		}
		out[i] = to[v]
	}
	return out
}

// number is a decimal in an expression that is no part of a name or of a string.
var number = regexp.MustCompile(`"[^"]*"|[A-Za-z_][A-Za-z_0-9]*|[0-9]+(?:\.[0-9]+)?`)

// turnsOf lists the changes of each number by a fifth.
func turnsOf(s *setting) []turn {
	var out []turn
	both := func(kind, what string, set func(s *setting, by float64)) {
		for _, by := range []float64{0.8, 1.2} {
			out = append(out, turn{fmt.Sprintf("%s x %.1f", what, by), kind, func(s *setting) { set(s, by) }})
		}
	}
	numbers := func(what, when string, at func(s *setting) *string) {
		for n, place := range number.FindAllStringIndex(when, -1) {
			from, to := place[0], place[1]
			x, err := strconv.ParseFloat(when[from:to], 64)
			if err != nil || x == 0 {
				continue
			}
			both("thresholds of the catalogue", fmt.Sprintf("%s, part %d (%s) of %s", what, n+1, when[from:to], when), func(s *setting, by float64) {
				*at(s) = when[:from] + strconv.FormatFloat(x*by, 'g', 6, 64) + when[to:]
			})
		}
	}
	for i := range s.catalogue.Pathologies {
		p := &s.catalogue.Pathologies[i]
		for k := range p.Requires {
			if !p.Requires[k].Known {
				numbers(p.Slug+" requires", p.Requires[k].When, func(s *setting) *string { return &s.catalogue.Pathologies[i].Requires[k].When })
			}
		}
		for k := range p.Evidence {
			numbers(p.Slug+" evidence", p.Evidence[k].When, func(s *setting) *string { return &s.catalogue.Pathologies[i].Evidence[k].When })
			both("weights of the catalogue", fmt.Sprintf("%s weight %v of %s", p.Slug, p.Evidence[k].Weight, p.Evidence[k].When), func(s *setting, by float64) {
				s.catalogue.Pathologies[i].Evidence[k].Weight *= by
			})
		}
		for _, axis := range slices.Sorted(maps.Keys(p.Signature)) {
			both("components of signatures", p.Slug+" signature "+axis, func(s *setting, by float64) {
				s.catalogue.Pathologies[i].Signature[axis] *= by
			})
		}
	}
	for i := range s.model.Gates {
		both("gates", "gate of "+s.model.Gates[i].Pathology, func(s *setting, by float64) { s.model.Gates[i].Projection *= by })
	}
	for i, f := range features.Features {
		both("healthy scales and centres", "scale of "+f.Name, func(s *setting, by float64) { s.model.Reduce.Scale[i] *= by })
		both("healthy scales and centres", "centre of "+f.Name, func(s *setting, by float64) {
			s.model.Reduce.Centre[i] += (by - 1) * s.model.Reduce.Scale[i]
		})
	}
	for _, o := range []struct {
		name string
		at   func(s *setting) *float64
	}{
		{"min_score", func(s *setting) *float64 { return &s.cluster.MinScore }},
		{"override", func(s *setting) *float64 { return &s.cluster.Override }},
		{"vote", func(s *setting) *float64 { return &s.cluster.Vote }},
		{"excess", func(s *setting) *float64 { return &s.cluster.Excess }},
		{"hysteresis", func(s *setting) *float64 { return &s.cluster.Hysteresis }},
		{"distinct", func(s *setting) *float64 { return &s.cluster.Distinct }},
		{"fragment", func(s *setting) *float64 { return &s.cluster.Fragment }},
		{"quantile", func(s *setting) *float64 { return &s.reduce.Quantile }},
		{"shrink", func(s *setting) *float64 { return &s.reduce.Shrink }},
		{"clip", func(s *setting) *float64 { return &s.reduce.Clip }},
	} {
		both("options", o.name, func(s *setting, by float64) { *o.at(s) *= by })
	}
	return out
}
