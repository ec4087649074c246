package reports

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
)

// incidentView is what the page says of one device of an incident.
type incidentView struct {
	Anchor, Device, Summary string
	Colour                  template.CSS
	Course                  template.HTML
	Compare                 []compareRow
	OwnText, PeerText       string
	Ladder                  []ladderRow
	Attributed              []string // where the time of each phase goes
	Culprits                []culpritTable
	For, Against, Unknown   []causeLine
	Outside                 []causeLine // what speaks against storage itself
	Evidence                []string
	Next                    []string
	Twins                   []twinView
	Slow                    []slowRow
	HasRaw                  bool
	Nearest, Flip           string
	Notes                   []string
}

type compareRow struct{ Name, Before, During, After, Own, Peers string }

type ladderRow struct {
	Phase, Stage, N, Mean, Dev, P50, P99, Clock string
	Width                                       string // of the mean, percent of the longest
}

type culpritTable struct {
	By   string
	Rows []culpritRow
}

type culpritRow struct {
	Name, Requests, Before, During, Bytes, Queue, Flushes, Delay string
	Width                                                        string
}

type causeLine struct{ Name, Says, Facts string }

type slowRow struct{ Ended, Latency, Queue, Op, Offset, Size, Who, Line, Raw string }

func (v *incidentView) compare(d *IncidentDevice) {
	phase := func(get func(*features.PhaseFigures) string) (b, du, a string) {
		return get(&d.Phases[0]), get(&d.Phases[1]), get(&d.Phases[2])
	}
	add := func(name string, get func(*features.PhaseFigures) string, own, peers string) {
		b, du, a := phase(get)
		v.Compare = append(v.Compare, compareRow{name, b, du, a, own, peers})
	}
	per := func(n int64, p *features.PhaseFigures) float64 {
		return float64(n) / math.Max(float64(p.ToNS-p.FromNS)/1e9, 1e-9)
	}
	ms := func(ns float64) string {
		if math.IsNaN(ns) {
			return "–"
		}
		return three(ns/1e6) + " ms"
	}
	b := func(base *Baseline, s string) string {
		if base.Windows == 0 {
			return "–"
		}
		return s
	}
	add("requests per second", func(p *features.PhaseFigures) string { return three(per(p.Requests, p)) }, b(&d.Own, three(d.Own.IOPS)), b(&d.Peers, three(d.Peers.IOPS)))
	add("read", func(p *features.PhaseFigures) string { return volume(per(p.ReadBytes, p)) + "/s" }, "–", "–")
	add("written", func(p *features.PhaseFigures) string { return volume(per(p.WriteBytes, p)) + "/s" }, "–", "–")
	add("read and written", func(p *features.PhaseFigures) string { return volume(per(p.ReadBytes+p.WriteBytes, p)) + "/s" }, b(&d.Own, volume(d.Own.BytesPerS)+"/s"), b(&d.Peers, volume(d.Peers.BytesPerS)+"/s"))
	add("latency, median", func(p *features.PhaseFigures) string { return ms(p.P50NS) }, b(&d.Own, three(d.Own.P50MS)+" ms"), b(&d.Peers, three(d.Peers.P50MS)+" ms"))
	add("latency, 99th percentile", func(p *features.PhaseFigures) string { return ms(p.P99NS) }, b(&d.Own, three(d.Own.P99MS)+" ms"), b(&d.Peers, three(d.Peers.P99MS)+" ms"))
	add("latency, largest", func(p *features.PhaseFigures) string { return ms(p.MaxNS) }, "–", "–")
	add("in flight, mean over the phase", func(p *features.PhaseFigures) string { return three(p.MeanDepth) }, "–", "–")
	add("flushes", func(p *features.PhaseFigures) string { return count(p.Flushes) }, "–", "–")
	add("failed", func(p *features.PhaseFigures) string { return count(p.Errors) }, "–", "–")
	v.OwnText = fmt.Sprintf("own: medians of %s of the device outside the incident", plural(d.Own.Windows, "healthy window"))
	v.PeerText = fmt.Sprintf("peers: medians of %s of other devices (%s) during the incident", plural(d.Peers.Windows, "window"), label(d.Group))
}

// attribute says where the time of a phase goes; pressure is what is known of
// the incident itself.
func (d *IncidentDevice) attribute(p features.Phase, pressure string) (analysis.Attribution, bool) {
	l := analysis.Ladder{Ladder: *d.Phases[p].Stages()}
	if p != features.During {
		pressure = ""
	}
	return l.Attribute(pressure)
}

// ladder lists the stages of the phases; pressure is what is known of the
// incident itself.
func (v *incidentView) ladder(d *IncidentDevice, pressure string) {
	longest := 0.0
	for p := range d.Phases {
		if a, ok := d.attribute(features.Phase(p), pressure); ok {
			v.Attributed = append(v.Attributed, upper(features.Phase(p).String())+": "+a.Says)
		}
	}
	for p := range d.Phases {
		for _, s := range d.Phases[p].Ladder {
			longest = max(longest, s.MeanNS)
		}
	}
	for p := range d.Phases {
		for _, s := range d.Phases[p].Ladder {
			v.Ladder = append(v.Ladder, ladderRow{features.Phase(p).String(), s.Name, count(s.N), three(s.MeanNS / 1e6), three(s.DevNS / 1e6), three(s.P50NS / 1e6), three(s.P99NS / 1e6), clockError(&s), pct(s.MeanNS / longest)})
		}
	}
}

