package features

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestHistogramBuckets(t *testing.T) {
	last := -1
	for v := int64(0); v < 1<<20; v++ {
		b := bucketOf(v)
		low, width := bucketRange(b)
		if b < last || v < low || v >= low+width {
			t.Fatalf("value %d: bucket %d of %d..%d after %d", v, b, low, low+width-1, last)
		}
		if v < 64 && width != 1 || float64(width) > float64(low)/32+1 {
			t.Fatalf("value %d: bucket of width %d", v, width)
		}
		last = b
	}
	for v, want := range map[int64]int{-5: 0, 1<<47 - 1: histogramBuckets - 1, math.MaxInt64: histogramBuckets - 1} {
		if got := bucketOf(v); got != want {
			t.Errorf("value %d: bucket %d, want %d", v, got, want)
		}
	}
}

// The exact answers come from the sorted values and from the definition of
// the moments.
func TestHistogramAgainstValues(t *testing.T) {
	check := func(name string, draw func(*rand.Rand) float64, kurtosisWithin float64) {
		t.Helper()
		r := rand.New(rand.NewPCG(1, 1))
		values := make([]float64, 20_000)
		parts := [3]histogram{}
		var whole, merged histogram
		var squared squares
		mean := 0.0
		for i := range values {
			v := int64(draw(r))
			values[i] = float64(v)
			mean += float64(v)
			whole.add(v)
			parts[i%3].add(v)
			squared.add(v)
		}
		for i := range parts {
			merged.merge(&parts[i])
		}
		if merged != whole {
			t.Errorf("%s: three merged parts differ from the whole", name)
		}
		n := float64(len(values))
		mean /= n
		var m2, m4 float64
		for _, v := range values {
			m2 += (v - mean) * (v - mean) / n
			m4 += (v - mean) * (v - mean) * (v - mean) * (v - mean) / n
		}
		var laid, sum tally
		laid.fill(&whole)
		sum.fill(&parts[0], &parts[1], &parts[2])
		if !slices.Equal(laid.rows, sum.rows) || laid.n != sum.n {
			t.Errorf("%s: three parts laid out differ from the whole", name)
		}
		cv, kurtosis := laid.moments(mean, squared.float()/n)
		if want := math.Sqrt(m2) / mean; math.Abs(cv-want) > 1e-6*want+1e-6 {
			t.Errorf("%s: cv %g, want %g", name, cv, want)
		}
		if got, want := math.Asinh(kurtosis), math.Asinh(m4/(m2*m2)-3); math.Abs(got-want) > kurtosisWithin {
			t.Errorf("%s: asinh kurtosis %g, want %g", name, got, want)
		}
		slices.Sort(values)
		for _, q := range []float64{0, 0.05, 0.5, 0.95, 0.99, 1} {
			want := values[int(q*(n-1))]
			if got := whole.quantile(q); math.Abs(got-want) > want/32+1 {
				t.Errorf("%s: quantile %g is %g, want %g", name, q, got, want)
			}
			if got, want := laid.quantile(q), whole.quantile(q); got != want {
				t.Errorf("%s: quantile %g is %g laid out, %g in the histogram", name, q, got, want)
			}
			above, least := int64(0), bucketMid(bucketOf(int64(want)))
			for _, v := range values {
				if bucketMid(bucketOf(int64(v))) > least {
					above++
				}
			}
			if got, _ := laid.beyond(least); got != above {
				t.Errorf("%s: %d values beyond %g, want %d", name, got, least, above)
			}
		}
	}
	check("exponential", func(r *rand.Rand) float64 { return r.ExpFloat64() * 1e6 }, 0.05)
	check("spikes", func(r *rand.Rand) float64 {
		if r.IntN(500) == 0 {
			return 50e6
		}
		return 1e6 + r.Float64()*1e5
	}, 0.05)
	check("normal", func(r *rand.Rand) float64 { return math.Max(1e6+r.NormFloat64()*2e5, 1) }, 0.1)
	check("narrow with a tail", func(r *rand.Rand) float64 {
		if r.IntN(1000) == 0 {
			return 3e6
		}
		return 1e6 + r.NormFloat64()*2e3
	}, 0.1)
	if cv, k := new(tally).moments(0, 0); cv != 0 || k != 0 {
		t.Errorf("moments of nothing: %g, %g", cv, k)
	}
}

