package align

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// truth is a made-up hour of a device, in ns of the first clock.
type truth struct {
	arrive, issue, done, offset, size int64
	op                                ingest.Op
	pid                               int32
}

// work makes n random I/Os of 4 KiB and 64 KiB over blocks blocks, some at a time,
// at random moments.
func work(seed uint64, n int, blocks int64) []truth {
	r := rand.New(rand.NewPCG(seed, 1))
	all := make([]truth, n)
	now := int64(5e9)
	for i := range all {
		now += int64(r.ExpFloat64() * 3e6)
		t := truth{arrive: now, offset: r.Int64N(blocks) * 4096, size: 4096, op: ingest.OpRead, pid: 100}
		if r.IntN(4) == 0 {
			t.size, t.op = 65536, ingest.OpWrite
		}
		t.issue = now + 2_000 + r.Int64N(20_000)
		t.done = t.issue + 80_000 + int64(r.ExpFloat64()*300_000)
		all[i] = t
	}
	return all
}

// seen is how a tool tells of them.
type seen struct {
	kind   ingest.LatencyKind
	device string
	clock  func(int64) int64 // of the tool, from the first clock
	noise  float64           // standard deviation of each stamp, ns
	unit   int64             // stamps are cut to it
	keep   float64           // share that it sees; 0: all
	move   int64             // added to offsets
	inside [2]int64          // the app's call begins so long before, ends so long behind, at least
	blind  bool              // no offsets, sizes, operations
	seed   uint64
}

func (s seen) source(all []truth, most int) *Source {
	r := rand.New(rand.NewPCG(s.seed, 2))
	src := NewSource(s.device)
	if most > 0 {
		src.most = most
	}
	var b ingest.Batch
	dev := b.Names.InternString(s.device)
	for _, t := range all {
		if s.keep > 0 && r.Float64() > s.keep {
			continue
		}
		stamp := func(ns int64) int64 {
			ns += int64(r.NormFloat64() * s.noise)
			if s.clock != nil {
				ns = s.clock(ns)
			}
			if s.unit > 1 {
				ns -= ns % s.unit
			}
			return ns
		}
		e := ingest.NewEvent()
		e.Kind, e.Device, e.Op, e.OffsetBytes, e.SizeBytes, e.PID = s.kind, dev, t.op, t.offset+s.move, t.size, t.pid
		from, to := t.arrive, t.done
		switch s.kind {
		case ingest.KindD2C:
			from = t.issue
		case ingest.KindApp, ingest.KindSyscall:
			from -= s.inside[0] + int64(r.ExpFloat64()*30_000)
			to += s.inside[1] + int64(r.ExpFloat64()*30_000)
		}
		start := stamp(from)
		e.TimeNS = max(stamp(to), start)
		e.LatencyNS = e.TimeNS - start
		if s.kind == ingest.KindQ2C {
			e.QueueNS = min(max(stamp(t.issue)-start, 0), e.LatencyNS)
		}
		if s.kind == ingest.KindNone {
			e.TimeNS, e.LatencyNS = start, ingest.Missing
		}
		if s.blind {
			e.OffsetBytes, e.SizeBytes, e.Op = ingest.Missing, ingest.Missing, ingest.OpOther
		}
		b.Events = append(b.Events, e)
	}
	// In the order of a log that is about in the order of time.
	slices.SortStableFunc(b.Events, func(x, y ingest.Event) int { return int((x.TimeNS/1e6 - y.TimeNS/1e6)) })
	src.Add(&b)
	return src
}

func shifted(by int64) func(int64) int64 { return func(ns int64) int64 { return ns - by } }

// drifting is a clock that is behind by ppb, and by an offset at second 5. By its own
// time, 50,000 ppb are 50,002.5.
func drifting(by, ppb int64) func(int64) int64 {
	return func(ns int64) int64 { return ns - by - int64(math.Round(float64(ns-5e9)*float64(ppb)*1e-9)) }
}

