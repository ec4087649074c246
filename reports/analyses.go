package reports

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
)

// analysisView is the answer to one question about a device.
type analysisView struct {
	Name, Says string
	Holds      bool
}

// analysisNames are the kinds of findings as the page has them.
var analysisNames = map[analysis.Kind]string{
	analysis.SaturationKnee:     "Saturation knee",
	analysis.TimingConflict:     "Timing conflict",
	analysis.HostPaused:         "Pause of the host",
	analysis.SickTogether:       "Neighbours",
	analysis.SlowAddresses:      "Slow region",
	analysis.Misalignment:       "Misalignment",
	analysis.MergeFailure:       "Merging",
	analysis.MetadataOperations: "Metadata knee",
	analysis.PeriodicCulprit:    "Periodic culprit",
	analysis.Tiers:              "Tiers",
	analysis.FaultAmplification: "Page faults a page read",
	analysis.ReadAmplification:  "Read amplification",
}

// analyses lists the answers about a device: those to act upon first. What
// can't be told stands in report.json only.
func (f *facts) analyses(k features.Key) (all []analysisView, curve template.HTML) {
	for i := range f.in.Analyses {
		x := &f.in.Analyses[i]
		if x.Key != k {
			continue
		}
		if x.Curve != nil && x.Told {
			pic := saturationCurve(x.Curve)
			curve = pic.inline()
		}
		if x.Told {
			all = append(all, analysisView{Name: analysisNames[x.Kind], Says: upper(sentences(x.Says)) + ".", Holds: x.Holds})
		}
	}
	slices.SortStableFunc(all, func(a, b analysisView) int {
		switch {
		case a.Holds == b.Holds:
			return 0
		case a.Holds:
			return -1
		}
		return 1
	})
	return all, curve
}

// passageRunes bounds what an analysis says.
const passageRunes = 800

// sentences is sentence for more than one.
func sentences(s string) string {
	r := []rune(strings.ToValidUTF8(s, "?"))
	if len(r) > passageRunes {
		r = append(r[:passageRunes:passageRunes], '…')
	}
	return strings.Map(printable, string(r))
}

// maxHosts bounds the hosts that the page lists.
const maxHosts = 40

