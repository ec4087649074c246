package reports

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster"
)

// Bounds of what a page shows; the JSON and CSV hold everything.
const (
	maxTopEpisodes = 10
	maxEpisodes    = 500
	maxSections    = 1000
	maxDeviceRows  = 2000
	maxSources     = 300
	maxEvidence    = 6
	maxAlarms      = 3 // devices named in the verdict
	maxWarnings    = 3 // that are not folded up
)

// pageView is what the template sees: texts and numbers ready to be shown.
type pageView struct {
	Title, Subtitle    string
	Date, DateMachine  string
	Headline           string
	Tone               string // good, warn, bad: the colour of the verdict
	Alarms             []alarm
	Kinds              string // the kinds of latency, where there are several
	Applications       string // what is said of their devices, where disks were recorded too
	More               int    // devices that need attention beyond Alarms
	Model              string
	ModelShipped       bool
	Warnings           []string
	WarningsMore       []string // folded up
	Changes            []changeView
	Findings           []findingView
	FindingsLeft       int
	Hosts              []analysisView // that paused
	HostsLeft          int
	Quality            qualityView
	Facts              []fact
	Top                []episodeView
	Episodes           []episodeView
	EpisodesLeft       int
	Order, LeftOut     string // of the episodes
	Fleet              fleetView
	Joint              jointView
	Course             courseView
	Classes            []classView
	Empty              []classView // without a window
	Conserve           conserveView
	NotSeen            []string
	Structure          structureView
	Neighbours         neighbourView
	Plane              planeView
	Sections           []sectionView
	SectionsLeft       int
	PictureRule        string // which cards have pictures, where not all have
	DevicesPart        string // where packed markup stands
	EpisodesPart       string
	Devices            []deviceRow
	DevicesLeft        int
	Sources            []sourceView
	SourcesLeft        int
	Recordings         []recordingView
	RecordingsLeft     int
	Totals             sourceView
	Problems           []string
	Config, Version    string
	Echarts, ModelText string
	Seed               uint64
	Scale              string
	HasSick            bool
	Drill              bool // the page is served
}

type fact struct{ Name, Value, Note string }

type alarm struct {
	Anchor, Device, Level string
	Colour                template.CSS
	Text                  string
	Evidence              []string
}

type qualityView struct {
	Level, Word, Text string
}

type episodeView struct {
	Anchor, Device, Level, Severity string
	Colour                          template.CSS
	Name, From, To, Length          string
	Cause, Confidence, Delayed      string
	Class                           int
}

type causeView struct {
	Name, Share, Interval string
	X, Low, Width         string // percent of the bar
	Votes                 string
}

type featureView struct {
	Name, Doc, Value, Z string
	Left, Width         string // percent of the bar
	High, Known         bool
}

// colour is a pathology's colour, checked to be one.
func (f *facts) colour(slug string) string {
	if p := f.in.pathology(slug); p != nil && isColour(p.Colour) {
		return strings.ToUpper(p.Colour)
	}
	return "#8A8F98"
}

func isColour(s string) bool {
	if len(s) != 7 || s[0] != '#' {
		return false
	}
	for _, c := range s[1:] {
		if !strings.ContainsRune("0123456789abcdefABCDEF", c) {
			return false
		}
	}
	return true
}

func (f *facts) css(slug string) template.CSS { return template.CSS(f.colour(slug)) }

