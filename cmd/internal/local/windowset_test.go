package local

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// listed gives what Features does with the windows in memory.
func listed(ws *Windows, ticks int64, err error) ([]features.Window, int64, error) {
	if err != nil {
		return nil, ticks, err
	}
	return ws.Slice(), ticks, nil
}

// minutes makes windows of a minute like those that reads of 4 KiB give: of a
// device some that are healthy, and, where it is a sick one, a slow hour or a deep
// queue. One in eleven is idle. x is the state of Knuth's MMIX generator.
func minutes(key features.Key, device, from, n int, x *uint64) []features.Window {
	next := func() float64 {
		*x = *x*6364136223846793005 + 1442695040888963407
		return float64(*x>>11) / (1 << 53)
	}
	ws := make([]features.Window, n)
	for i := range ws {
		w := &ws[i]
		*w = features.Window{Key: key, StartNS: manyFrom + int64(from+i)*60e9, EndNS: manyFrom + int64(from+i+1)*60e9, Kind: ingest.KindD2C, TickNS: 5e8, Coverage: 1, Known: 1, CoveredTicks: 120}
		for k := range w.Context {
			w.Context[k] = math.NaN()
		}
		if (device+i)%11 == 0 {
			w.Idle, w.Missing = true, 1<<features.N-1
			continue
		}
		latency, depth := 100*(0.8+0.4*next()), 1+next() // us
		switch hour := (from + i) / 60; {
		case device%10 == 3 && hour%4 == 2: // slow
			latency *= 40
		case device%10 == 6 && hour%4 == 3: // deep
			latency, depth = latency*50, 60+8*next()
		}
		w.Requests = int64(60e6 / latency * depth * 0.5)
		w.Vector = features.Vector{
			features.LatencyLoadResidual: math.Log10(latency) - math.Log10(depth), features.LatencyKurtosis: 4 + next(), features.ThroughputEntropy: 0.1 + 0.1*next(),
			features.QueueDepthLevel: math.Log10(depth), features.QueueDepthJumpRate: 0.2 * next(), features.BusyFraction: 0.5,
		}
		c := &w.Context
		c[features.CtxIOPS], c[features.CtxSizeMean], c[features.CtxReadSizeMean] = float64(w.Requests)/60, 4096, 4096
		c[features.CtxBytesPerS], c[features.CtxReadShare], c[features.CtxWriteShare] = c[features.CtxIOPS]*4096, 1, 0
		c[features.CtxLatencyMean], c[features.CtxLatencyP50], c[features.CtxLatencyP95], c[features.CtxLatencyP99] = latency/1e3, latency/1e3, latency/400, latency/300
		c[features.CtxMeanDepth], c[features.CtxPeakDepth], c[features.CtxIdleFraction], c[features.CtxWriteBytesShare] = depth, 2*depth, 0.5, 0
	}
	return ws
}

const manyFrom = 1_767_225_600e9 // 2026-01-01

// manyWindows makes a lake that holds windows of a minute and nothing else, of so
// many devices, ten a host, each so many, after the changes.
func manyWindows(t *testing.T, dir string, devices, each int, change ...func(device int, ws []features.Window)) *Job {
	t.Helper()
	j := &Job{Config: configs.Default(), Lake: dir, RunID: "made", Version: "test"}
	j.Config.Window, j.Config.Tick = 60e9, 5e8
	lock, err := lake.NewLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	keep := newKeeping(j, nil)
	var cells []lake.Cell
	part := windowPart{keep: keep}
	x := uint64(1)
	for device := range devices {
		c := cell{fmt.Sprintf("h%05d", device/10), "2026-01-01"}
		if device%10 == 0 {
			if err := part.close(); err != nil {
				t.Fatal(err)
			}
			part = windowPart{keep: keep}
			cells = append(cells, lake.Cell{Host: c.host, Date: c.date, Of: "made", WindowNS: 60e9, TickNS: 5e8})
		}
		ws := minutes(features.Key{Host: c.host, Device: fmt.Sprintf("sd%d", device%10)}, device, 0, each, &x)
		for _, fn := range change {
			fn(device, ws)
		}
		if err := part.add(c, ws); err != nil {
			t.Fatal(err)
		}
	}
	if err := part.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := keep.store(lock, cells, lake.Windows); err != nil {
		t.Fatal(err)
	}
	return j
}