// TestLaws: what was done to a copy comes back.
func TestLaws(t *testing.T) {
	base := work(1, 4000, 1<<16)
	hot := work(2, 4000, 40) // the same blocks again and again
	q := seen{kind: ingest.KindQ2C, device: "sda"}
	check := func(name string, all []truth, a, b seen, offset int64, ppb, within float64, least int) {
		t.Helper()
		r, err := Estimate(a.source(all, 0), b.source(all, 0))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		at := all[0].arrive - offset // of b; the offset is said at another time
		if b.clock != nil && a.clock == nil {
			at = b.clock(all[0].arrive)
		}
		back := ingest.Clock{OffsetNS: r.OffsetNS, DriftPPB: r.DriftPPB, AtNS: r.AtNS}
		if off := back.Time(at) - all[0].arrive; max(off, -off) > r.ErrorNS+int64(2e-9*r.DriftError*12e9) || float64(max(off, -off)) > within {
			t.Errorf("%s: the offset is off by %d ns, said to be at most %d", name, off, r.ErrorNS)
		}
		if d := float64(r.DriftPPB) - ppb; math.Abs(d) > max(r.DriftError, 3) || float64(r.ErrorNS) > max(2*within, 2) {
			t.Errorf("%s: drift off by %g ppb, said to be at most %g; error %d ns", name, d, r.DriftError, r.ErrorNS)
		}
		if r.Matched < least {
			t.Errorf("%s: %d matched", name, r.Matched)
		}
		for _, h := range r.Hops {
			if h.IOs < MinMatches || h.SDNS < 0 || h.ErrorNS < 0 || math.IsNaN(h.MeanNS+h.SDNS+h.ErrorNS) {
				t.Errorf("%s: hop %+v", name, h)
			}
		}
	}
	b := q
	check("itself", base, q, b, 0, 0, 0, 4000)
	b.clock = shifted(-1_234_567_890_123)
	check("shifted", base, q, b, -1_234_567_890_123, 0, 0, 4000)
	b.clock = shifted(1_795_953_392_573_155_199)
	check("shifted by 57 years", base, q, b, 1_795_953_392_573_155_199, 0, 0, 4000)
	check("shifted, hot blocks", hot, q, b, 1_795_953_392_573_155_199, 0, 0, 4000)
	b.clock = drifting(77e9, 50_000)
	check("50 ppm", base, q, b, 77e9, 50_000, 20, 4000)
	check("50 ppm, hot blocks", hot, q, b, 77e9, 50_000, 20, 3990)
	b.clock = drifting(77e9, -50_000)
	check("-50 ppm", base, q, b, 77e9, -50_000, 20, 4000)
	b.clock, b.noise, b.seed = drifting(-3e9, 50_000), 5_000, 3
	check("50 ppm and noise", base, q, b, -3e9, 50_000, 1_500, 3900)
	b.clock, b.keep = shifted(-3e9), 0.7
	a := q
	a.keep, a.seed, a.noise = 0.6, 4, 3_000
	check("subsets and noise", base, a, b, -3e9, 0, 1_500, 1500)
	check("subsets and noise, hot blocks", hot, a, b, -3e9, 0, 1_500, 1400)
	b = seen{kind: ingest.KindD2C, device: "dev:8:0", clock: shifted(42e9)}
	check("the device's own view", base, q, b, 42e9, 0, 0, 4000)
	b.unit = 1000
	check("in us", base, q, b, 42e9, 0, 1_500, 4000)
	b = seen{kind: ingest.KindNone, device: "1", clock: shifted(42e9)}
	check("arrivals alone", base, b, b, 0, 0, 0, 4000)

	app := seen{kind: ingest.KindApp, device: "file", clock: shifted(9e9), move: 1 << 30, inside: [2]int64{5_000, 8_000}}
	check("an app and its file", base, q, app, 9e9, 0, 8_000, 3000)
	check("and the other way", base, app, seen{kind: ingest.KindQ2C, device: "sda", clock: shifted(18e9)}, 9e9, 0, 8_000, 3000)
	app.clock = drifting(9e9, 50_000)
	r, err := Estimate(q.source(base, 0), app.source(base, 0))
	if err != nil || math.Abs(float64(r.DriftPPB)-50_000) > 3_000 || !reflect.DeepEqual(r.ShiftsBytes, []int64{1 << 30}) {
		t.Errorf("an app that drifts: %+v, %v", r, err)
	}

	blind := seen{kind: ingest.KindD2C, device: "sda", clock: shifted(42e9), unit: 1e6, blind: true}
	check("by times alone, in ms", base, q, blind, 42e9, 0, 1_300_000, 3000)
}

