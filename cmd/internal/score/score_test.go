package score

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var eight = []string{
	"queue-saturation", "burst-congestion", "media-degradation", "bandwidth-saturation",
	"metadata-storm", "cache-thrash", "sudden-stall", "writeback-stall",
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// fixture reads the made-up corpus.
func fixture(t *testing.T) ([]Said, []Device, int64) {
	t.Helper()
	said, window, err := ReadLabels(open(t, "testdata/corpus/said.csv"), func(Key) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	runs, err := ReadTruth(open(t, "testdata/corpus/labels.csv"))
	if err != nil {
		t.Fatal(err)
	}
	var devices []Device
	for _, r := range runs {
		d := Device{Faults: r.Faults, Cause: r.Cause}
		if d.Key, d.Requests, err = CountRequests(open(t, filepath.Join("testdata/corpus/runs", r.Name+".csv")), window); err != nil {
			t.Fatal(err)
		}
		devices = append(devices, d)
	}
	return said, devices, window
}

// The oracle is the scorer of the labelled recordings; see testdata/README.md.
func TestScoreAgreesWithTheScorer(t *testing.T) {
	said, devices, window := fixture(t)
	m := Score(said, devices, eight, window)
	data, err := os.ReadFile("testdata/scorer.json")
	if err != nil {
		t.Fatal(err)
	}
	var want, got map[string]any
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if data, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	for name, w := range want {
		agree(t, name, got[name], w)
	}
	if len(want) != 17 {
		t.Errorf("the scorer gives %d measures, want 17", len(want))
	}
}

// agree compares what JSON holds; numbers to the digits that were printed.
func agree(t *testing.T, what string, got, want any) {
	t.Helper()
	switch w := want.(type) {
	case float64:
		if g, ok := got.(float64); !ok || math.Abs(g-w) > 5e-10 {
			t.Errorf("%s is %v, the scorer says %v", what, got, w)
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			t.Fatalf("%s has another length", what)
		}
		for i := range w {
			agree(t, what, g[i], w[i])
		}
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			t.Fatalf("%s is %T", what, got)
		}
		for k := range w {
			agree(t, what+"."+k, g[k], w[k])
		}
	default:
		if got != want {
			t.Errorf("%s is %v, the scorer says %v", what, got, want)
		}
	}
}

func TestScoreIsIndependentOfOrder(t *testing.T) {
	said, devices, window := fixture(t)
	want := Score(said, devices, eight, window)
	for i, j := 0, len(said)-1; i < j; i, j = i+1, j-1 {
		said[i], said[j] = said[j], said[i]
	}
	for i, j := 0, len(devices)-1; i < j; i, j = i+1, j-1 {
		devices[i], devices[j] = devices[j], devices[i]
	}
	if got := Score(said, devices, eight, window); !reflect.DeepEqual(got, want) {
		t.Errorf("another order gives %+v, want %+v", got, want)
	}
}

// Two devices, counted by hand. a is sick of x from 10 to 40 and said healthy,
// x, x, y in its four windows of 10; b is well and said healthy, x.
func TestScoreByHand(t *testing.T) {
	a, b := Key{"h", "a"}, Key{"h", "b"}
	truth := []Device{{Key: a, Faults: []Fault{{Label: "x", FromNS: 10, ToNS: 40}}, Cause: Expectation{What: "how", Right: []string{"c1"}}}, {Key: b}}
	row := func(k Key, start int64, word, class string, severity, confidence float64, cause string) Said {
		s := Said{Key: k, StartNS: start, EndNS: start + 10, Verdict: "sick", Pathology: word, ClassID: class, Severity: severity, Confidence: confidence, RootCause: cause}
		if word == "healthy" {
			s.Verdict, s.Pathology = "healthy", ""
		}
		return s
	}
	said := []Said{
		row(a, 0, "healthy", "", 0, 0.95, ""),
		row(a, 10, "x", "1", 2, 0.85, "c1"), row(a, 20, "x", "1", 2, 0.75, "c2"), row(a, 30, "y", "2", 5, 0.75, ""),
		row(b, 0, "healthy", "", 0, 1, ""), row(b, 10, "x", "1", 1.5, 0.35, ""),
	}
	m := Score(said, truth, []string{"x", "y"}, 10)
	check := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	// healthy: 2 right of 2 said and 3 true; x: 2 of 3 and 3; y: 0 of 1 and 0.
	check("macroF1", m.MacroF1, (0.8+2.0/3+0)/3)
	check("detectF1", m.DetectF1, 2*0.75*1/1.75) // 3 of 4 called sick are, all 3 sick are called so
	check("falseAlarm", m.FalseAlarm, 1.0/3)
	check("deviceAcc", m.DeviceAcc, 0) // y has severity 5, x 2 + 2
	// truth {1,2,3}, classes {1,2},{3}: no pair of pairs to be had but by chance: s = 1, sa = 3, sb = 1, of 3 pairs.
	check("ari", m.ARI, 0)
	check("ariCoverage", m.ARICoverage, 1)
	check("calibration", m.Calibration, (1*math.Abs(0.35-0)+2*math.Abs(0.75-0.5)+1*math.Abs(0.85-1)+2*math.Abs(0.975-1))/6)
	if want := [][]int{{2, 1, 0}, {0, 2, 1}, {0, 0, 0}}; !reflect.DeepEqual(m.Confusion.Counts, want) {
		t.Errorf("confusion is %v, want %v", m.Confusion.Counts, want)
	}
	// c1 and c2 have a window each; the first by name stands, and is right.
	if want := []CauseScore{{Label: "x", What: "how", Accepted: []string{"c1"}, Devices: 1, Right: 1, Said: map[string]int{"c1": 1}}}; !reflect.DeepEqual(m.Causes, want) {
		t.Errorf("causes are %+v, want %+v", m.Causes, want)
	}
	if m.CoverageKnown {
		t.Error("coverage is known of a truth that names no windows")
	}
}

func TestTruthOfWindow(t *testing.T) {
	check := func(what string, f []Fault, from, to int64, label string, counts bool) {
		t.Helper()
		d := Device{Faults: f}
		if l, c := d.at(from, to); l != label || c != counts {
			t.Errorf("%s: %q %v, want %q %v", what, l, c, label, counts)
		}
	}
	x := []Fault{{Label: "x", FromNS: 100, ToNS: 200}}
	check("before", x, 50, 100, "healthy", true)
	check("a touch", x, 50, 101, "", false)
	check("half", x, 50, 150, "x", true)
	check("less than half", x, 49, 149, "", false)
	check("after", x, 200, 300, "healthy", true)
	check("no fault", nil, 0, 100, "healthy", true)
	two := []Fault{{Label: "x", FromNS: 0, ToNS: 50}, {Label: "y", FromNS: 50, ToNS: 100}}
	check("two halves, the first", two, 0, 100, "x", true)
	s := int64(1e9)
	stalls := []Fault{{Label: "sudden-stall", FromNS: 0, ToNS: 100 * s, Stalls: [][2]int64{{5 * s, 5*s + 2e8}, {30 * s, 30*s + 1e8}}}}
	check("0.2 s of a stall", stalls, 0, 10*s, "sudden-stall", true)
	check("0.1 s of a stall", stalls, 30*s, 40*s, "", false)
	check("a span without a list", []Fault{{Label: "sudden-stall", FromNS: 0, ToNS: 3e8}}, 0, 10*s, "sudden-stall", true)
	check("a list without a stall", []Fault{{Label: "sudden-stall", FromNS: 0, ToNS: s, Stalls: [][2]int64{}}}, 0, s, "", false)
}

// From the table of the paper's kind of example: {1,1,2,2} against others.
func TestARI(t *testing.T) {
	check := func(a, b string, want float64) {
		t.Helper()
		if got := ARI(strings.Split(a, ""), strings.Split(b, "")); math.Abs(got-want) > 1e-12 {
			t.Errorf("ARI of %s and %s is %v, want %v", a, b, got, want)
		}
	}
	check("1122", "aabb", 1)
	check("1122", "bbaa", 1)
	check("1122", "abab", (0-2.0*2/6)/(2-2.0*2/6))      // no pair in common, 2 and 2 of 6
	check("1122", "aabc", (1-2.0*1/6)/(1.5-2.0*1/6))    // sklearn's documentation gives 0.57
	check("1111", "aaaa", 1)                            // one class on both sides
	check("111222", "aabbcc", (2-6.0*3/15)/(4.5-6.0/5)) // sklearn gives 0.24
	if ARI([]string{"1"}, []string{"1"}) != 0 {
		t.Error("one thing has an index")
	}
}

func TestBadTables(t *testing.T) {
	labels := "host,device,window_start_ns,window_end_ns,verdict,pathology,class_id,severity,confidence,root_cause\n"
	check := func(what, text, want string, read func(string) error) {
		t.Helper()
		if err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	said := func(s string) error {
		_, _, err := ReadLabels(strings.NewReader(s), func(Key) bool { return true })
		return err
	}
	check("labels, empty", "", "line 1: no header", said)
	check("labels, no verdict", "host,device,window_start_ns,window_end_ns\n", "no column verdict", said)
	check("labels, torn", labels+"h,d,0,10,sick,x,1,2,.5,\nh,d,10", "wrong number of fields", said)
	check("labels, twice", labels+"h,d,0,10,sick,x,1,2,.5,\nh,d,0,10,sick,x,1,2,.5,\n", "line 3: the window of h/d at 0 stands twice", said)
	check("labels, two lengths", labels+"h,d,0,10,sick,x,1,2,.5,\nh,d,10,30,sick,x,1,2,.5,\n", "line 3: a window of 20 ns", said)
	check("labels, backwards", labels+"h,d,10,0,sick,x,1,2,.5,\n", "line 2: the window ends at 0", said)
	check("labels, no number", labels+"h,d,0,10,sick,x,1,high,.5,\n", "line 2: severity", said)
	faults := func(s string) error { _, err := ReadFaults(strings.NewReader(s)); return err }
	head := "host,device,label,fault_start_ns,fault_end_ns\n"
	check("faults, no label", head+"h,d,,1,2\n", "line 2: no label", faults)
	check("faults, backwards", head+"h,d,x,2,2\n", "line 2: the fault ends at 2", faults)
	check("faults, no end", head+"h,d,x,2,\n", "line 2: fault_end_ns", faults)
	truth := func(s string) error { _, err := ReadTruth(strings.NewReader(s)); return err }
	head = "run,label,parameters,fault_start_ns,fault_end_ns\n"
	check("truth, a path", head+"../x,healthy,,,\n", "is no name of a file", truth)
	check("truth, no JSON", head+"r,x,{,1,2\n", "line 2: parameters", truth)
	count := func(s string) error { _, _, err := CountRequests(strings.NewReader(s), 10); return err }
	check("recording, two devices", "t,h,d,x\n1,h,a,\n2,h,b,\n", "line 3: h/b beside h/a", count)
	check("recording, few columns", "t,h,d,x\n1,h\n", "line 2: 2 columns", count)
	check("recording, no time", "t,h,d,x\nx,h,d,\n", "line 2: time", count)
}

// What the parameters tell of the cause.
func TestExpectations(t *testing.T) {
	check := func(label, parameters, what string) {
		t.Helper()
		text := "run,label,parameters,fault_start_ns,fault_end_ns\nr," + label + ",\"" + strings.ReplaceAll(parameters, `"`, `""`) + "\",1,2\n"
		runs, err := ReadTruth(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := runs[0].Cause; got.What != what || (what == "") != (got.Right == nil) {
			t.Errorf("%s %s: %+v, want %q", label, parameters, got, what)
		}
	}
	check("media-degradation", `{"notes":{"variant":"region"}}`, "region")
	check("media-degradation", `{"notes":{"variant":"else"}}`, "")
	check("bandwidth-saturation", `{"notes":{"cap_mbs":3,"throttle_mbs":3}}`, "cgroup limit")
	check("bandwidth-saturation", `{"notes":{"cap_mbs":3}}`, "device cap")
	check("bandwidth-saturation", `{"notes":{}}`, "")
	check("writeback-stall", `{"notes":{"how":"sfr"}}`, "sync_file_range")
	check("queue-saturation", `{"notes":{"mode":"step"}}`, "step")
	check("queue-saturation", `{"notes":{"mode":"step","procs":4}}`, "step")
	check("queue-saturation", `{"notes":{"mode":"step","procs":1}}`, "step of one")
	check("sudden-stall", `{"notes":{"mode":"step"}}`, "")
}

func FuzzReaders(f *testing.F) {
	f.Add("host,device,window_start_ns,window_end_ns,verdict,pathology,class_id,severity,confidence,root_cause\nh,d,0,10,sick,x,1,2,.5,c\n")
	f.Add("host,device,label,fault_start_ns,fault_end_ns\nh,d,x,1,2\n")
	f.Add("run,label,parameters,fault_start_ns,fault_end_ns\nr,x,\"{\"\"stalls_ns\"\":[[1,2]]}\",1,2\n")
	f.Add("time_ns,host,device,pid\n-9223372036854775808,h,d,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		said, window, err := ReadLabels(strings.NewReader(text), func(Key) bool { return true })
		if err == nil && len(said) > 0 && window <= 0 {
			t.Errorf("windows of %d ns", window)
		}
		devices, err := ReadFaults(strings.NewReader(text))
		if err == nil {
			for _, d := range devices {
				for _, f := range d.Faults {
					if f.ToNS <= f.FromNS {
						t.Errorf("a fault from %d to %d", f.FromNS, f.ToNS)
					}
				}
			}
		}
		_, _ = ReadTruth(strings.NewReader(text)) // must not panic
		_, n, err := CountRequests(strings.NewReader(text), 10)
		for at := range n {
			if err == nil && at%10 != 0 {
				t.Errorf("a window starts at %d", at)
			}
		}
	})
}
