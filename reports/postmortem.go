package reports

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
)

// Postmortem is everything that an incident page is made of.
type Postmortem struct {
	Title        string
	Version      string
	FromNS, ToNS int64 // of the incident
	MarginNS     int64 // before and after it
	Windows      features.Rows[features.Window]
	Diagnoses    features.Rows[cluster.Diagnosis] // one a window
	Episodes     []cluster.Episode                // that touch the incident, worst first
	Catalogue    cluster.Catalogue
	Model        string
	Devices      []IncidentDevice
	Elsewhere    []Elsewhere // other devices that were sick at the same time
	Others       int         // devices that were seen at the same time, these included
}

// IncidentDevice is one device of the incident.
type IncidentDevice struct {
	features.Key
	Worst    int // of Windows: its worst during the incident
	Why      cluster.Explanation
	Phases   [3]features.PhaseFigures
	Actors   map[string][]features.Actor // by comm, cgroup, file
	Slowest  []SlowLine
	Own      Baseline // its healthy windows, the incident's left out
	Peers    Baseline // windows of other devices of its group during the incident
	Group    string
	Twins    []TwinRow // past windows most like its worst
	Rows     int64     // events that were read
	Messages []string
}

// SlowLine is a slow request and where it stands.
type SlowLine struct {
	features.SlowIO
	Source string // name of the input
	Raw    string // its line, where the input still lies there
}

// Baseline is the medians of some windows.
type Baseline struct {
	Windows                           int
	IOPS, BytesPerS, P50MS, P99MS     float64
	MeanDepth, BusyShare, LoadLatency float64
}

// Elsewhere is another device that was sick during the incident.
type Elsewhere struct {
	features.Key
	Pathology    string
	Severity     float64
	FromNS, ToNS int64
}

type postmortemView struct {
	Title, Subtitle, Headline, Tone, Model string
	Version                                string
	Facts                                  []fact
	Timeline                               template.HTML
	TimelineRows                           []timelineRow
	Episodes                               []episodeView
	Devices                                []incidentView
	Elsewhere                              []elsewhereView
	ElsewhereText                          string
}

type timelineRow struct {
	Device string
	Spans  []string
}

type elsewhereView struct {
	Device, Name, Severity, From, To string
	Colour                           template.CSS
}

func (pm *Postmortem) check() error {
	if pm == nil || pm.Windows.Len() != pm.Diagnoses.Len() {
		return errors.New("postmortem: not one diagnosis a window")
	}
	if pm.ToNS <= pm.FromNS {
		return errors.New("postmortem: the incident ends before it begins")
	}
	return nil
}

// PostmortemHTML writes the incident page: one file that asks nothing of any
// network.
func PostmortemHTML(w io.Writer, pm *Postmortem) error {
	if err := pm.check(); err != nil {
		return err
	}
	t, err := template.ParseFS(templates, "templates/*.html")
	if err != nil {
		return fmt.Errorf("postmortem: %w", err)
	}
	in := &Input{Windows: pm.Windows, Catalogue: pm.Catalogue}
	in.Result.Diagnoses, in.Result.Episodes = pm.Diagnoses, pm.Episodes
	f, err := gather(in)
	if err != nil {
		return err
	}
	f.time = newMoments(pm.FromNS-pm.MarginNS, pm.ToNS+pm.MarginNS)
	out := &sink{w: w}
	out.template(t, "postmortem.html", struct {
		*postmortemView
		Style template.CSS
	}{pm.view(f), template.CSS(asset("style.css"))})
	if out.err != nil {
		return fmt.Errorf("postmortem: writing the page: %w", out.err)
	}
	return nil
}

