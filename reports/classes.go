package reports

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
)

// classView is the card of one class.
type classView struct {
	ID                        int
	Name, Slug, Symptom       string
	Colour                    template.CSS
	Windows, Devices, Share   string
	Match, Purity, Silhouette string
	Nearest                   string
	Deciding                  []decidingView
	Causes                    []causeView
	Stages                    *stagesView
	Abstain                   bool
	Empty                     bool // no window of these data is in it
	Advice                    []string
	Worst                     []linkView
}

type decidingView struct {
	Name, Doc, Weight, X string
	Negative             bool
}

type linkView struct{ Anchor, Text string }

// conserveView is the sum that shows that nothing was lost.
type conserveView struct {
	Windows, Healthy, Idle, Artefact, Sick string
	ByClass                                string
	ByPathology                            []fact
}

// classes makes a card a class, the largest first; what no window is in is
// folded up, once a pathology.
func (f *facts) classes(p *pageView) {
	in := f.in
	order := slices.Clone(in.Result.Classes)
	slices.SortStableFunc(order, func(a, b cluster.Class) int {
		return cmp.Or(cmp.Compare(f.byClass[b.ID], f.byClass[a.ID]), cmp.Compare(a.ID, b.ID))
	})
	sick := f.verdicts[cluster.Sick] + f.apps.Sick // classes are of all windows
	sum := ""
	shown := map[string]bool{}
	for _, c := range order {
		switch n := f.byClass[c.ID]; {
		case n > 0:
			p.Classes = append(p.Classes, f.class(c, sick))
			sum += count(int64(n)) + " + "
		case !shown[c.Pathology]: // models of several kinds have one each
			p.Empty = append(p.Empty, f.class(c, sick))
		}
		shown[c.Pathology] = true
	}
	seen := map[string]bool{}
	for _, slug := range f.slugs() {
		seen[slug] = true
		p.Conserve.ByPathology = append(p.Conserve.ByPathology, fact{Name: f.pathologyName(slug), Value: count(int64(f.byPathology[slug]))})
	}
	for _, c := range order {
		seen[c.Pathology] = true
	}
	for i := range in.Catalogue.Pathologies {
		if e := &in.Catalogue.Pathologies[i]; !seen[e.Slug] {
			p.NotSeen = append(p.NotSeen, sentence(e.Name))
		}
	}
	n := func(v cluster.Verdict) string { return count(int64(f.verdicts[v] + f.appVerdicts[v])) }
	p.Conserve.Windows = count(int64(in.Windows.Len()))
	p.Conserve.Healthy, p.Conserve.Idle, p.Conserve.Artefact, p.Conserve.Sick = n(cluster.Healthy), n(cluster.Idle), n(cluster.Artefact), n(cluster.Sick)
	p.Conserve.ByClass = sum + count(int64(f.byClass[0])) + " outside the classes = " + n(cluster.Sick)
}

// slugs lists the pathologies of sick windows in the catalogue's order, then
// by name.
func (f *facts) slugs() []string {
	var out []string
	for i := range f.in.Catalogue.Pathologies {
		if s := f.in.Catalogue.Pathologies[i].Slug; f.byPathology[s] > 0 {
			out = append(out, s)
		}
	}
	var rest []string
	for s := range f.byPathology {
		if !slices.Contains(out, s) {
			rest = append(rest, s)
		}
	}
	slices.Sort(rest)
	return append(out, rest...)
}

func (f *facts) class(c cluster.Class, sick int) classView {
	v := classView{
		ID: c.ID, Name: f.pathologyName(c.Pathology), Slug: label(c.Pathology), Colour: f.css(c.Pathology),
		Windows: plural(f.byClass[c.ID], "window"), Devices: plural(len(f.classDevices[c.ID]), "device"),
		Share: percent(float64(f.byClass[c.ID]) / float64(max(sick, 1))), Match: three(c.Score),
		Purity: percent(c.Purity), Silhouette: three(c.Silhouette),
		Causes: causeViews(c.Causes), Stages: stagesOf(f.stages[c.ID], "", analysis.PressureOf(c.Pathology, c.Causes)),
	}
	v.Abstain = len(v.Causes) == 0
	v.Empty = f.byClass[c.ID] == 0
	if c.Pathology == cluster.Unrecognised {
		v.Symptom = "These windows are alike and far from healthy, but no entry of the catalogue fits them well enough."
		v.Nearest = f.pathologyName(c.Nearest)
	} else if e := f.in.pathology(c.Pathology); e != nil {
		v.Symptom = sentence(e.Symptom)
		for _, a := range e.Advice {
			v.Advice = append(v.Advice, sentence(a))
		}
	}
	top := 0.0
	for _, k := range c.Deciding {
		if k >= 0 && k < features.N {
			top = max(top, abs(c.Prototype[k]))
		}
	}
	for _, k := range c.Deciding[:min(4, len(c.Deciding))] {
		if k < 0 || k >= features.N || top == 0 {
			continue
		}
		z := c.Prototype[k]
		v.Deciding = append(v.Deciding, decidingView{
			Name: features.Features[k].Name, Doc: features.Features[k].Doc,
			Weight: signed(z), X: pct(abs(z) / top), Negative: z < 0,
		})
	}
	for _, d := range f.devices {
		if f.classDevices[c.ID][d.Key] && len(v.Worst) < 5 {
			v.Worst = append(v.Worst, linkView{f.anchor(d), deviceLabel(d.Key)})
		}
	}
	return v
}

func abs(v float64) float64 {
	if v < 0 {
		return -v
	}
	return v
}

// signed writes a number with its sign.
func signed(v float64) string {
	if v != v {
		return "–"
	}
	return fmt.Sprintf("%+.2f", v)
}
