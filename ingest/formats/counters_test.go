package formats

import (
	"math"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// sums adds up the counters of the samples of a device; those that none of them
// has stay Missing.
func sums(out *ingest.Out, device string) (s ingest.Sample, n int) {
	s = ingest.NewSample()
	add := func(to *int64, v int64) {
		if v >= 0 {
			*to = max(*to, 0) + v
		}
	}
	for i := range out.Samples {
		x := &out.Samples[i]
		if out.Names.String(x.Device) != device {
			continue
		}
		n++
		s.IntervalNS += x.IntervalNS
		for _, p := range [][2]*int64{
			{&s.Reads, &x.Reads}, {&s.Writes, &x.Writes}, {&s.Discards, &x.Discards}, {&s.Flushes, &x.Flushes},
			{&s.ReadBytes, &x.ReadBytes}, {&s.WriteBytes, &x.WriteBytes}, {&s.DiscardBytes, &x.DiscardBytes},
			{&s.ReadNS, &x.ReadNS}, {&s.WriteNS, &x.WriteNS}, {&s.FlushNS, &x.FlushNS}, {&s.WriteMerges, &x.WriteMerges},
			{&s.TotalIOs, &x.TotalIOs}, {&s.TotalNS, &x.TotalNS}, {&s.InFlightNS, &x.InFlightNS}, {&s.BusyNS, &x.BusyNS},
		} {
			add(p[0], *p[1])
		}
	}
	return s, n
}

// exactly compares a figure with what an oracle says.
func exactly(t *testing.T, what string, got, want int64) {
	t.Helper()
	if got != want {
		t.Errorf("%s %d, want %d", what, got, want)
	}
}

func within(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > share*want {
		t.Errorf("%s %g, want %g", what, got, want)
	}
}

// sniffed fails unless a format is sure of an input and no other claims it so.
func sniffed(t *testing.T, name string, data []byte, f ingest.Format) {
	t.Helper()
	got, problem := ingest.Choose(data[:min(len(data), ingest.SniffBytes)], name)
	if got.Name != f.Name {
		t.Errorf("%s: chosen %q, want %s: %s", name, got.Name, f.Name, problem)
	}
}

// TestCtrDelta: each counter wraps on its own, a reset takes all, and what can be
// neither is unknown.
func TestCtrDelta(t *testing.T) {
	const min60, span = 60e9, 1 << 32
	type reading map[ctrField]int64
	shot := func(r reading) (s ctrSnapshot) {
		for f, v := range r {
			s.set(f, v*f.unit())
		}
		return s
	}
	check := func(what string, a, b reading, dt int64, wraps bool, reason string, want reading) {
		t.Helper()
		x, y := shot(a), shot(b)
		var d ctrSnapshot
		got := ctrDelta(&x, &y, dt, wraps, &d)
		if got != reason {
			t.Errorf("%s: %q, want %q", what, got, reason)
		}
		if w := shot(want); reason == "" {
			for f := range ctrFields {
				if !w.has(f) {
					w.v[f] = ingest.Missing
				}
			}
			if d == w {
				return
			}
			t.Errorf("%s: %v, want %v", what, d, w)
		}
	}
	check("growth", reading{ctrReads: 5, ctrReadNS: 7}, reading{ctrReads: 6, ctrReadNS: 9}, min60, true, "", reading{ctrReads: 1, ctrReadNS: 2})
	check("a time wraps", reading{ctrReads: 5, ctrWriteNS: span - 10}, reading{ctrReads: 6, ctrWriteNS: 5}, min60, true, "", reading{ctrReads: 1, ctrWriteNS: 15})
	check("requests wrap", reading{ctrReads: span - 10, ctrWrites: 1}, reading{ctrReads: 5, ctrWrites: 1}, min60, true, "", reading{ctrReads: 15, ctrWrites: 0})
	check("no wraps in this source", reading{ctrReads: span - 10, ctrWrites: 1}, reading{ctrReads: 5, ctrWrites: 1}, min60, false, "counter-reset", nil)
	check("a wider counter fell", reading{ctrReads: span + 10, ctrWrites: 1}, reading{ctrReads: 5, ctrWrites: 1}, min60, true, "counter-reset", nil)
	check("too far for a wrap", reading{ctrReads: 5100, ctrWrites: 1}, reading{ctrReads: 12, ctrWrites: 1}, min60, true, "counter-reset", nil)
	check("too fast for a wrap", reading{ctrReads: span - 1, ctrWrites: 1}, reading{ctrReads: 1 << 30, ctrWrites: 1}, 1e9, true, "counter-reset", nil)
	check("busy for longer than the time there was", reading{ctrBusyNS: span - 1, ctrReadNS: 5, ctrWriteNS: 5, ctrReads: 1},
		reading{ctrBusyNS: 1 << 20, ctrReadNS: 5, ctrWriteNS: 5, ctrReads: 1}, min60, true, "", reading{ctrReadNS: 0, ctrWriteNS: 0, ctrReads: 0})
	check("all fell at once", reading{ctrReads: span - 10, ctrWrites: span - 10, ctrReadNS: span - 10}, reading{ctrReads: 1, ctrWrites: 1, ctrReadNS: 1}, min60, true, "counter-reset", nil)
	check("idle and reset to nothing", reading{ctrReads: 3, ctrWrites: 0}, reading{ctrReads: 0, ctrWrites: 0}, min60, true, "counter-reset", nil)
	check("a leap", reading{ctrReads: 3, ctrReadBytes: 1}, reading{ctrReads: 4, ctrReadBytes: 1 << 40}, 1e9, true, "impossible", nil)
	check("I/Os that hung for an hour", reading{ctrReads: 3, ctrReadNS: 1}, reading{ctrReads: 103, ctrReadNS: 360_000_001}, 1e9, true, "", reading{ctrReads: 100, ctrReadNS: 360_000_000})
	check("other counters", reading{ctrReads: 3, ctrDiscards: 1}, reading{ctrReads: 4, ctrFlushes: 9}, min60, true, "", reading{ctrReads: 1})
}

// TestDiskstatsRecording: the samples sum to the counters before and after, as
// the recording's oracles state them.
func TestDiskstatsRecording(t *testing.T) {
	const name = "runA-diskstats.1s.txt"
	data := sharedFile(t, "samples", "diskstats", name)
	sniffed(t, name, data, Diskstats)
	out := decodeAll(t, Diskstats, name, data, ingest.DefaultOptions(), 0)
	only(t, out, 0)
	s, _ := sums(out, "loop0")
	exactly(t, "reads", s.Reads, 1513)
	exactly(t, "read bytes", s.ReadBytes, 18_726_912)
	exactly(t, "writes", s.Writes, 1176)
	exactly(t, "write bytes", s.WriteBytes, 26_691_584)
	exactly(t, "flushes", s.Flushes, 94)
	counters := readDiskstats(t, data)["loop0"]
	want := counters[len(counters)-1].minus(counters[0])
	exactly(t, "samples", int64(len(out.Samples)), int64(len(counters)-1))
	exactly(t, "write merges", s.WriteMerges, want.writeMerges)
	exactly(t, "read time", s.ReadNS, want.readMS*1e6)
	exactly(t, "write time", s.WriteNS, want.writeMS*1e6)
	exactly(t, "flush time", s.FlushNS, want.flushMS*1e6)
	exactly(t, "busy", s.BusyNS, want.busyMS*1e6)
	exactly(t, "in flight", s.InFlightNS, want.weightedMS*1e6)

	// Files of other kernels, single snapshots: counters as evidence, all lines used.
	for _, path := range [][]string{
		{"diskstats", "node_exporter-fixture.diskstats.txt"}, {"runC", "diskstats.before.txt"}, {"runC", "diskstats.after.txt"},
		{"sysstat-tests", "root1.proc.diskstats.txt"}, {"sysstat-tests", "root6b.proc.diskstats.txt"},
	} {
		data := sharedFile(t, "samples", path[0], path[1])
		sniffed(t, path[1], data, Diskstats)
		out := decodeAll(t, Diskstats, path[1], data, ingest.DefaultOptions(), 0)
		only(t, out, 0)
		if len(out.Samples) > 0 || len(out.Evidence) < 11 {
			t.Errorf("%s: %d samples, %d counters", path[1], len(out.Samples), len(out.Evidence))
		}
	}
}

// TestCounterCases reads the confirmed cases of wrapped, reset and torn counters.
func TestCounterCases(t *testing.T) {
	data := sharedFile(t, "cases", "A-01-diskstats-ticks-wrap32", "input.diskstats.txt")
	sniffed(t, "A-01", data, Diskstats)
	out := decodeAll(t, Diskstats, "A-01", data, ingest.DefaultOptions(), 0)
	exactly(t, "A-01 rows", out.Tally.Event, 5)
	exactly(t, "A-01 resets", out.Tally.Rejects["counter-reset"], 1)
	exactly(t, "A-01 rejects", out.Tally.Rejected(), 1)
	exactly(t, "A-01 samples", int64(len(out.Samples)), 3)
	for i := range out.Samples {
		s := &out.Samples[i]
		exactly(t, "interval", s.IntervalNS, 60e9)
		if out.Names.String(s.Device) != "nvme0n1" {
			continue
		}
		exactly(t, "reads", s.Reads, 60)
		exactly(t, "read bytes", s.ReadBytes, 245760)
		exactly(t, "read time", s.ReadNS, 12e6)
		if s.TimeNS == 1646300060e9 {
			exactly(t, "writes", s.Writes, 274800)
			exactly(t, "write bytes", s.WriteBytes, 1125580800)
			exactly(t, "write time", s.WriteNS, 274800*5e6)
		} else {
			exactly(t, "writes", s.Writes, 274829)
			exactly(t, "write bytes", s.WriteBytes, 1125699584)
			exactly(t, "write time", s.WriteNS, 1374146e6)
			exactly(t, "busy", s.BusyNS, 59000e6)
			exactly(t, "in flight", s.InFlightNS, 1374158e6)
		}
	}

	data = sharedFile(t, "cases", "A-16-cgroup-io-stat-torn-snapshot", "input.io.stat.txt")
	sniffed(t, "A-16", data, CgroupIO)
	out = decodeAll(t, CgroupIO, "A-16", data, ingest.DefaultOptions(), 0)
	exactly(t, "A-16 rows", out.Tally.Event, 7)
	exactly(t, "A-16 without figures", out.Tally.UnpairedLines(), 9)
	exactly(t, "A-16 rejects", out.Tally.Rejected(), 0)
	want := [][4]int64{
		{1622000001, 1, 896532480, 855}, {1622000002, 1, 896675840, 890}, {1622000003, 1, 952107008, 908},
		{1622000005, 2, 924844032, 882}, {1622000006, 1, 967835648, 923}, {1622000007, 1, 939524096, 896},
	}
	for i, w := range want {
		if len(out.Samples) != len(want) {
			t.Fatalf("A-16: %d samples, want %d", len(out.Samples), len(want))
		}
		s := out.Samples[i]
		if got := [4]int64{s.TimeNS / 1e9, s.IntervalNS / 1e9, s.WriteBytes, s.Writes}; got != w || s.Reads != 0 || s.Discards != 0 {
			t.Errorf("A-16 sample %d: %v, want %v", i, got, w)
		}
	}
	s, _ := sums(out, "dev:254:3")
	exactly(t, "A-16 bytes", s.WriteBytes, 5577519104)
	exactly(t, "A-16 writes", s.Writes, 5354)

	const v1 = "input.v1.io_service_bytes.txt"
	data = sharedFile(t, "cases", "A-16-cgroup-io-stat-torn-snapshot", v1)
	sniffed(t, v1, data, CgroupIO)
	out = decodeAll(t, CgroupIO, v1, data, ingest.DefaultOptions(), 0)
	exactly(t, "v1 without a device", out.Tally.Unpaired["unknown-device"], 5)
	if len(out.Samples) != 0 || len(out.Evidence) != 2 || out.Tally.Rejected() != 0 {
		t.Fatalf("v1: %d samples, %d counters, %s", len(out.Samples), len(out.Evidence), fates(out.Tally))
	}
	for i, w := range []float64{4194304, 1048576} {
		if e := out.Evidence[i]; e.Value != w || out.Names.String(e.Device) != "dev:8:0" {
			t.Errorf("v1: counter %d is %g, want %g", i, e.Value, w)
		}
	}
}

// FuzzCounters decodes anything by the formats of counters and rates without the
// reading loop: the fates sum (decodeAll checks it), no value is impossible, and
// the steps in which a stream comes change nothing.
func FuzzCounters(f *testing.F) {
	all := []ingest.Format{Diskstats, CgroupIO, Sar, SadfCSV, SadfJSON, Prometheus, PrometheusJSON}
	for _, s := range shelf(f) {
		if slices.ContainsFunc(all, func(g ingest.Format) bool { return g.Name == s.format.Name }) {
			f.Add(s.data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range all {
			for _, o := range []ingest.Options{{}, {StartNS: 1_700_000_000e9, Interval: "10s"}} {
				out := decodeAll(t, format, "blkio.io_serviced", data, o, len(data))
				check(t, &ingest.Chunk{Batch: &out.Batch})
				for i := range out.Samples {
					if s := &out.Samples[i]; s.BusyNS > s.IntervalNS {
						t.Errorf("%s: busy for longer than the interval: %+v", format.Name, *s)
					}
				}
				if format.Stream == nil {
					continue
				}
				steps := decodeAll(t, format, "x", data, o, 1+len(data)/7)
				if !slices.Equal(out.Samples, steps.Samples) || !slices.Equal(out.Rejected, steps.Rejected) || fates(out.Tally) != fates(steps.Tally) {
					t.Errorf("%s: steps of a stream change what is read: %s and %s", format.Name, fates(out.Tally), fates(steps.Tally))
				}
			}
		}
	})
}