// The correlations, by the transform or directly, are those by the definition.
func TestAutocorrelation(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	x := make([]float64, directLags+300)
	for i := range x {
		x[i] = r.Float64() + math.Sin(float64(i)/9)
	}
	var a autocorrelator
	got, lag := a.peak(x, firstLag, len(x)/2)
	a.centred = a.centred[:0]
	mean := sum(x) / float64(len(x))
	power, want, wantLag := 0.0, -1.0, 0
	for _, v := range x {
		a.centred = append(a.centred, v-mean)
		power += (v - mean) * (v - mean)
	}
	definition := func(lag int) (s float64) {
		for i := range len(x) - lag {
			s += a.centred[i] * a.centred[i+lag]
		}
		return s
	}
	for k := firstLag; k < len(x)/2; k++ {
		if p := definition(k) / power; p > want {
			want, wantLag = p, k
		}
	}
	if lag != wantLag || math.Abs(got-want) > 1e-12 {
		t.Errorf("peak %g at %d, want %g at %d", got, lag, want, wantLag)
	}
	if r, lag := a.peak([]float64{5, 5, 5, 5, 5, 5, 5, 5}, 3, 4); r != 0 || lag != 0 {
		t.Errorf("a constant: %g at %d", r, lag)
	}
	// Directly they are exactly those, to the longest lag that there is.
	x = x[:29]
	a.centred = append(a.centred[:0], x...)
	a.direct(firstLag, len(x))
	for k := firstLag; k < len(x); k++ {
		if want := definition(k); a.padded[k] != want {
			t.Errorf("lag %d: %g, want %g", k, a.padded[k], want)
		}
	}
}

// reading feeds reads of blocks to a table, and counts exactly what it estimates.
type reading struct {
	last  map[int64]int64
	hits  float64
	reads float64

	window uint32
}

func (x *reading) read(t *rereads, at, block, blocks int64, s *rereadSums) {
	again := 0
	for b := block; b < block+blocks; b++ {
		if p, ok := x.last[b]; ok && at-p < t.horizon {
			again++
		}
		x.last[b] = at
	}
	x.hits += float64(again) / float64(blocks)
	x.reads++
	t.read(at, block*blockBytes, blocks*blockBytes, x.window, false, s)
	if int(x.reads)%50 == 0 {
		t.settle(x.window, s)
	}
}

func TestRereadSmallIsExact(t *testing.T) {
	o := DefaultOptions()
	r := rand.New(rand.NewPCG(3, 3))
	table := newRereads(&o)
	x := reading{last: map[int64]int64{}}
	var s rereadSums
	for i := range int64(20_000) {
		x.read(&table, i*10*ms, r.Int64N(3000), 1+r.Int64N(8), &s)
	}
	table.settle(0, &s)
	share, e := s.share()
	if want := x.hits / x.reads; math.Abs(share-want) > 1e-9 || e != 0 {
		t.Errorf("share %g +- %g, want %g exactly", share, e, want)
	}
	if table.shift != 0 || len(table.places) > 4*3008 {
		t.Errorf("%d places at 2^-%d for 3007 blocks", len(table.places), table.shift)
	}
}

// Over many seeds the mean of the estimates is the share, and the error
// stated is about that seen: the sample holds 256 of some 20,000 blocks.
func TestRereadSampleIsUnbiased(t *testing.T) {
	o := DefaultOptions()
	o.RereadBlocks = 256
	const seeds = 200
	var errors, stated, mean, want float64
	for seed := range uint64(seeds) {
		o.Seed = seed
		r := rand.New(rand.NewPCG(9, 9))
		table := newRereads(&o)
		x := reading{last: map[int64]int64{}}
		var before rereadSums
		for i := range int64(4000) { // fills the table, so that the rate settles
			x.read(&table, i*ms, r.Int64N(20_000), 4, &before)
		}
		table.settle(0, &before)
		x.hits, x.reads, x.window = 0, 0, 1
		var s rereadSums
		for i := range int64(4000) {
			x.read(&table, (4000+i)*ms, r.Int64N(20_000), 1+r.Int64N(8), &s)
		}
		table.settle(1, &s)
		share, e := s.share()
		want = x.hits / x.reads
		mean += share / seeds
		stated += e / seeds
		errors += (share - want) * (share - want) / seeds
		if table.n > o.RereadBlocks {
			t.Fatalf("seed %d: %d blocks in the table, at most %d", seed, table.n, o.RereadBlocks)
		}
	}
	seen := math.Sqrt(errors)
	if math.Abs(mean-want) > 4*seen/math.Sqrt(seeds)+0.002 {
		t.Errorf("mean estimate %g, want %g (error %g)", mean, want, seen)
	}
	if stated < seen/1.6 || stated > seen*1.6 {
		t.Errorf("stated error %g, seen %g", stated, seen)
	}
}

