package reports

import (
	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
)

// stagesView is how long requests spend in each stage of their way.
type stagesView struct {
	Of   string // the windows
	Says string // where most of it goes
	Rows []stageRow
}

type stageRow struct{ Name, N, Mean, SD, P50, P99, Clock string }

// jsonStage is one stage of a class or a device, over requests.
type jsonStage struct {
	Name     string `json:"name"`
	Windows  int64  `json:"windows"`
	Requests int64  `json:"requests"`
	MeanS    number `json:"mean_s"`
	SD       number `json:"sd_s"`
	P50      number `json:"p50_s"`
	P99      number `json:"p99_s"`
	Clock    number `json:"clock_error_s"` // of the stamps of its ends against each other; 0 of one clock
}

// stagesOf lists what is known of some windows, such as "sick "; nothing where
// no source tells the stages.
func stagesOf(l *analysis.Ladder, of, pressure string) *stagesView {
	if l == nil || l.Empty() {
		return nil
	}
	v := &stagesView{Of: plural(int(l.Windows), of+"window")}
	if a, ok := l.Attribute(pressure); ok {
		v.Says = a.Says
	}
	for _, s := range l.Steps() {
		v.Rows = append(v.Rows, stageRow{s.Name, count(s.N), three(s.MeanNS / 1e6), three(s.DevNS / 1e6), three(s.P50NS / 1e6), three(s.P99NS / 1e6), clockError(&s)})
	}
	return v
}

// clockError is the error of a stage that clocks make, in ms.
func clockError(s *features.Step) string {
	if s.ClockNS != s.ClockNS {
		return "unknown"
	}
	return three(s.ClockNS / 1e6)
}

func jsonStages(l *analysis.Ladder) []jsonStage {
	all := []jsonStage{}
	if l == nil {
		return all
	}
	for _, s := range l.Steps() {
		all = append(all, jsonStage{s.Name, l.Windows, s.N, number(s.MeanNS / 1e9), number(s.DevNS / 1e9), number(s.P50NS / 1e9), number(s.P99NS / 1e9), number(s.ClockNS / 1e9)})
	}
	return all
}

// StageObjects gives the stages of some windows and where their time goes, for
// JSON.
func StageObjects(l *analysis.Ladder, pressure string) map[string]any {
	o := map[string]any{"stages": jsonStages(l)}
	if a, ok := l.Attribute(pressure); ok {
		o["layer"], o["says"] = a.Layer.String(), a.Says
	}
	return o
}

// ladderOf adds up the windows of a device that have a verdict.
func (f *facts) ladderOf(d *device, verdict cluster.Verdict) *analysis.Ladder {
	l := &analysis.Ladder{}
	for _, i := range d.windows {
		if r := f.all.row(i); r.verdict() == verdict && r.flags&rowLadder != 0 {
			l.Add(f.in.Windows.At(i))
		}
	}
	return l
}

// pressureOn is what throttles a device, or fills it, by its worst episodes.
func pressureOn(d *device) string {
	for _, e := range d.episodes {
		if p := analysis.PressureOf(e.Pathology, e.Causes); p != "" {
			return p
		}
	}
	return ""
}
