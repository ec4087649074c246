package reports

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// sectionView is the evidence card of one sick device.
type sectionView struct {
	Anchor, Device, Level string
	Open                  bool
	Part                  string // where its packed markup stands; "" where it is in the page itself
	Colour                template.CSS
	Summary               string
	Spark                 template.HTML
	Episodes              []episodeView
	Evidence              []string
	Readings              []fact // of the evidence: what was asked, what it says
	Causes                []causeView
	Worst                 worstView
	Features              []featureView
	Facts                 []fact
	Analyses              []analysisView
	Curve                 template.HTML
	Card                  *cardView
	Stages                []*stagesView // when sick, when healthy; as far as they are told
}

// worstView is a device's worst window.
type worstView struct {
	When, Severity, Confidence, Name, Margin, Nearest, Normal string
}

// openSections is the number of cards that stand open, plainSections that of
// those in the page itself: what is beyond is packed until it is opened.
const (
	openSections  = 3
	plainSections = 12
)

// The pictures of the cards, the worst device's first, take at most so many
// bytes of markup, which packs to about a quarter.
const (
	pictureBudget = 4_000_000 // severity over time, busy or sick
	gridBudget    = 3_000_000 // latency over time
)

// sections makes the cards of the worst devices.
func (f *facts) sections(p *pageView) {
	p.Hosts, p.HostsLeft = f.hosts()
	for _, d := range f.devices {
		if d.verdicts[cluster.Sick] == 0 {
			continue
		}
		if len(p.Sections) == maxSections || f.anchor(d) == "" {
			p.SectionsLeft++
			continue
		}
		s := f.section(d)
		s.Open = len(p.Sections) < openSections
		p.Sections = append(p.Sections, s)
	}
	if without := len(p.Sections) - f.drawnCards; f.gridsLeft > 0 || without > 0 {
		p.PictureRule = fmt.Sprintf("The pictures of the worst devices come first and fill at most %s before they are packed: ", volume(pictureBudget+gridBudget))
		if f.gridsLeft > 0 {
			p.PictureRule += fmt.Sprintf("latency over time is drawn for %s and left out for %s. ", plural(f.gridsDrawn, "device"), count(int64(f.gridsLeft)))
		}
		if without > 0 {
			p.PictureRule += fmt.Sprintf("The last %s have no pictures. ", plural(without, "card"))
		}
		p.PictureRule += "Every card has its figures, and so has report.json."
	}
}

// worstWindow is the sick window of a device with the largest severity, of equal
// ones the first; -1 of a healthy one.
func (f *facts) worstWindow(d *device) int {
	worst, severity := -1, 0.0
	for _, i := range d.windows {
		if r := f.all.row(i); r.verdict() == cluster.Sick && (worst < 0 || r.severity > severity) {
			worst, severity = i, r.severity
		}
	}
	return worst
}

func (f *facts) section(d *device) sectionView {
	in := f.in
	worst := f.worstWindow(d)
	w, r := in.Windows.At(worst), in.Result.Diagnoses.At(worst)
	s := sectionView{
		Anchor: f.anchor(d), Device: deviceLabel(d.Key), Level: d.level, Colour: f.css(r.Pathology),
		Summary:  fmt.Sprintf("%s of %s sick · worst window severity %.1f · %s", plural(d.verdicts[cluster.Sick], "window"), count(int64(len(d.windows))), d.worst, f.pathologyName(r.Pathology)),
		Evidence: labels(r.Evidence, maxEvidence), Causes: causeViews(r.Causes),
		Worst: worstView{
			When: f.time.at(w.StartNS) + " to " + f.time.at(w.EndNS), Severity: fmt.Sprintf("%.1f", r.Severity),
			Confidence: percent(r.Confidence), Name: f.pathologyName(r.Pathology), Margin: three(r.Margin),
		},
	}
	if f.drawing = f.pictureBytes < pictureBudget; f.drawing {
		spark := f.spark(d)
		s.Spark = spark.inline()
		f.pictureBytes += len(s.Spark)
		f.drawnCards++
	}
	if r.Pathology == cluster.Unrecognised && r.Nearest != "" {
		s.Worst.Nearest = f.pathologyName(r.Nearest)
	}
	for i, e := range d.episodes {
		if i == 0 {
			s.Evidence = append(f.tells(d, &e), s.Evidence...)
		}
		s.Episodes = append(s.Episodes, f.episode(e))
		s.Readings = f.readings(s.Readings, e.Readings)
		if len(s.Evidence) == 0 {
			s.Evidence = labels(e.Evidence, maxEvidence)
		}
		if len(s.Causes) == 0 {
			s.Causes = causeViews(e.Causes)
		}
	}
	s.Features = f.features(worst)
	if in.Points.Len() > 0 {
		s.Worst.Normal = againstWords(&in.Points.At(worst).Normal)
	}
	s.Facts = worstFacts(w)
	s.Analyses, s.Curve = f.analyses(d.Key)
	s.Card = f.cardView(d)
	if v := stagesOf(f.ladderOf(d, cluster.Sick), "sick ", pressureOn(d)); v != nil {
		s.Stages = append(s.Stages, v)
		if v = stagesOf(f.ladderOf(d, cluster.Healthy), "healthy ", ""); v != nil {
			s.Stages = append(s.Stages, v)
		}
	}
	return s
}

// maxReadings bounds the readings of a card.
const maxReadings = 12

// readings adds what the evidence told to what a card shows: the question as
// the catalogue has it, the answer, and the row that stands for it.
func (f *facts) readings(all []fact, more []cluster.Reading) []fact {
	for _, r := range more {
		v := fact{Name: r.Query, Value: three(r.Value)}
		if r.TimeNS != 0 {
			v.Note = f.time.full(r.TimeNS)
		}
		if r.Text != "" {
			if v.Note != "" {
				v.Note += ": "
			}
			v.Note += sentence(r.Text)
		}
		if len(all) < maxReadings && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// zSpan is the deviation at which a bar is full: reduce clips there.
const zSpan = 10

// features lists the 12 features of a window with their deviations.
func (f *facts) features(i int) []featureView {
	w := f.in.Windows.At(i)
	vector := f.in.vector(i)
	out := make([]featureView, 0, features.N)
	for k, t := range features.Features {
		v := featureView{Name: t.Name, Doc: t.Doc, Known: w.Missing.Has(k), Value: "unknown", Z: "–"}
		if v.Known {
			v.Value = three(vector[k])
		}
		if v.Known && f.in.Points.Len() > 0 {
			z := f.in.Points.At(i).Z[k]
			v.Z = fmt.Sprintf("%+.1f", z)
			v.High = abs(z) >= 3
			at := 50 * min(abs(z), zSpan) / zSpan
			v.Width = fmt.Sprintf("%.1f", at)
			v.Left = "50"
			if z < 0 {
				v.Left = fmt.Sprintf("%.1f", 50-at)
			}
		}
		out = append(out, v)
	}
	return out
}

// worstFacts are the facts of the context that a reader asks for first.
func worstFacts(w *features.Window) []fact {
	var out []fact
	for _, k := range []int{
		features.CtxIOPS, features.CtxBytesPerS, features.CtxLatencyP50, features.CtxLatencyP99, features.CtxMeanDepth, features.CtxPeakDepth,
		features.CtxReadShare, features.CtxSizeP50, features.CtxStallSeconds, features.CtxErrors,
	} {
		v, t := w.Context[k], features.ContextTable[k]
		if v != v {
			continue
		}
		out = append(out, fact{Name: t.Doc, Value: inUnit(t.Name, v)})
	}
	return out
}