// hosts lists what is to be said of whole hosts.
func (f *facts) hosts() (all []analysisView, left int) {
	for i := range f.in.Analyses {
		if x := &f.in.Analyses[i]; x.Device == "" && x.Holds {
			if len(all) == maxHosts {
				left++
				continue
			}
			says := sentences(x.Says)
			if x.Kind == analysis.HostPaused {
				says += ", the longest at " + f.time.full(x.FromNS)
			} else {
				says = strings.ToLower(analysisNames[x.Kind]) + ": " + says
			}
			all = append(all, analysisView{Name: label(x.Host), Says: says + ".", Holds: true})
		}
	}
	return all, left
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

type jsonAnalysis struct {
	Kind    string           `json:"kind"`
	Host    string           `json:"host"`
	Device  string           `json:"device"` // empty: of the host
	FromNS  int64            `json:"from_ns"`
	ToNS    int64            `json:"to_ns"` // 0: over all that was recorded
	Told    bool             `json:"told"`  // false: the data can't tell
	Holds   bool             `json:"holds"` // something to act upon
	Says    string           `json:"says"`
	Figures []jsonFigure     `json:"figures"`
	Curve   []jsonCurvePoint `json:"curve,omitempty"`
}

type jsonFigure struct {
	Name  string `json:"name"`
	Unit  string `json:"unit"`
	Value number `json:"value"`
	Low   number `json:"low"` // 95 % interval; null where there is none
	High  number `json:"high"`
}

type jsonCurvePoint struct {
	Depth   number `json:"depth"`
	Rate    number `json:"rate_per_s"`
	Bytes   number `json:"bytes_per_s"`
	Latency number `json:"latency_s"`
	Busy    number `json:"busy_s"`
}

// AnalysisObjects gives findings as they stand in JSON.
func AnalysisObjects(all []analysis.Finding) any { return jsonAnalyses(all) }

func jsonAnalyses(all []analysis.Finding) []jsonAnalysis {
	out := make([]jsonAnalysis, 0, len(all))
	for i := range all {
		x := &all[i]
		v := jsonAnalysis{string(x.Kind), x.Host, x.Device, x.FromNS, x.ToNS, x.Told, x.Holds, x.Says, []jsonFigure{}, nil}
		for _, g := range x.Figures {
			v.Figures = append(v.Figures, jsonFigure{g.Name, g.Unit, number(g.Value), number(g.Low), number(g.High)})
		}
		if x.Curve != nil {
			for _, p := range x.Curve.Points {
				v.Curve = append(v.Curve, jsonCurvePoint{number(p.Depth), number(p.RatePerS), number(p.BytesPerS), number(p.LatencyS), number(p.BusySeconds)})
			}
		}
		out = append(out, v)
	}
	return out
}

// The picture of a saturation curve: two panels side by side.
const (
	curveWide  = 640
	curveHigh  = 176
	curveLeft  = 46
	curveTop   = 20
	curveFoot  = 30
	curvePanel = 262
	curveGap   = 60
)

// saturationCurve draws throughput and latency against depth, with the law
// that was fitted, its knee and the knee's interval.
func saturationCurve(c *analysis.Curve) picture {
	if len(c.Points) < 2 {
		return picture{}
	}
	least, most := c.Points[0].Depth, c.Points[len(c.Points)-1].Depth
	if !(most > least) {
		return picture{}
	}
	top, slowest, fastest := 0.0, 0.0, math.Inf(1)
	for _, p := range c.Points {
		top, slowest, fastest = max(top, p.RatePerS), max(slowest, p.LatencyS), min(fastest, p.LatencyS)
	}
	top *= 1.1
	low, high := math.Log10(fastest)-0.1, math.Log10(slowest)+0.1
	const bottom = curveHigh - curveFoot
	x := func(panel int, depth float64) float64 {
		at := math.Log(depth/least) / math.Log(most/least)
		return curveLeft + float64(panel)*(curvePanel+curveGap) + curvePanel*min(max(at, 0), 1)
	}
	rate := func(v float64) float64 { return bottom - (bottom-curveTop)*min(v/top, 1) }
	late := func(v float64) float64 { return bottom - (bottom-curveTop)*(math.Log10(v)-low)/(high-low) }
	var b strings.Builder
	for panel, title := range []string{"completions per second", "latency (ms)"} {
		left := curveLeft + panel*(curvePanel+curveGap)
		if k := c.Knee; k.State == "found" {
			fmt.Fprintf(&b, `<rect class="band" x="%.1f" y="%d" width="%.1f" height="%d"/><line class="knee" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`,
				x(panel, k.Low), curveTop, max(x(panel, k.High)-x(panel, k.Low), 1), bottom-curveTop, x(panel, k.Depth), x(panel, k.Depth), curveTop, bottom)
		}
		fmt.Fprintf(&b, `<path class="axis" d="M%d %dV%dH%d"/><text x="%d" y="%d">%s</text><text x="%d" y="%d" text-anchor="end">in flight</text>`,
			left, curveTop, bottom, left+curvePanel, left, curveTop-7, title, left+curvePanel, curveHigh-4)
		for i, d := 0, tickOf(least); d <= most; i, d = i+1, d*2 {
			if most/least < 24 || i%2 == 0 {
				fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, x(panel, d), bottom+13, three(d))
			}
		}
	}
	for _, v := range []float64{0, top / 2.2, top / 1.1} {
		fmt.Fprintf(&b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`, curveLeft, curveLeft+curvePanel, rate(v), rate(v), curveLeft-5, rate(v)+3.5, short(v))
	}
	const right = curveLeft + curvePanel + curveGap
	for _, v := range []float64{fastest, math.Sqrt(fastest * slowest), slowest} {
		fmt.Fprintf(&b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`, right, right+curvePanel, late(v), late(v), right-5, late(v)+3.5, three(v*1e3))
	}
	if c.Knee.Latency > 0 && c.Knee.State != "unknown" {
		for panel := range 2 {
			var line strings.Builder
			for i := range 61 {
				d := least * math.Pow(most/least, float64(i)/60)
				v := c.Knee.At(d)
				y := rate(v)
				if panel == 1 {
					y = late(d / v)
				}
				if i == 0 {
					fmt.Fprintf(&line, "M%.1f %.1f", x(panel, d), y)
				} else {
					fmt.Fprintf(&line, "L%.1f %.1f", x(panel, d), y)
				}
			}
			fmt.Fprintf(&b, `<path class="law" d="%s"/>`, line.String())
		}
	}
	for _, p := range c.Points {
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="2.6"/><circle cx="%.1f" cy="%.1f" r="2.6"/>`, x(0, p.Depth), rate(p.RatePerS), x(1, p.Depth), late(p.LatencyS))
	}
	return picture{wide: curveWide, high: curveHigh, label: "Throughput and latency against queue depth", class: "curve", body: b.String()}
}

// tickOf is the first power of two from a depth on.
func tickOf(least float64) float64 { return math.Exp2(math.Ceil(math.Log2(least) - 1e-9)) }

// short is a count with k or M.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return three(v/1e6) + "M"
	case v >= 1e4:
		return three(v/1e3) + "k"
	}
	return three(v)
}