// newPage says everything but the pictures' pixels.
func newPage(f *facts) *pageView {
	in := f.in
	p := &pageView{
		Title: in.Title, Headline: f.headline(), HasSick: f.verdicts[cluster.Sick]+f.apps.Sick > 0, Drill: in.Drill,
		Date: f.time.full(f.last), DateMachine: f.time.machine(f.last),
		Model: modelLine(in.Result), ModelShipped: in.Result.Model == "shipped",
		Changes: f.changes(), Problems: in.Ingest.Problems,
		Config: in.Config, Version: in.Version, ModelText: in.Model, Seed: in.Seed,
		Quality: f.qualityLine(),
		Scale:   fmt.Sprintf("%s: %s IOPS, %s ms, depth %s", in.Scale.Name, three(f.scale.IOPS), three(f.scale.LatencyMS), three(f.scale.Depth)),
	}
	for _, w := range in.Result.Warnings {
		if w = upperFirst(w); !slices.Contains(p.Warnings, w) {
			p.Warnings = append(p.Warnings, w)
		}
	}
	if len(p.Warnings) > maxWarnings+1 {
		p.Warnings, p.WarningsMore = p.Warnings[:maxWarnings], p.Warnings[maxWarnings:]
	}
	if p.Title == "" {
		p.Title = "I/O pathology report"
	}
	p.Scale = fmt.Sprintf("%s: full red at %s IOPS, no green at %s ms, full blue at depth %s",
		f.scale.Name, three(f.scale.IOPS), three(f.scale.LatencyMS), three(f.scale.Depth))
	switch {
	case in.Windows.Len() == 0:
		p.Tone, p.Date, p.DateMachine = "warn", "no data", ""
	case f.attention > 0:
		p.Tone = "bad"
	case f.sickDevices > 0:
		p.Tone = "warn"
	default:
		p.Tone = "good"
	}
	p.Subtitle, p.Kinds, p.Applications = f.subtitle(), f.kinds(), f.apps.line()
	f.sections(p)
	f.findings(p)
	shown := f.attention + f.apps.Attention
	if shown == 0 { // what is mild is still the first thing to know
		shown = f.withEpisodes()
	}
	for _, d := range f.devices[:min(maxAlarms, shown)] {
		p.Alarms = append(p.Alarms, f.alarm(d))
	}
	p.More = shown - len(p.Alarms)
	p.Facts = []fact{
		{"need attention", count(int64(f.attention)), "of " + plural(f.disks(), "device")},
		{"sick device-hours", hours(f.sickSeconds), plural(f.verdicts[cluster.Sick], "sick window")},
		{"delayed", volume(f.delayedBytes), "completed while sick"},
		{"episodes", count(int64(len(in.Result.Episodes))), f.levels()},
	}
	p.Order = "Worst episodes"
	if in.Budget > 0 {
		p.Order = "Most costly episodes"
	}
	if f.leftOut > 0 {
		p.LeftOut = fmt.Sprintf("%s left out by the budget of %d: their devices were sick for less time. Every figure above counts them.", plural(f.leftOut, "more episode"), in.Budget)
	}
	for i, e := range f.listed {
		if i == maxEpisodes {
			p.EpisodesLeft = len(f.listed) - maxEpisodes
			break
		}
		v := f.episode(e)
		if i < maxTopEpisodes {
			p.Top = append(p.Top, v)
		} else {
			p.Episodes = append(p.Episodes, v)
		}
	}
	f.classes(p)
	f.structure(p)
	f.deviceTable(p)
	f.provenance(p)
	return p
}

func modelLine(r cluster.Result) string {
	s := "Classes were found in these data (fitted)."
	if r.Model == "shipped" {
		s = "Labelled with the shipped classes, not with classes found in these data."
	}
	if r.Why != "" {
		s += " Reason: " + strings.TrimSuffix(sentence(r.Why), ".") + "."
	}
	return s
}

func (f *facts) subtitle() string {
	if f.in.Windows.Len() == 0 {
		return "no windows"
	}
	w := f.all.row(0)
	s := f.time.full(f.first) + " to " + f.time.full(f.last)
	if !f.time.relative {
		s += " UTC"
	}
	hosts := map[string]bool{}
	for _, d := range f.devices {
		hosts[d.Host] = true
	}
	long := span(float64(w.endNS-w.startNS) / 1e9)
	if least, most := f.windowLengths(); least != most {
		long = span(float64(least)/1e9) + " to " + span(float64(most)/1e9)
	}
	return fmt.Sprintf("%s · %s on %s · %s of %s", s, plural(f.disks(), "device"), plural(len(hosts), "host"), plural(f.windows(), "window"), long)
}

func (f *facts) levels() string {
	n := map[string]int{}
	for _, e := range f.in.Result.Episodes {
		n[e.Level]++
	}
	var parts []string
	for _, l := range []string{"critical", "bad", "warn"} {
		if n[l] > 0 {
			parts = append(parts, count(int64(n[l]))+" "+l)
		}
	}
	if n[""] > 0 {
		parts = append(parts, count(int64(n[""]))+" mild")
	}
	return strings.Join(parts, ", ")
}