// culpritsShown is how many actors of a kind a table has.
const culpritsShown = 8

func (v *incidentView) culprits(d *IncidentDevice) {
	for _, by := range []string{"comm", "cgroup", "file"} {
		actors := d.Actors[by]
		if len(actors) == 0 {
			continue
		}
		var bytes, before [2]int64 // bytes, queue time
		flushes, delay := int64(0), 0.0
		for i := range actors {
			du, be := &actors[i].Phase[features.During], &actors[i].Phase[features.Before]
			bytes[0] += du.Bytes
			bytes[1] += du.QueueNS
			before[0] += be.Bytes
			flushes += du.Flushes
			delay += du.DelayNS
		}
		t := culpritTable{By: by}
		share := func(a, b float64) string {
			if b == 0 {
				return "–"
			}
			return percent(a / b)
		}
		for i := range actors[:min(len(actors), culpritsShown)] {
			a := &actors[i]
			du, be := &a.Phase[features.During], &a.Phase[features.Before]
			name := label(a.Name)
			if a.Name == "" {
				name = "all others"
			}
			t.Rows = append(t.Rows, culpritRow{
				Name: name, Requests: count(du.Requests),
				Before: share(float64(be.Bytes), float64(before[0])), During: share(float64(du.Bytes), float64(bytes[0])), Bytes: volume(float64(du.Bytes)),
				Queue: share(float64(du.QueueNS), float64(bytes[1])), Flushes: share(float64(du.Flushes), float64(flushes)),
				Delay: span(du.DelayNS / 1e9), Width: pct(du.DelayNS / max(delay, 1)),
			})
		}
		v.Culprits = append(v.Culprits, t)
	}
}

func (v *incidentView) causes(pm *Postmortem, d *IncidentDevice, r *cluster.Diagnosis) {
	in := &Input{Catalogue: pm.Catalogue}
	slug := r.Pathology
	if slug == "" || slug == cluster.Unrecognised {
		slug = r.Nearest
	}
	for i := range d.Why.Entries {
		l := &d.Why.Entries[i]
		if l.Pathology != slug {
			continue
		}
		for k := range l.Causes {
			h := &l.Causes[k]
			line := causeLine{sentence(h.Says), h.When, heardFacts(h)}
			switch {
			case !h.Told:
				v.Unknown = append(v.Unknown, line)
			case h.Holds:
				v.For = append(v.For, line)
			default:
				v.Against = append(v.Against, line)
			}
		}
	}
	if p := in.pathology(slug); p != nil {
		for _, c := range p.Causes {
			if c.ID == r.RootCause && c.Advice != "" {
				v.Next = append(v.Next, sentence(c.Advice))
			}
		}
		for _, a := range p.Advice {
			if !slices.Contains(v.Next, sentence(a)) {
				v.Next = append(v.Next, sentence(a))
			}
		}
	}
	if len(d.Why.Flips) > 0 {
		fl := d.Why.Flips[0]
		v.Flip = fmt.Sprintf("%s from %s to %s would make it %s", fl.Feature, three(fl.From), three(fl.To), fl.Becomes)
	}
	if r.Nearest != "" && r.Nearest != r.Pathology {
		v.Nearest = r.Nearest
	}
}

// heardFacts lists what an expression was held against.
func heardFacts(h *cluster.Heard) string {
	s := ""
	for i, g := range h.Facts {
		if i > 0 {
			s += ", "
		}
		if g.Value == nil {
			s += g.Name + " unknown"
		} else {
			s += g.Name + " " + three(*g.Value)
		}
	}
	return s
}

func slowView(f *facts, s *SlowLine) slowRow {
	e := &s.Event
	r := slowRow{Ended: f.time.at(e.TimeNS), Latency: three(float64(e.LatencyNS)/1e6) + " ms", Queue: "–", Op: e.Op.String(), Offset: "–", Size: "–",
		Line: fmt.Sprintf("%s, byte %d", label(s.Source), e.Position), Raw: sentence(s.Raw)}
	if fl := e.Flags.String(); fl != "" {
		r.Op += " " + fl
	}
	if e.QueueNS >= 0 {
		r.Queue = three(float64(e.QueueNS)/1e6) + " ms"
	}
	if e.OffsetBytes >= 0 {
		r.Offset = count(e.OffsetBytes)
	}
	if e.SizeBytes >= 0 {
		r.Size = volume(float64(e.SizeBytes))
	}
	for _, who := range []string{s.Comm, s.Cgroup, s.File} {
		if who != "" {
			r.Who += label(who) + " "
		}
	}
	return r
}