func (pm *Postmortem) view(f *facts) *postmortemView {
	v := &postmortemView{Title: pm.Title, Model: pm.Model, Version: pm.Version, Tone: "good",
		Subtitle: fmt.Sprintf("%s to %s, with %s before and after", f.time.full(pm.FromNS), f.time.full(pm.ToNS), span(float64(pm.MarginNS)/1e9))}
	if v.Title == "" {
		v.Title = "I/O postmortem"
	}
	if !f.time.relative {
		v.Subtitle += " · UTC"
	}
	v.Headline = "No device was sick in this span"
	if len(pm.Episodes) > 0 {
		e := pm.Episodes[0]
		v.Tone = "bad"
		v.Headline = fmt.Sprintf("%s: %s from %s to %s", deviceLabel(e.Key), f.pathologyName(e.Pathology), f.time.at(e.FromNS), f.time.at(e.ToNS))
		if len(e.Causes) > 0 && e.Causes[0].Votes > 0 {
			gist, _, _ := strings.Cut(sentence(e.Causes[0].Name), ": ") // the rest stands beside the causes
			v.Headline += "; likely " + lowerFirst(gist)
		}
		v.Headline += elsewhereFirst(&e)
	}
	sick, seconds, delayed := map[features.Key]bool{}, 0.0, 0.0
	for _, e := range pm.Episodes {
		sick[e.Key] = true
		seconds += e.SickSeconds
		delayed += e.DelayedBytes
		view := f.episode(e)
		view.Anchor = ""
		for i := range pm.Devices {
			if pm.Devices[i].Key == e.Key {
				view.Anchor = incidentAnchor(i)
			}
		}
		v.Episodes = append(v.Episodes, view)
	}
	v.Facts = []fact{
		{"sick devices", count(int64(len(sick))), "of those asked for"},
		{"sick elsewhere", count(int64(len(pm.Elsewhere))), fmt.Sprintf("of %s seen at the time", plural(pm.Others, "device"))},
		{"sick device-hours", hours(seconds), plural(len(pm.Episodes), "episode")},
		{"delayed", volume(delayed), "completed while sick"},
	}
	v.Timeline, v.TimelineRows = pm.timeline(f)
	for i := range pm.Devices {
		v.Devices = append(v.Devices, pm.device(f, i))
	}
	for _, e := range pm.Elsewhere {
		v.Elsewhere = append(v.Elsewhere, elsewhereView{deviceLabel(e.Key), f.pathologyName(e.Pathology), fmt.Sprintf("%.1f", e.Severity), f.time.at(e.FromNS), f.time.at(e.ToNS), f.css(e.Pathology)})
	}
	v.ElsewhereText = pm.elsewhereText()
	return v
}

// elsewhereText says what the neighbours tell of the cause.
func (pm *Postmortem) elsewhereText() string {
	if len(pm.Episodes) == 0 {
		return ""
	}
	same, others := 0, 0
	for _, e := range pm.Elsewhere {
		if e.Host == pm.Episodes[0].Host {
			same++
		} else {
			others++
		}
	}
	switch {
	case same+others == 0:
		return "No other device was sick at the same time: what went wrong is this device's own, or that of its user."
	case others == 0:
		return fmt.Sprintf("%s of the same host %s sick at the same time: look at what they share (controller, link, host memory, CPU, the host's own pauses).", plural(same, "device"), were(same))
	case same == 0:
		return fmt.Sprintf("%s of other hosts %s sick at the same time: look at what the hosts share (fabric, array, job, time of day).", plural(others, "device"), were(others))
	}
	return fmt.Sprintf("%s of the same host and %s of others were sick at the same time: look at what all share first.", plural(same, "device"), plural(others, "device"))
}

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// incidentAnchor is the id of a device's section.
func incidentAnchor(i int) string { return fmt.Sprintf("incident-%d", i+1) }

func (pm *Postmortem) device(f *facts, i int) incidentView {
	d := &pm.Devices[i]
	r := pm.Diagnoses.At(d.Worst)
	v := incidentView{Anchor: incidentAnchor(i), Device: deviceLabel(d.Key), Colour: f.css(r.Pathology), Evidence: labels(r.Evidence, maxEvidence)}
	w := pm.Windows.At(d.Worst)
	v.Summary = fmt.Sprintf("worst window %s to %s: %s, severity %.1f, confidence %s, margin %s to the next",
		f.time.at(w.StartNS), f.time.at(w.EndNS), f.verdictName(r), r.Severity, percent(r.Confidence), three(r.Margin))
	v.Course = pm.course(f, d.Key)
	v.Notes = append(v.Notes, fmt.Sprintf("%s read for the three phases", plural(int(d.Rows), "event")))
	v.Notes = append(v.Notes, d.Messages...)
	v.compare(d)
	v.ladder(d, analysis.PressureOf(r.Pathology, r.Causes))
	v.culprits(d)
	v.outside(pm, d)
	v.causes(pm, d, r)
	v.Twins = f.twins(d.Twins)
	for _, s := range d.Slowest {
		v.Slow = append(v.Slow, slowView(f, &s))
		v.HasRaw = v.HasRaw || s.Raw != ""
	}
	return v
}

// verdictName is what was said of a window, in words.
func (f *facts) verdictName(r *cluster.Diagnosis) string {
	if r.Verdict == cluster.Sick {
		return f.pathologyName(r.Pathology)
	}
	return string(r.Verdict)
}