func (f *facts) qualityLine() qualityView {
	q := f.quality
	v := qualityView{Level: q.level, Word: map[string]string{
		"good": "Data are good" + f.butProblems(), "fair": "Data have gaps", "poor": "Data are poor: read the verdict with care",
	}[q.level]}
	parts := []string{"coverage " + percent(q.coverage)}
	if q.low > 0 {
		parts = append(parts, plural(q.low, "window")+" below half")
	}
	if q.lines > 0 {
		parts = append(parts,
			fmt.Sprintf("%s of %s lines rejected (%s)", count(q.rejects), count(q.lines), percent(float64(q.rejects)/float64(q.lines))),
			count(q.unpaired)+" unpaired")
	}
	parts = append(parts, plural(q.artefact, "artefact window"))
	if n := len(f.in.Ingest.Problems); n > 0 {
		parts = append(parts, plural(n, "problem")+" listed below")
	}
	v.Text = strings.Join(parts, " · ")
	return v
}

// butProblems keeps good data with problems from being praised without them.
func (f *facts) butProblems() string {
	switch n := len(f.in.Ingest.Problems); n {
	case 0:
		return ""
	case 1:
		return ", but for one thing"
	default:
		return fmt.Sprintf(", but for %d things", n)
	}
}

// alarm is a device's line in the verdict.
func (f *facts) alarm(d *device) alarm {
	e := d.episodes[0]
	for _, o := range d.episodes[1:] {
		if o.Severity > e.Severity {
			e = o
		}
	}
	last := f.all.row(d.windows[len(d.windows)-1]).endNS
	when := fmt.Sprintf("from %s to %s", f.time.at(e.FromNS), f.time.at(e.ToNS))
	if e.ToNS >= last {
		when = "since " + f.time.at(e.FromNS)
		if first := f.all.row(d.windows[0]).startNS; e.FromNS <= first {
			when = "from its first window to its last"
		}
	}
	a := alarm{Anchor: f.anchor(d), Device: deviceLabel(d.Key), Level: e.Level, Colour: f.css(e.Pathology),
		Text:     fmt.Sprintf("%s %s, severity %.1f", strings.ToLower(f.pathologyName(e.Pathology)), when, e.Severity),
		Evidence: labels(e.Evidence, 2)}
	if e.Pathology == cluster.Unrecognised {
		a.Text = "sick in a way no catalogue entry fits " + when + fmt.Sprintf(", severity %.1f", e.Severity)
	}
	for _, t := range f.tells(d, &e) {
		a.Text += ", " + t
	}
	if len(e.Causes) > 0 && e.Causes[0].Votes > 0 {
		a.Text += "; likely cause: " + lowerFirst(sentence(e.Causes[0].Name)) + " (" + percent(e.Causes[0].Share) + " of votes)"
	}
	a.Text += f.blame(&e) + elsewhereFirst(&e)
	if e.Confidence < 0.5 {
		a.Text += fmt.Sprintf("; the label is unsure (confidence %s)", percent(e.Confidence))
	}
	return a
}

func (f *facts) episode(e cluster.Episode) episodeView {
	v := episodeView{
		Device: deviceLabel(e.Key), Level: e.Level, Severity: fmt.Sprintf("%.1f", e.Severity), Colour: f.css(e.Pathology),
		Name: f.pathologyName(e.Pathology), From: f.time.at(e.FromNS), To: f.time.at(e.ToNS), Length: span(e.SickSeconds),
		Cause: "–", Confidence: percent(e.Confidence), Delayed: volume(e.DelayedBytes), Class: e.ClassID,
	}
	if d := f.index[e.Key]; d != nil {
		v.Anchor = f.anchor(d)
	}
	if v.Level == "" {
		v.Level = "mild"
	}
	if len(e.Causes) > 0 && e.Causes[0].Votes > 0 {
		v.Cause = sentence(e.Causes[0].Name) + " (" + percent(e.Causes[0].Share) + ")"
	}
	return v
}

// anchor is the id of a device's section; "" if it has none.
func (f *facts) anchor(d *device) string {
	if d.place >= maxSections || d.verdicts[cluster.Sick] == 0 {
		return ""
	}
	return fmt.Sprintf("device-%d", d.place+1)
}

func causeViews(causes []cluster.Cause) []causeView {
	var out []causeView
	for _, c := range causes {
		if c.Of == 0 {
			continue
		}
		out = append(out, causeView{
			Name: sentence(c.Name), Share: percent(c.Share), Interval: percent(c.Low) + " to " + percent(c.High),
			X: pct(c.Share), Low: pct(c.Low), Width: pct(c.High - c.Low),
			Votes: fmt.Sprintf("%s of %s votes", count(int64(c.Votes)), count(int64(c.Of))),
		})
	}
	return out
}

// pct is a share as a CSS percentage without the sign.
func pct(v float64) string {
	if !(v > 0) {
		return "0"
	}
	return fmt.Sprintf("%.2f", min(v, 1)*100)
}