func TestRereadHorizon(t *testing.T) {
	o := DefaultOptions()
	check := func(apart int64, want float64) {
		t.Helper()
		table := newRereads(&o)
		var s rereadSums
		for i := range int64(40) {
			table.read(i*apart, 8192, 4096, 1, false, &s)
		}
		table.settle(1, &s)
		if got, _ := s.share(); math.Abs(got-want) > 1e-9 {
			t.Errorf("one block each %d ns: share %g, want %g", apart, got, want)
		}
	}
	check(30*sec, 0)
	check(30*sec-1, 39.0/40)
}

func TestTables(t *testing.T) {
	names := map[string]bool{}
	check := func(name, unit, doc string) {
		t.Helper()
		if name == "" || unit == "" || doc == "" {
			t.Errorf("%q lacks a name, a unit or a doc", name)
		}
		if names[name] {
			t.Errorf("%q stands twice", name)
		}
		if strings.ToLower(name) != name || strings.ContainsAny(name, " -") {
			t.Errorf("%q is no column name", name)
		}
		names[name] = true
	}
	for _, f := range Features {
		check(f.Name, f.Unit, f.Doc)
		if f.Formula == "" {
			t.Errorf("%s lacks a formula", f.Name)
		}
	}
	for _, f := range ContextTable {
		check(f.Name, f.Unit, f.Doc)
	}
}

func TestOptionsValidate(t *testing.T) {
	check := func(change func(*Options), want string) {
		t.Helper()
		o := DefaultOptions()
		change(&o)
		err := o.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	check(func(*Options) {}, "")
	check(func(o *Options) { o.TickNS = 0 }, "tick")
	check(func(o *Options) { o.WindowNS = 10*sec + 1 }, "multiple")
	check(func(o *Options) { o.WindowNS = 0 }, "window")
	check(func(o *Options) { o.WindowNS = 2300 * ms }, "23 ticks")
	check(func(o *Options) { o.WindowNS = 2400 * ms }, "")
	check(func(o *Options) { o.TickNS = 1000; o.WindowNS = 60 * sec }, "at most")
	check(func(o *Options) { o.MinTicks = 1 }, "min_ticks")
	check(func(o *Options) { o.MinRequests = 0 }, "min_requests")
	check(func(o *Options) { o.MinStallNS = 0 }, "min_stall_ns")
	check(func(o *Options) { o.RereadNS = 0 }, "reread_ns")
	check(func(o *Options) { o.RereadBlocks = 1 }, "reread_blocks")
}

func TestColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	events := randomEvents(r, 900)
	ticks, windows := fold(short(), events, lookAheadOf(events), nil, 0)
	back, err := WindowsFromColumns(WindowColumns(windows))
	if err != nil {
		t.Fatal(err)
	}
	if d := same(back, windows); d != "" {
		t.Error(d)
	}
	keys := make([]Key, len(ticks))
	for i := range keys {
		keys[i] = Key{"h", string(rune('a' + i%3))}
	}
	backKeys, backTicks, err := TicksFromColumns(TickColumns(keys, ticks))
	if err != nil || !slices.Equal(backKeys, keys) || !slices.Equal(backTicks, ticks) {
		t.Errorf("ticks differ after columns: %v", err)
	}

	check := func(change func([]Column) []Column, want string) {
		t.Helper()
		_, err := WindowsFromColumns(change(WindowColumns(windows)))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	at := func(name string) int {
		return slices.IndexFunc(WindowColumns(nil), func(c Column) bool { return c.Name == name })
	}
	check(func(c []Column) []Column { slices.Reverse(c); return c }, "")
	check(func(c []Column) []Column { return slices.Delete(c, at("stall_gap"), at("stall_gap")+1) }, "")
	check(func(c []Column) []Column { return slices.Delete(c, 0, 1) }, "no column host")
	check(func(c []Column) []Column { return slices.Delete(c, at("requests"), at("requests")+1) }, "no column requests")
	check(func(c []Column) []Column { c[at("idle")].Data = []int64{1}; return c }, "column idle")
	check(func(c []Column) []Column { c[at("coverage")].Data = []float64{1}; return c }, "1 rows")
	check(func(c []Column) []Column { c[at("iops")].Valid = []bool{true}; return c }, "column iops")
}
