package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/heatmap"
	"github.com/iopathy/iopathy/reduce"
	"github.com/iopathy/iopathy/reports/assets"
)

func render(t *testing.T, in *Input) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, in); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHTMLIsTheSameEachTime(t *testing.T) {
	a, b := render(t, made(80, 40, 14, 3)), render(t, made(80, 40, 14, 3))
	if a != b {
		t.Error("the same input gave other bytes")
	}
	if to := os.Getenv("IOPATHY_REPORT_TO"); to != "" { // for a person to look at
		if err := os.WriteFile(to, []byte(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHTMLSaysTheVerdict(t *testing.T) {
	check := func(name string, in *Input, words ...string) {
		t.Helper()
		page := render(t, in)
		for _, w := range words {
			if !strings.Contains(page, w) {
				t.Errorf("%s: the page lacks %q", name, w)
			}
		}
	}
	in := made(80, 40, 14, 3)
	check("sick", in, "14 of 80 devices need attention.", "and 11 more, in the table below", `class="line quality good"`,
		"likely cause", "Content-Security-Policy", "default-src 'none'", "2026-03-14 02:06:40 UTC", "echarts 4.1.0")
	check("healthy", made(12, 10, 0, 3), "All 12 devices look healthy.", "No window is sick.", "No class was found.")
	check("empty", &Input{}, "Nothing to judge", `class="line quality poor"`)

	in = made(12, 10, 3, 3)
	for i := range 10 {
		in.Windows.At(i).Kind = 1 // of the first device
	}
	check("two kinds of latency", in, "Latency of several kinds", "none on 11 devices, q2c on 1 device")
	in.Result.Model, in.Result.Why = "shipped", "only 7 sick windows"
	in.Ingest.Sources[0].Rejects["torn"] = 90000
	check("shipped and poor", in, "Labelled with the shipped classes", "only 7 sick windows", `class="line quality poor"`, "Data are poor")

	for i := range in.Windows.Len() {
		in.Windows.At(i).StartNS -= epoch
		in.Windows.At(i).EndNS -= epoch
		in.Result.Diagnoses.At(i).StartNS -= epoch
		in.Result.Diagnoses.At(i).EndNS -= epoch
	}
	for i := range in.Result.Episodes {
		in.Result.Episodes[i].FromNS -= epoch
		in.Result.Episodes[i].ToNS -= epoch
	}
	check("relative times", in, "&#43;0.0 s to &#43;100.0 s")
	if strings.Contains(render(t, in), "1970") {
		t.Error("a time since the start of a trace is shown as a date")
	}
}

func TestHTMLRefusesPartsThatDoNotBelongTogether(t *testing.T) {
	check := func(name string, change func(*Input)) {
		t.Helper()
		in := made(6, 5, 1, 3)
		change(in)
		var b bytes.Buffer
		if err := HTML(&b, in); err == nil || b.Len() > 0 {
			t.Errorf("%s: error %v, %d bytes written", name, err, b.Len())
		}
		if err := LabelsCSV(&b, in); err == nil {
			t.Errorf("%s: LabelsCSV wrote it", name)
		}
		if err := JSON(&b, in); err == nil {
			t.Errorf("%s: JSON wrote it", name)
		}
	}
	check("a diagnosis too few", func(in *Input) { in.Result.Diagnoses = features.List(in.Result.Diagnoses.Slice()[1:]) })
	check("points missing", func(in *Input) { in.Points = features.List(in.Points.Slice()[:2]) })
	check("another window's diagnosis", func(in *Input) { in.Result.Diagnoses.At(0).StartNS++ })
}

var tags = regexp.MustCompile(`(?i)<(script|img|iframe|object|embed|svg|link|style|base|meta|b)\b`)

// markup counts the elements of a page by name.
func markup(page string) map[string]int {
	n := map[string]int{}
	for _, m := range tags.FindAllStringSubmatch(page, -1) {
		n[strings.ToLower(m[1])]++
	}
	return n
}

func TestHTMLHostileNamesStayText(t *testing.T) {
	in := made(12, 30, 5, 9)
	want := markup(render(t, in))
	hostile(in)
	in.Result.Episodes = in.Result.Episodes[:5]
	page := render(t, in)
	got := markup(page)
	// The problem and the reject that hostile adds bring no element of these.
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("elements %v, want those of the plain page %v", got, want)
	}
	for _, bad := range []string{"\u202e", "\x00", "\u2028"} {
		if strings.Contains(strings.ReplaceAll(page, assets.Inline(echarts()), ""), bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if strings.Contains(page, strings.Repeat("long ", 100)) {
		t.Error("a name of 10 kB is shown in full")
	}
	if strings.Contains(page, "url(http") {
		t.Error("a colour that is none reached a style")
	}
}

func echarts() string {
	source, _ := assets.Script("")
	return source
}

func TestHTMLTakesTheGivenEcharts(t *testing.T) {
	in := made(6, 5, 1, 3)
	in.Echarts = `var echarts={};echarts.version="6.1.0";"</script><!--"`
	page := render(t, in)
	if !strings.Contains(page, "echarts 6.1.0") || !strings.Contains(page, `"<\/script><\!--"`) {
		t.Error("the given echarts isn't inlined, or not made safe")
	}
}

func TestCountsAddUp(t *testing.T) {
	in := made(40, 30, 13, 5)
	f := gathered(t, in)
	verdicts := 0
	for _, n := range f.verdicts {
		verdicts += n
	}
	check := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	check("verdicts", verdicts, in.Windows.Len())
	sick := f.verdicts[cluster.Sick]
	byPathology, byClass, byDevice, ofDevices := 0, 0, 0, 0
	for _, n := range f.byPathology {
		byPathology += n
	}
	for _, n := range f.byClass {
		byClass += n
	}
	for _, d := range f.devices {
		byDevice += d.verdicts[cluster.Sick]
		ofDevices += len(d.windows)
	}
	check("sick by pathology", byPathology, sick)
	check("sick by class", byClass, sick)
	check("sick by device", byDevice, sick)
	check("windows by device", ofDevices, in.Windows.Len())
	for _, c := range in.Result.Classes {
		check(fmt.Sprintf("members of class %d", c.ID), f.byClass[c.ID], c.Members)
		check(fmt.Sprintf("devices of class %d", c.ID), len(f.classDevices[c.ID]), c.Devices)
	}
	// A class that the result doesn't list counts as outside, not as lost.
	lost := in.Result.Classes[0]
	in.Result.Classes = in.Result.Classes[1:]
	f = gathered(t, in)
	check("outside the classes", f.byClass[0], lost.Members)
}

// The rows of the map stand as the verdict and the cards do: a device with a long
// episode before one with a worse window.
func TestMapStandsAsTheVerdict(t *testing.T) {
	in := made(40, 60, 12, 3)
	in.Result.Episodes[5].Severity, in.Result.Episodes[5].Level = 10, "critical"
	in.Result.Episodes[0].Severity, in.Result.Episodes[0].Level = 2, "warn"
	f := gathered(t, in)
	m := heatmap.NewFleet(f.all, f.scale, f.fleetOptions())
	byWindow := heatmap.NewFleet(f.all, f.scale, heatmap.DefaultFleetOptions())
	same := true
	for i, d := range f.devices {
		same = same && byWindow.Devices[i].Key == d.Key
		if m.Devices[i].Key != d.Key {
			t.Errorf("row %d of the map is %v, the verdict has %v", i, m.Devices[i].Key, d.Key)
		}
	}
	if same {
		t.Error("the worst windows stand as the verdict does: nothing is tested")
	}
}

func BenchmarkHTML(b *testing.B) {
	for _, size := range [][2]int{{80, 40}, {1000, 1440}} {
		in := made(size[0], size[1], 60, 3)
		b.Run(fmt.Sprintf("devices=%d/windows=%d", size[0], size[1]), func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for range b.N {
				var page bytes.Buffer
				var err error
				if in.Digest, err = NewDigest(in, runtime.GOMAXPROCS(0), Labels{}); err != nil {
					b.Fatal(err)
				}
				if err := HTML(&page, in); err != nil {
					b.Fatal(err)
				}
				n = page.Len()
				if to := os.Getenv("IOPATHY_REPORT_TO"); to != "" && size[0] == 1000 {
					if err := os.WriteFile(to+".big.html", page.Bytes(), 0o644); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(n)/1e6, "MB/page")
		})
	}
}

// A trace with a relative clock begins at 0, and its map says so.
func TestHTMLRelativeClock(t *testing.T) {
	in := made(6, 10, 2, 3)
	first := in.Windows.At(0).StartNS
	for _, w := range in.Windows.Slice() {
		first = min(first, w.StartNS)
	}
	for i := range in.Windows.Len() {
		in.Windows.At(i).StartNS -= first
		in.Windows.At(i).EndNS -= first
		in.Result.Diagnoses.At(i).StartNS -= first
		in.Result.Diagnoses.At(i).EndNS -= first
	}
	for i := range in.Result.Episodes {
		in.Result.Episodes[i].FromNS -= first
		in.Result.Episodes[i].ToNS -= first
	}
	page := render(t, in)
	for _, w := range []string{`"startMS":0,`, "+0.0 s"} {
		if !strings.Contains(page, w) {
			t.Errorf("the page lacks %q", w)
		}
	}
}

// A budget lists the costliest episodes; what is left out is counted and stays
// in every total.
func TestBudget(t *testing.T) {
	in := made(8, 30, 6, 1)
	in.Budget = 2
	var page, doc, whole bytes.Buffer
	if err := HTML(&page, in); err != nil {
		t.Fatal(err)
	}
	if err := JSON(&doc, in); err != nil {
		t.Fatal(err)
	}
	in.Budget = 0
	if err := JSON(&whole, in); err != nil {
		t.Fatal(err)
	}
	type report struct {
		Totals   map[string]any
		Episodes []struct {
			SickSeconds float64 `json:"sick_seconds"`
		}
	}
	var few, all report
	if err := json.Unmarshal(doc.Bytes(), &few); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(whole.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	n := len(all.Episodes)
	if n < 4 || len(few.Episodes) != 2 || few.Totals["episodes_left_out"] != float64(n-2) || all.Totals["episodes_left_out"] != 0.0 {
		t.Fatalf("%d of %d episodes listed, %v left out", len(few.Episodes), n, few.Totals["episodes_left_out"])
	}
	longest := 0.0
	for _, e := range all.Episodes {
		longest = max(longest, e.SickSeconds)
	}
	if few.Episodes[0].SickSeconds != longest {
		t.Errorf("the first of a budget was sick for %v s, the costliest for %v", few.Episodes[0].SickSeconds, longest)
	}
	for _, key := range []string{"episodes", "sick_seconds", "delayed_bytes", "worst_episode_severity"} {
		if few.Totals[key] != all.Totals[key] {
			t.Errorf("total %s is %v under a budget, else %v", key, few.Totals[key], all.Totals[key])
		}
	}
	if want := fmt.Sprintf("%d more episodes left out by the budget of 2", n-2); !strings.Contains(page.String(), want) {
		t.Errorf("the page doesn't say %q", want)
	}
}

// The map is a picture: it names what it is, its table covers what it draws,
// and another seed changes nothing but it.
func TestMapOfWindows(t *testing.T) {
	page := func(in *Input) string {
		var b bytes.Buffer
		if err := HTML(&b, in); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	in := made(8, 30, 6, 1)
	one := page(in)
	if !strings.Contains(one, "A picture only") || !strings.Contains(one, `aria-label="Map of windows by UMAP`) {
		t.Error("the page has no map of windows")
	}
	f := gathered(t, in)
	p := newPage(f)
	f.neighbourhood(p)
	if len(p.Neighbours.Rows) != len(f.groups) {
		t.Errorf("the map's table has %d rows for %d groups", len(p.Neighbours.Rows), len(f.groups))
	}
	in.Seed++
	other := page(in)
	cut := func(s string) string {
		from, to := strings.Index(s, "<h3>Map of windows"), strings.Index(s, "whose nearest window on the map")
		return strings.ReplaceAll(s[:from]+s[to:], "seed 8", "seed 7")
	}
	if one == other || cut(one) != cut(other) {
		t.Error("another seed changes nothing, or more than the map")
	}
	in.Points = features.Rows[reduce.Point]{}
	if strings.Contains(page(in), "Map of windows") {
		t.Error("a map without points")
	}
}
