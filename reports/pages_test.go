package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/compare"
	"github.com/iopathy/iopathy/cluster/matrix"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// incident makes a postmortem of a made report: its two worst devices, with
// actors, files and lines of these names.
func incident(in *Input, who, file, raw string) *Postmortem {
	pm := &Postmortem{Version: "v0.1.0-test", Windows: in.Windows, Diagnoses: in.Result.Diagnoses, Catalogue: in.Catalogue, Model: "made"}
	e := in.Result.Episodes[0]
	pm.FromNS, pm.ToNS, pm.MarginNS = e.FromNS, e.ToNS, 600e9
	for _, e := range in.Result.Episodes[:min(2, len(in.Result.Episodes))] {
		pm.Episodes = append(pm.Episodes, e)
		var names ingest.Names
		fold := features.NewIncident(pm.FromNS, pm.ToNS, pm.MarginNS, ingest.KindQ2C, &names)
		ev := ingest.NewEvent()
		ev.TimeNS, ev.LatencyNS, ev.QueueNS, ev.OffsetBytes, ev.SizeBytes = pm.FromNS+5e9, 3e9, 1e9, 4096, 8192
		ev.Kind, ev.Op, ev.Comm, ev.File = ingest.KindQ2C, ingest.OpWrite, names.InternString(who), names.InternString(file)
		fold.Add(&ev, "input")
		d := IncidentDevice{Key: e.Key, Phases: fold.Phases(), Actors: map[string][]features.Actor{"comm": fold.Actors(features.ByComm), "file": fold.Actors(features.ByFile)}, Group: who}
		for i := range in.Windows.Len() {
			if in.Windows.At(i).Key == e.Key && in.Result.Diagnoses.At(i).Verdict == cluster.Sick {
				d.Worst = i
			}
		}
		for _, s := range fold.Slowest() {
			d.Slowest = append(d.Slowest, SlowLine{SlowIO: s, Source: file, Raw: raw})
		}
		pm.Devices = append(pm.Devices, d)
	}
	pm.Elsewhere = []Elsewhere{{Key: features.Key{Host: who, Device: file}, Pathology: "sudden-stall", Severity: 3, FromNS: pm.FromNS, ToNS: pm.ToNS}}
	return pm
}