// TestRefusals: what can't be told is not told.
func TestRefusals(t *testing.T) {
	q := seen{kind: ingest.KindQ2C, device: "sda"}
	check := func(name string, a, b *Source, want error) {
		t.Helper()
		r, err := Estimate(a, b)
		if !errors.Is(err, want) {
			t.Errorf("%s: got %+v, %v, want %v", name, r, err, want)
		}
	}
	base := work(1, 2000, 1<<16)
	check("eleven I/Os", q.source(base[:11], 0), q.source(base[:11], 0), ErrFew)
	check("none", q.source(nil, 0), q.source(base, 0), ErrFew)
	other := work(9, 2000, 1<<16)
	for i := range other {
		other[i].offset += 1 << 40
	}
	if r, err := Estimate(q.source(base, 0), q.source(other, 0)); err == nil {
		t.Errorf("unrelated recordings: %+v", r)
	}
	// Every 4 ms the same four blocks: a shift by 16 ms fits as well.
	var loop []truth
	for i := range 2000 {
		at := int64(i) * 4e6
		loop = append(loop, truth{at, at + 1000, at + 100_000, int64(i%4) * 4096, 4096, ingest.OpRead, 1})
	}
	check("a loop", q.source(loop[:1900], 0), q.source(loop[100:], 0), ErrAmbiguous)
}

// TestSampled: a bound on memory changes what is held, and not what is found.
func TestSampled(t *testing.T) {
	base := work(5, 20_000, 1<<20)
	a := seen{kind: ingest.KindQ2C, device: "sda"}
	b := seen{kind: ingest.KindD2C, device: "sda", clock: shifted(7e9), keep: 0.5}
	sa, sb := a.source(base, 2000), b.source(base, 2000)
	if len(sa.IOs) > 2000 || len(sb.IOs) > 2000 || sa.Seen != 20_000 {
		t.Fatalf("%d and %d are held", len(sa.IOs), len(sb.IOs))
	}
	r, err := Estimate(sa, sb)
	if err != nil || r.OffsetNS != 7e9 || r.DriftPPB != 0 || !r.Sampled || r.Matched < 400 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestBeginnings: where a sample by offset tells nothing, the first I/Os do.
func TestBeginnings(t *testing.T) {
	base := work(5, 10_000, 1<<20)
	q := seen{kind: ingest.KindQ2C, device: "sda"}
	for name, b := range map[string]seen{
		"an app": {kind: ingest.KindApp, device: "f", clock: shifted(7e9), move: 1 << 30, inside: [2]int64{5_000, 8_000}},
		"blind":  {kind: ingest.KindD2C, device: "sda", clock: shifted(7e9), unit: 1e6, blind: true},
	} {
		r, err := Estimate(q.source(base, 8000), b.source(base, 8000))
		if err != nil || r.Sampled || !r.Beginning || r.ByTimesAlone != b.blind || r.Matched < 500 || max(r.OffsetNS-7e9, 7e9-r.OffsetNS) > r.ErrorNS {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
	}
}

// TestHops holds the hops of a made-up stack against what it was made of.
func TestHops(t *testing.T) {
	base := work(6, 3000, 1<<16)
	app := seen{kind: ingest.KindApp, device: "f", inside: [2]int64{5_000, 8_000}, move: 1 << 20}
	r, err := Estimate(app.source(base, 0), seen{kind: ingest.KindQ2C, device: "sda", clock: shifted(3e9)}.source(base, 0))
	if err != nil {
		t.Fatal(err)
	}
	// The app's calls begin 5 us and a mean of 30 us before and end 8 us and as much
	// behind; dispatch is 2 us and a mean of 10 us behind the arrival.
	for i, want := range []struct {
		from, to string
		mean     float64
	}{
		{"a app start", "b arrival", 35_000}, {"b arrival", "b dispatch", 12_000},
		{"b dispatch", "b completion", 380_000}, {"b completion", "a app end", 38_000},
	} {
		if len(r.Hops) != 4 {
			t.Fatalf("%+v", r.Hops)
		}
		h := r.Hops[i]
		if h.From != want.from || h.To != want.to || math.Abs(h.MeanNS-want.mean) > h.ErrorNS+0.05*want.mean {
			t.Errorf("got %+v, want %+v", h, want)
		}
	}
}

// TestOrder: the order of a log's lines, and where it is cut, change nothing.
func TestOrder(t *testing.T) {
	base := work(7, 1500, 60)
	a := seen{kind: ingest.KindQ2C, device: "sda", noise: 4000, seed: 1}.source(base, 0)
	b := seen{kind: ingest.KindQ2C, device: "sda", clock: shifted(5), noise: 4000, seed: 2}.source(base, 0)
	want, err := Estimate(a, b)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(8, 8))
	for range 3 {
		r.Shuffle(len(a.IOs), func(i, j int) { a.IOs[i], a.IOs[j] = a.IOs[j], a.IOs[i] })
		r.Shuffle(len(b.IOs), func(i, j int) { b.IOs[i], b.IOs[j] = b.IOs[j], b.IOs[i] })
		if got, err := Estimate(a, b); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v (%v), want %+v", got, err, want)
		}
	}
}
