package analysis

import (
	"math"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/knee"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

const gibi = int64(1) << 30

// reads folds reads of one device with one in flight; each says where it goes
// and how long it takes.
func reads(n int, one func(i int) (offset, size, latency int64)) *features.Profile {
	o := features.DefaultOptions()
	p := features.NewProfile(o)
	f := features.NewFold(features.Key{Host: "h", Device: "d"}, o, 1e10, p.AddTick, func(*features.Window) {})
	f.Observe(p, 0, math.MaxInt64)
	at := int64(1e9)
	for i := range n {
		offset, size, latency := one(i)
		at += latency
		f.Add(&ingest.Event{TimeNS: at, LatencyNS: latency, Op: ingest.OpRead, OffsetBytes: offset, SizeBytes: size, QueueNS: -1, Kind: ingest.KindQ2C})
	}
	f.Close(0)
	return p
}

func TestSlowRegion(t *testing.T) {
	var m mixed
	anywhere := func() int64 { return int64(m.next()*float64(64*gibi)) / 4096 * 4096 }
	around := func(ns float64) int64 { return int64(ns * (0.7 + 0.6*m.next())) }
	in := func(at int64) bool { return at >= 20*gibi && at < 23*gibi }
	check := func(name string, told, holds bool, p *features.Profile) Finding {
		t.Helper()
		f := SlowRegion(features.Key{}, p)
		if f.Told != told || f.Holds != holds {
			t.Errorf("%s: told %v, holds %v: %s", name, f.Told, f.Holds, f.Says)
		}
		return f
	}
	// 3 of 64 GiB take 5 times as long.
	f := check("planted", true, true, reads(20_000, func(int) (int64, int64, int64) {
		at := anywhere()
		if in(at) {
			return at, 4096, around(5e6)
		}
		return at, 4096, around(1e6)
	}))
	if f.Holds && (f.Figures[0].Value != float64(20*gibi) || f.Figures[1].Value != float64(23*gibi) || math.Abs(f.Figures[2].Value/5-1) > 0.1 || f.Figures[2].Low > 5 || f.Figures[2].High < 5 || math.Abs(f.Figures[5].Value-3./64) > 0.01) {
		t.Errorf("planted: %+v", f.Figures)
	}
	// The same in a short recording.
	check("few", true, true, reads(1_000, func(int) (int64, int64, int64) {
		at := anywhere()
		if at < 8*gibi {
			return at, 4096, around(5e6)
		}
		return at, 4096, around(1e6)
	}))
	// A third of the reads there are tried again, 20 times as long.
	check("retries", true, true, reads(20_000, func(int) (int64, int64, int64) {
		at := anywhere()
		if in(at) && m.next() < 0.33 {
			return at, 4096, around(20e6)
		}
		return at, 4096, around(1e6)
	}))
	check("none", true, false, reads(20_000, func(int) (int64, int64, int64) { return anywhere(), 4096, around(1e6) }))
	// Slow for a time, wherever the reads go.
	check("a bad time", true, false, reads(20_000, func(i int) (int64, int64, int64) {
		if i > 8000 && i < 12000 {
			return anywhere(), 4096, around(5e6)
		}
		return anywhere(), 4096, around(1e6)
	}))
	// A scan from one end to the other while the device gets slow: which of the
	// two it is can't be told.
	check("scan", false, false, reads(20_000, func(i int) (int64, int64, int64) {
		if i > 8000 {
			return int64(i) << 20, 1 << 20, around(5e6)
		}
		return int64(i) << 20, 1 << 20, around(1e6)
	}))
	check("larger there", true, false, reads(20_000, func(int) (int64, int64, int64) {
		at := anywhere()
		if in(at) {
			return at, 1 << 20, around(5e6)
		}
		return at, 131072, around(1e6)
	}))
}

// The rows of a profile give the same profile, and two halves the whole.
func TestProfileRows(t *testing.T) {
	var m mixed
	one := func(int) (int64, int64, int64) {
		return int64(m.next() * float64(900*gibi)), 4096, int64(1e5 + m.next()*3e8)
	}
	a, b := reads(3000, one), reads(500, one)
	whole := features.NewProfile(features.DefaultOptions())
	for _, p := range []*features.Profile{a, b} {
		d := features.DeviceProfile{Key: features.Key{Host: "h", Device: "d"}, TickNS: p.TickNS(), Rows: p.Rows()}
		back, err := features.ProfilesFromColumns(features.ProfileColumns([]features.DeviceProfile{d}))
		if err != nil || len(back) != 1 {
			t.Fatal(err, len(back))
		}
		again := back[0].Profile()
		if got, want := again.Rows(), p.Rows(); !equalRows(got, want) {
			t.Errorf("%d rows became %d others", len(want), len(got))
		}
		whole.Merge(again)
	}
	b.Merge(a)
	if !equalRows(whole.Rows(), b.Rows()) {
		t.Error("a + b is not b + a")
	}
}

func equalRows(a, b []features.ProfileRow) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// stalled is a device that completes a request every 5 ms but for the times given.
func stalled(first int64, stalls ...[2]int64) *features.Profile {
	at := first
	return reads(2000, func(int) (int64, int64, int64) {
		latency := int64(5e6)
		for _, s := range stalls {
			if at <= s[0] && s[0] < at+latency {
				latency += s[1] - s[0]
			}
		}
		at += latency
		return 0, 4096, latency
	})
}

func TestHostPauses(t *testing.T) {
	host := [2]int64{3e9, 4.5e9}
	own := [2]int64{6e9, 6.8e9}
	all := map[string]*features.Profile{"sda": stalled(1e9, host), "sdb": stalled(1e9, host, own), "sdc": stalled(1e9)}
	found := HostPauses(all)
	if len(found) != 1 || len(found[0].Devices) != 2 || math.Abs(float64(found[0].ToNS-found[0].FromNS)-1.5e9) > 2e7 {
		t.Fatalf("found %+v", found)
	}
	// The third went on working.
	if h := found[0]; !h.RefutedBy("sdc", &features.Tick{StartNS: 3.5e9, Reads: 20}, 1e8) || h.RefutedBy("sdc", &features.Tick{StartNS: 3.5e9}, 1e8) || h.RefutedBy("sdb", &features.Tick{StartNS: 3.5e9, Reads: 1}, 1e8) || h.RefutedBy("sdc", &features.Tick{StartNS: 4.45e9, Reads: 1}, 1e8) {
		t.Error("who refutes a pause")
	}
	if f := Pauses("h", found, 3); !f.Told || !f.Holds {
		t.Error(f.Says)
	}
	if f := Pauses("h", nil, 1); f.Told || f.Holds {
		t.Error(f.Says)
	}
	if f, ok := PausedDevice(features.Key{Host: "h", Device: "sdb"}, found); !ok || !f.Holds || f.Figures[0].Value != 1 {
		t.Errorf("sdb: %v %+v", ok, f)
	}
	if _, ok := PausedDevice(features.Key{Host: "h", Device: "sdc"}, found); ok {
		t.Error("sdc did not pause")
	}
	// One device alone, and two whose stops lie 50 ms apart, are no host's.
	late := [2]int64{3.05e9, 4.5e9}
	for _, p := range []map[string]*features.Profile{{"sda": stalled(1e9, host), "sdb": stalled(1e9, own)}, {"sda": stalled(1e9, host), "sdb": stalled(1e9, late)}} {
		if found := HostPauses(p); len(found) != 0 {
			t.Errorf("found %+v", found)
		}
	}
}

func TestNeighbours(t *testing.T) {
	e := func(host, device string, from, to int64, severity float64) cluster.Episode {
		return cluster.Episode{Key: features.Key{Host: host, Device: device}, FromNS: from, ToNS: to, Severity: severity, Pathology: "sudden-stall"}
	}
	key := features.Key{Host: "a", Device: "1"}
	f, ok := Neighbours(key, []cluster.Episode{e("a", "1", 0, 10, 1), e("a", "1", 100, 200, 3), e("a", "2", 150, 160, 1), e("a", "3", 200, 300, 1), e("b", "1", 90, 101, 1)}, map[string]int{"a": 3, "b": 8})
	if !ok || !f.Holds || f.Figures[0].Value != 1 || f.Figures[1].Value != 2 || f.Figures[2].Value != 1 || f.FromNS != 100 {
		t.Errorf("%v %+v", ok, f)
	}
	if f, _ := Neighbours(key, []cluster.Episode{e("a", "1", 0, 10, 1)}, map[string]int{"a": 1}); f.Told {
		t.Error(f.Says)
	}
}

func window(facts map[int]float64) features.Window {
	w := features.Window{Requests: 1000}
	for i := range w.Context {
		w.Context[i] = math.NaN()
	}
	for k, v := range facts {
		w.Context[k] = v
	}
	return w
}

func TestShapes(t *testing.T) {
	check := func(name string, f Finding, told, holds bool) {
		t.Helper()
		if f.Told != told || f.Holds != holds {
			t.Errorf("%s: told %v, holds %v: %s", name, f.Told, f.Holds, f.Says)
		}
	}
	of := func(facts map[int]float64) []features.Window { return []features.Window{window(facts)} }
	k := features.Key{}
	check("off the grid", Alignment(k, of(map[int]float64{features.CtxMisalignedShare: 0.4})), true, true)
	check("on it", Alignment(k, of(map[int]float64{features.CtxMisalignedShare: 0.01})), true, false)
	check("no offsets", Alignment(k, of(nil)), false, false)
	check("small in a row", Merging(k, of(map[int]float64{features.CtxSequentialShare: 0.9, features.CtxSizeMean: 4096})), true, true)
	check("merged", Merging(k, of(map[int]float64{features.CtxSequentialShare: 0.9, features.CtxSizeMean: 4096, features.CtxMergeShare: 0.5})), true, false)
	check("large", Merging(k, of(map[int]float64{features.CtxSequentialShare: 0.9, features.CtxSizeMean: 262144})), true, false)
	check("random", Merging(k, of(map[int]float64{features.CtxSequentialShare: 0.1, features.CtxSizeMean: 4096})), true, false)
	check("no sizes", Merging(k, of(nil)), false, false)
}

// A metadata server with 4 threads of 1 ms: 4,000 operations a second from 4 at once on.
func TestMetadataKnee(t *testing.T) {
	full := Saturation(features.Key{}, closed(4, 1e6, []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32}, 2e9))
	f, ok := MetadataKnee([]features.Window{window(map[int]float64{features.CtxReadShare: 0.1, features.CtxWriteShare: 0.2, features.CtxFlushShare: 0.3})}, &full)
	if !ok || !f.Told || !f.Holds || full.Curve.Knee.State != knee.Found {
		t.Fatalf("%v %+v", ok, f)
	}
	if at, ops := f.Figures[1].Value, f.Figures[2].Value; math.Abs(at/4-1) > 0.3 || math.Abs(ops/4000-1) > 0.1 {
		t.Errorf("knee at %g with %g a second, want 4 with 4000", at, ops)
	}
	if _, ok := MetadataKnee([]features.Window{window(map[int]float64{features.CtxReadShare: 0.5, features.CtxWriteShare: 0.5})}, &full); ok {
		t.Error("a device of data has no metadata knee")
	}
}