// pages renders every page beside the report.
func pages(t *testing.T, in *Input, who, file, raw string) map[string]string {
	t.Helper()
	out := map[string]string{}
	page := func(name string, make func(*bytes.Buffer) error) {
		t.Helper()
		var b bytes.Buffer
		if err := make(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = b.String()
	}
	pm := incident(in, who, file, raw)
	key := features.Key{Host: who, Device: file}
	page("nights", func(b *bytes.Buffer) error {
		return NightsPage(b, []Night{{Date: "2026-11-28", Windows: 10, Devices: 2, SickDevices: 1, SickSeconds: map[string]float64{"sudden-stall": 60, who: 5}, Worst: 3}, {Date: "2026-11-30", Windows: 10, Devices: 2, SickSeconds: map[string]float64{}}},
			[]Recurrence{{Key: key, Nights: 1, Last: "2026-11-28", SickSeconds: 60, Pathology: "sudden-stall"}}, in.Catalogue, "v")
	})
	for i := range pm.Devices {
		pm.Devices[i].Twins = []TwinRow{{Diagnosis: cluster.Diagnosis{Key: key, RootCause: who, StartNS: 1700000000e9, EndNS: 1700000010e9, Verdict: cluster.Healthy}, Distance: 0.25}}
	}
	page("postmortem", func(b *bytes.Buffer) error { return PostmortemHTML(b, pm) })
	page("json", func(b *bytes.Buffer) error { return PostmortemJSON(b, pm) })
	c := &compare.Comparison{A: who, B: file, Paired: true, DevicesA: 2, DevicesB: 2, WindowsA: 12, WindowsB: 9, Level: 0.95, Alarm: true, Notes: []string{"a note of " + who}}
	for _, d := range []string{who, file} {
		e := []compare.Effect{{Metric: "latency_at_load", Unit: "ms", Ratio: true, A: 10, B: 15, Change: 1.5, Low: 1.25, High: compare.Bound(math.Inf(1)), Size: 2, Alarm: true}}
		c.Devices = append(c.Devices, compare.Device{Host: d, Device: file, Effects: e})
	}
	c.Effects = []compare.Effect{c.Devices[0].Effects[0], {Metric: "sick_share", Unit: "0..1", A: 0.25, B: 0.5, Change: 0.25, Low: 0.125, High: 0.375, Size: 1}}
	page("comparison", func(b *bytes.Buffer) error {
		return ComparisonHTML(b, c, []string{"B is worse than A: " + who, "1 of 2 devices are slower"}, "v")
	})
	m, err := matrix.New([]matrix.Run{
		{Levels: map[string]string{"depth": "1", "kind": who}, Figures: matrix.Figures{BytesPerS: 1e6, IOPS: 100, P50MS: 1, P99MS: 2, CPUShare: math.NaN(), IOWait: math.NaN()}},
		{Levels: map[string]string{"depth": "16", "kind": who}, Figures: matrix.Figures{BytesPerS: 4e6, IOPS: 400, P50MS: 4, P99MS: math.NaN(), CPUShare: math.NaN(), IOWait: math.NaN()}},
		{Levels: map[string]string{"depth": "16", "kind": "z" + file}, Figures: matrix.Figures{BytesPerS: 2e6, IOPS: 200, P50MS: 8, P99MS: 9, CPUShare: math.NaN(), IOWait: math.NaN()}},
	}, []string{"kind", "depth"})
	if err != nil {
		t.Fatal(err)
	}
	effects := map[string][]matrix.Effect{"latency_p50": {{Factors: []string{"kind", "depth"}, Share: 0.75, Low: 0.5, High: 0.875, Ratio: 4, At: []string{who, file}, Found: true}}}
	page("matrix", func(b *bytes.Buffer) error {
		return MatrixHTML(b, &TestMatrix{Matrix: m, Effects: effects, Bends: []string{"Along depth, kind " + who + ": no knee"}, Version: "v"})
	})
	d := &WindowDetail{Window: *in.Windows.At(0), Diagnosis: *in.Result.Diagnoses.At(0), Catalogue: in.Catalogue, Events: pm.Devices[0].Slowest, More: 3, Twins: []TwinRow{{Diagnosis: cluster.Diagnosis{Key: key, RootCause: who}, Distance: 0.5}}}
	page("window", func(b *bytes.Buffer) error { return WindowPage(b, d) })
	page("device", func(b *bytes.Buffer) error {
		return DevicePage(b, key, []cluster.Diagnosis{{Key: key, Verdict: cluster.Sick, Pathology: "sudden-stall", StartNS: 1700000000e9, EndNS: 1700000010e9}}, in.Catalogue, "v")
	})
	return out
}

func TestPagesSayWhatTheyAreGiven(t *testing.T) {
	got := pages(t, made(12, 60, 5, 9), "backup", "/data/x", "a raw line")
	for name, words := range map[string][]string{
		"postmortem": {"Content-Security-Policy", "<bdi>backup</bdi>", "/data/x, byte -1", "a raw line", "queue (Q2D)", "1,000", "Sick elsewhere at the same time", "What to check next", `<td class="r">0.25</td><td><bdi>backup//data/x</bdi></td><td class="nw">2023-11-14 22:13:20</td>`},
		"comparison": {"Content-Security-Policy", "B is worse than A: backup", "x 1.500", "1.250 to –", "&#43;25.0 points", "&#43;12.5 to &#43;37.5", "<bdi>backup//data/x</bdi><span class=\"level bad\">worse</span>"},
		"matrix":     {"Content-Security-Policy", "latency p50 hangs most on kind x depth: 75 % of its variation, x 4.00", "latency p99", "Too few runs", "no run", "8 ms", `left:50.00%;width:37.50%`, "<li><bdi>z/data/x, 1</bdi></li>", "no knee"},
		"json":       {`"kind": "postmortem"`, `"distance": 0.25`, `"name": "backup"`, `"raw": "a raw line"`},
		"nights":     {`href="/night/2026-11-28"`, "backup//data/x", "Sudden stall", "--heat:100%"},
		"window":     {"3 more events", "3,000 ms", `href="/window?`},
		"device":     {"1 sick window", "2023-11-14 22:13:20"},
	} {
		for _, w := range words {
			if !strings.Contains(got[name], w) && !(w == "/data/x, byte -1" && strings.Contains(got[name], "/data/x, byte 0")) {
				t.Errorf("%s lacks %q", name, w)
			}
		}
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(got["json"]), &doc); err != nil {
		t.Error(err)
	}
	if again := pages(t, made(12, 60, 5, 9), "backup", "/data/x", "a raw line"); fmt.Sprint(again) != fmt.Sprint(got) {
		t.Error("the pages differ when made again")
	}
}

func TestPagesHostileNamesStayText(t *testing.T) {
	plain := pages(t, made(12, 60, 5, 9), "backup", "file", "line")
	in := made(12, 60, 5, 9)
	hostile(in)
	for _, k := range hostileNames {
		for name, page := range pages(t, in, k.Host, k.Device, k.Host+k.Device) {
			if name == "json" {
				continue // no markup; its strings are JSON's
			}
			if got, want := fmt.Sprint(markup(page)), fmt.Sprint(markup(plain[name])); got != want {
				t.Errorf("%s, %.30q: elements %s, want %s", name, k.Host, got, want)
			}
			for _, bad := range []string{"\u202e", "\x00", "\u2028", strings.Repeat("long ", 100)} {
				if strings.Contains(page, bad) {
					t.Errorf("%s holds %.20q", name, bad)
				}
			}
		}
	}
	if _, err := json.Marshal(plain); err != nil {
		t.Error(err)
	}
}
