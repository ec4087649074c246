package formats

import (
	"math"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestBiosnoopRunA: oracle, the sums that awk gives of the tool's own columns
// (the row "bcc biosnoop LAT" of the recording's table): 1508 reads, 18,706,432
// bytes, 256.7 us; 1176 writes, 26,691,584 bytes, 1251.6 us. Flushes have no disk
// there, and are facts.
func TestBiosnoopRunA(t *testing.T) {
	data := sharedFile(t, "samples", "biosnoop", "runA-biosnoop-bcc-Qd.txt")
	const start = 1_600_000_000e9
	out := decodeAll(t, Biosnoop, "x", data, ingest.Options{StartNS: start}, 0)
	if out.Tally.Rejected() != 0 || out.Tally.Lines != 2779 || out.Tally.Notes != 1 {
		t.Errorf("%s", fates(out.Tally))
	}
	var n, bytes [5]int64
	var sum [5]float64
	for i := range out.Events {
		e := &out.Events[i]
		n[e.Op]++
		bytes[e.Op] += e.SizeBytes
		sum[e.Op] += float64(e.LatencyNS)
		if out.Names.String(e.Device) != "loop0" || e.Kind != ingest.KindD2C || e.QueueNS < 0 || e.OffsetBytes < 0 || e.TimeNS < start || e.TimeNS > start+24e9 {
			t.Fatalf("%+v", *e)
		}
	}
	check := func(op ingest.Op, ios, size int64, us float64) {
		t.Helper()
		if n[op] != ios || bytes[op] != size || math.Abs(sum[op]/float64(n[op])/1e3-us) > us/100 {
			t.Errorf("%s: %d I/Os, %d bytes, mean %.1f us; want %d, %d, %.1f", op, n[op], bytes[op], sum[op]/float64(n[op])/1e3, ios, size, us)
		}
	}
	check(ingest.OpRead, 1508, 18706432, 256.7)
	check(ingest.OpWrite, 1176, 26691584, 1251.6)
	if len(out.Events) != 1508+1176 || len(out.Evidence) != 94 { // 94 flushes, by diskstats
		t.Errorf("%d events, %d facts", len(out.Events), len(out.Evidence))
	}
}

// TestBiosnoopBTRunA: oracle, awk '$2 == 7 && $3 == 0' and '$2 == 254' of the lines.
func TestBiosnoopBTRunA(t *testing.T) {
	out := decodeAll(t, BiosnoopBT, "x", sharedFile(t, "samples", "biosnoop", "runA-biosnoop-bpftrace.txt.gz"), ingest.Options{StartNS: 1e18}, 0)
	n := map[string]int{}
	sum := map[string]int64{}
	for i := range out.Events {
		e := &out.Events[i]
		n[out.Names.String(e.Device)]++
		sum[out.Names.String(e.Device)] += e.LatencyNS / 1e6
	}
	if out.Tally.Rejected() != 0 || len(n) != 2 || n["dev:7:0"] != 2684 || n["dev:254:0"] != 6254 || sum["dev:7:0"] != 1216 || sum["dev:254:0"] != 14095 {
		t.Errorf("%v, %v ms, %s", n, sum, fates(out.Tally))
	}
}

// TestTextToolExamples: the tables in the tools' own examples are found between
// their prose. Oracle: the numbers of rows, by grep.
func TestTextToolExamples(t *testing.T) {
	check := func(f ingest.Format, events, facts int, rejects int64, path ...string) {
		t.Helper()
		data := sharedFile(t, append([]string{"samples"}, path...)...)
		head := data[:min(len(data), ingest.SniffBytes)]
		chosen, problem := ingest.Choose(head, "example.txt")
		if chosen.Name != f.Name {
			t.Errorf("%s: taken for %q %s", path[1], chosen.Name, problem)
		}
		out := decodeAll(t, f, "x", data, ingest.Options{StartNS: 1e18}, 0)
		if len(out.Events) != events || len(out.Evidence) != facts || out.Tally.Rejected() != rejects {
			t.Errorf("%s: %d events, %d facts, %s; want %d, %d", path[1], len(out.Events), len(out.Evidence), fates(out.Tally), events, facts)
		}
	}
	check(Biosnoop, 21, 0, 0, "biosnoop", "bcc-biosnoop_example.txt")
	check(Biolatency, 0, 8, 0, "biosnoop", "bpftrace-biolatency_example.txt")
	check(Biolatency, 0, 10, 0, "bcc-other", "bpftrace-bitesize_example.txt")
	check(Biolatency, 0, 140, 0, "bcc-other", "bcc-biolatency_example.txt")
	check(FSSlower, 106, 24, 0, "bcc-other", "bcc-ext4slower_example.txt")
}

// TestFSSlowerMidnight: the day goes on at midnight, and not when two CPUs'
// lines stand the wrong way round.
func TestFSSlowerMidnight(t *testing.T) {
	const day = 1_600_041_600 // 2020-09-14 00:00:00 UTC
	text := "TIME     COMM PID T BYTES OFF_KB LAT(ms) FILENAME\n23:59:59 a 1 R 1 0 1.00 f\n23:59:58 a 1 R 1 0 1.00 f\n00:00:01 a 1 R 1 0 1.00 f\n"
	out := decodeAll(t, FSSlower, "x", []byte(text), ingest.Options{StartNS: (day + 3600) * 1e9}, 0)
	for i, want := range []int64{86399, 86398, 86401} {
		if got := out.Events[i].TimeNS/1e9 - day; got != want {
			t.Errorf("line %d: second %d, want %d", i, got, want)
		}
	}
}