// judgedMany fits and labels the windows of a lake, of which so many lie in memory.
func judgedMany(t *testing.T, j *Job, inMemory int) *Diagnosed {
	t.Helper()
	catalogue, err := configs.LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := cluster.Compile(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	j.memoryWindows = inMemory
	windows, err := j.Windows()
	if err != nil {
		t.Fatal(err)
	}
	d, err := j.Diagnose(windows, nil, rules, false)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Windows in a file and windows in memory give the same, to the byte, whether they
// come in order or not.
func TestWindowsInAFile(t *testing.T) {
	dir := t.TempDir()
	j := manyWindows(t, dir, 20, 240)
	catalogue, err := configs.LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, most := range []int{1 << 20, 1000} {
		d := judgedMany(t, j, most)
		if inFile := d.windows.inFile(); inFile != (most < 4800) {
			t.Fatalf("of at most %d windows in memory: in a file %v", most, inFile)
		}
		if len(d.Result.Episodes) == 0 || d.Result.Model != cluster.Fitted {
			t.Fatalf("%d episodes by a %s model: nothing is compared", len(d.Result.Episodes), d.Result.Model)
		}
		out := t.TempDir()
		if _, err := j.Write(context.Background(), out, d, catalogue, &Ingested{}); err != nil {
			t.Fatal(err)
		}
		if err := j.StoreLabels(d); err != nil {
			t.Fatal(err)
		}
		model, err := encodeModels(d.Models)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{"model": string(model)}
		for name, hash := range tablesOf(t, dir, lake.Labels, lake.Baselines) {
			got[name] = hash
		}
		for _, name := range []string{"labels.csv", "labels.parquet", "report.html", "report.json"} {
			data, err := os.ReadFile(filepath.Join(out, name))
			if err != nil {
				t.Fatal(err)
			}
			got[name] = string(data)
		}
		if most == 1<<20 {
			files = got
		}
		for name := range files {
			if got[name] != files[name] {
				t.Errorf("%s is another where at most %d windows lie in memory", name, most)
			}
		}
		d.Close()
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".rows*")); len(left) > 0 {
		t.Errorf("left in the lake: %v", left)
	}
	pile := Job{Lake: dir, memoryWindows: 10}
	p := pile.pile()
	var x uint64
	want := minutes(features.Key{Host: "b", Device: "z"}, 3, 0, 40, &x)
	want = append(want, minutes(features.Key{Host: "a", Device: "y"}, 3, 0, 40, &x)...)
	for i := range want {
		k := (i * 37) % len(want) // 37 and 80 have no common divisor
		if err := p.add(&want[k]); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := p.windows()
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	sortWindows(want)
	for i := range want {
		if got := ws.At(i); fmt.Sprint(*got) != fmt.Sprint(want[i]) {
			t.Fatalf("window %d of a file is\n%+v, want\n%+v", i, *got, want[i])
		}
	}
}

// A row gives back all that it was made of, whatever stands in it.
func TestRows(t *testing.T) {
	dir := t.TempDir()
	key := features.Key{Host: "h", Device: "d"}
	w := minutes(key, 3, 0, 1, new(uint64))[0]
	w.Ladder, w.Missing = features.Packed("\x01\x00\xff"), 5
	w.Context[features.CtxErrors] = math.Inf(1)
	readings := []features.Reading{{Query: 3, Value: -2.5, TimeNS: 7, Text: "ata1: <b>\x00"}, {Query: 9}}
	causes := []cluster.Cause{{ID: "c", Votes: 2, Of: 3}}
	said := []cluster.Diagnosis{
		{Key: key, StartNS: 1, EndNS: 2, Verdict: cluster.Sick, Pathology: "sudden-stall", Nearest: "cache-thrash", ClassID: 4, Severity: 3.5, Confidence: 0.7, Margin: -0.1, Scores: []float64{1, -2, 0},
			RootCause: "c", RootCauseShare: 0.5, Causes: causes, Evidence: []string{"so", "and so"}, Readings: []cluster.Reading{{Query: "q", Value: 1, TimeNS: 2, Text: "t"}}, Coverage: 0.9, Model: "fitted"},
		{Key: key, StartNS: 2, EndNS: 3, Verdict: cluster.Idle, Scores: make([]float64, 3), Confidence: 1},
	}
	j := Job{Lake: dir, memoryWindows: 1}
	p := j.pile()
	for range said {
		if err := p.add(&w); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := p.windows()
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	if err := ws.hear(1, [][]features.Reading{readings}); err != nil {
		t.Fatal(err)
	}
	set, err := newSaidSet(ws)
	if err != nil {
		t.Fatal(err)
	}
	defer set.close()
	for i := range said {
		set.put(i, &said[i])
	}
	for i := range said {
		if got := set.at(i); set.err != nil || !reflect.DeepEqual(*got, said[i]) {
			t.Errorf("said is\n%+v, want\n%+v", *got, said[i])
		}
	}
	if got := ws.At(0); len(got.Evidence) > 0 || fmt.Sprintf("%#v", *got) != fmt.Sprintf("%#v", w) {
		t.Errorf("window is\n%#v, want\n%#v", *got, w)
	}
	if got := ws.At(1).Evidence; !reflect.DeepEqual(got, readings) {
		t.Errorf("evidence is %+v, want %+v", got, readings)
	}
	if ws.deafen(); ws.At(1).Evidence != nil {
		t.Error("evidence is still told")
	}
}

// What can't be read is an error of who asked, not the end of the program.
func TestRowsLost(t *testing.T) {
	r, err := newRowFile(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.add([]byte("a row")); err != nil {
		t.Fatal(err)
	}
	if got := string(r.row(0)); got != "a row" {
		t.Errorf("row is %q", got)
	}
	r.pages = [rowPages]rowPage{}
	if err := r.f.Truncate(2); err != nil {
		t.Fatal(err)
	}
	lost := func() (err error) {
		defer Rescue(&err)
		r.row(0)
		return nil
	}
	if err := lost(); err == nil || !strings.Contains(err.Error(), "reading windows beside memory") {
		t.Errorf("a file that was cut short gives %v", err)
	}
	r.close()
}

// A file of windows that is cut short while the report is made, anywhere, is an error
// of the report, and of the labels.
func TestWindowsLostUnderTheReport(t *testing.T) {
	j := manyWindows(t, t.TempDir(), 10, 120)
	catalogue, err := configs.LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	d := judgedMany(t, j, 100)
	if !d.windows.inFile() {
		t.Fatal("the windows lie in memory")
	}
	in := &reports.Input{Windows: d.Windows, Points: d.Points, Result: d.Result, Catalogue: catalogue, Budget: j.Config.Budget}
	page := func() (err error) {
		defer Rescue(&err)
		return reports.HTML(io.Discard, in)
	}
	if err := page(); err != nil {
		t.Fatal(err)
	}
	check := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "reading windows beside memory") {
			t.Errorf("%s of windows that can't be read: %v", what, err)
		}
	}
	for _, eighths := range []int64{7, 4, 0} {
		d.windows.file.pages = [rowPages]rowPage{}
		if err := d.windows.file.f.Truncate(d.windows.file.size * eighths / 8); err != nil {
			t.Fatal(err)
		}
		check("a page", page())
		_, err := j.Write(context.Background(), t.TempDir(), d, catalogue, &Ingested{})
		check("a report", err)
		check("labels", j.StoreLabels(d))
	}
}

// What lies in memory of each window while many are judged: so many bytes more at
// the peak of what is alive, and so many of what is said of them. The bound of the first
// holds for devices that are sick for a twentieth of the time. IOPATHY_SOAK_LAKE is a
// directory in which a lake of IOPATHY_SOAK_WINDOWS windows is left, and no more is done.
func TestMemoryOfWindows(t *testing.T) {
	if dir := os.Getenv("IOPATHY_SOAK_LAKE"); dir != "" {
		n, err := strconv.Atoi(os.Getenv("IOPATHY_SOAK_WINDOWS"))
		if err != nil {
			t.Fatal(err)
		}
		manyWindows(t, dir, n/1440, 1440)
		return
	}
	if testing.Short() {
		t.Skip("takes some seconds of CPU")
	}
	const alive, kept = 150, 40
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	few, many := memoryOf(t, 6_000), memoryOf(t, 18_000)
	per := func(at int) float64 { return (float64(many[at]) - float64(few[at])) / 12_000 }
	t.Logf("%.0f bytes of each window are alive at the peak, %.0f when all is said", per(0), per(1))
	if per(0) > alive {
		t.Errorf("%.0f bytes of a window are alive at the peak, more than %d", per(0), alive)
	}
	if per(1) > kept {
		t.Errorf("%.0f bytes of a window are kept, more than %d", per(1), kept)
	}
}

// memoryOf is what is alive at the peak of judging so many windows, and when all
// is said.
func memoryOf(t *testing.T, n int) [2]uint64 {
	t.Helper()
	j := manyWindows(t, t.TempDir(), n/600, 600)
	live := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	runtime.GC()
	before := live()
	peak, end, done := before, make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			peak = max(peak, live())
			select {
			case <-end:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	d := judgedMany(t, j, 1000)
	defer d.Close()
	close(end)
	<-done
	runtime.GC()
	after := live()
	runtime.KeepAlive(d)
	return [2]uint64{peak - before, max(after, before) - before}
}
