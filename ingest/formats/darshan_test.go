package formats

import (
	"math"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestDarshanTrace: the rows of a recorded program. Oracle: what the program did
// (64 writes of 64 KiB, 200 reads of 4 KiB, 4 of 1 MiB and the one that meets the
// end; 500 writes of 100 B).
func TestDarshanTrace(t *testing.T) {
	data := sharedFile(t, "samples", "darshan", "own-3.5.0.darshan-dxt-parser.txt")
	out := decodeAll(t, DarshanDXT, "x", data, ingest.DefaultOptions(), 0)
	type sum struct{ n, bytes int64 }
	got := make(map[string]sum)
	for _, e := range out.Events {
		key := strings.TrimPrefix(out.Names.String(e.File), "/tmp/formats/mnt/") + " " + e.Op.String()
		got[key] = sum{got[key].n + 1, got[key].bytes + e.SizeBytes}
		if at := e.StartNS(); at < 1795955338e9 || at > 1795955339e9 || e.LatencyNS < 0 || e.Kind != ingest.KindApp || out.Names.String(e.Host) != "vm" {
			t.Errorf("event %+v", e)
		}
	}
	check := func(key string, n, bytes int64) {
		t.Helper()
		if got[key] != (sum{n, bytes}) {
			t.Errorf("%s: %+v, want %d of %d bytes", key, got[key], n, bytes)
		}
	}
	check("dseq.dat write", 64, 64*65536)
	check("dseq.dat read", 205, 5013504)
	check("dsmall.dat write", 500, 500*100)
	if out.Tally.Rejected() != 0 || len(out.Events) != 772 || out.Names.String(out.Events[3].Device) != "mount:/tmp/formats/mnt" {
		t.Errorf("fates %s, device %s", fates(out.Tally), out.Names.String(out.Events[3].Device))
	}
}

// TestDarshanTraces: each data row of the recordings has a fate of its own.
// Oracle: grep -c '^ X_' and awk's sums of the Length column over X_POSIX.
func TestDarshanTraces(t *testing.T) {
	check := func(name string, events, merged, bytes int64) {
		t.Helper()
		data := sharedFile(t, "samples", "darshan", name)
		if Darshan.Sniff(data[:ingest.SniffBytes], "x") != 0 || DarshanDXT.Sniff(data[:ingest.SniffBytes], "x") != 2 {
			t.Errorf("%s: not known as darshan-dxt alone", name)
		}
		out := decodeAll(t, DarshanDXT, "x", data, ingest.DefaultOptions(), 0)
		var sum int64
		for _, e := range out.Events {
			sum += e.SizeBytes
		}
		if int64(len(out.Events)) != events || out.Tally.Merged != merged || sum != bytes || out.Tally.Rejected() != 0 || out.Tally.Accounted() != out.Tally.Lines {
			t.Errorf("%s: %d events of %d bytes, %s", name, len(out.Events), sum, fates(out.Tally))
		}
	}
	check("own-3.5.0.darshan-dxt-parser.txt", 772, 0, 9258332)
	check("logs-mpi-io-test-dxt.darshan-dxt-parser.txt", 320, 256, 4294969856)
	check("logs-nonmpi-dxt-anonymized.darshan-dxt-parser.txt.gz", 17652, 0, 240341383)
}

// TestDarshanCounters: evidence of the same program, and of the tool's own logs.
func TestDarshanCounters(t *testing.T) {
	read := func(name string) map[string]float64 {
		t.Helper()
		data := sharedFile(t, "samples", "darshan", name)
		if Darshan.Sniff(data[:min(len(data), ingest.SniffBytes)], "x") != 2 || DarshanDXT.Sniff(data[:min(len(data), ingest.SniffBytes)], "x") != 0 {
			t.Errorf("%s: not known as darshan alone", name)
		}
		out := decodeAll(t, Darshan, "x", data, ingest.DefaultOptions(), 0)
		if out.Tally.Rejected() != 0 || out.Tally.Accounted() != out.Tally.Lines || len(out.Events) != 0 {
			t.Errorf("%s: %s", name, fates(out.Tally))
		}
		facts := make(map[string]float64)
		for _, e := range out.Evidence {
			facts[out.Names.String(e.Name)+" "+out.Names.String(e.Text)] += e.Value
		}
		return facts
	}
	check := func(facts map[string]float64, key string, want float64) {
		t.Helper()
		if math.Abs(facts[key]-want) > 1e-6*math.Abs(want) {
			t.Errorf("%s: %g, want %g", key, facts[key], want)
		}
	}
	own := read("own-3.5.0.darshan-parser.txt")
	const seq = "/tmp/formats/mnt/dseq.dat"
	check(own, "posix_opens "+seq, 2)
	check(own, "posix_writes "+seq, 64)
	check(own, "posix_bytes_written "+seq, 4194304)
	check(own, "posix_reads "+seq, 205)
	check(own, "posix_bytes_read "+seq, 5013504)
	check(own, "posix_fsyncs "+seq, 1)
	check(own, "posix_read_time_ns "+seq, 29483000)
	check(own, "posix_writes /tmp/formats/mnt/dsmall.dat", 500)
	check(own, "posix_bytes_written /tmp/formats/mnt/dsmall.dat", 50000)
	// The bins hold what the modules moved: 5013504 + 524 read, 4194304 + 50000 written.
	check(own, "darshan_heatmap_read_bytes heatmap:POSIX", 5014028)
	check(own, "darshan_heatmap_write_bytes heatmap:POSIX", 4244304)
	partial := read("logs-partial-data-stdio.darshan-parser.txt")
	check(partial, "darshan_incomplete STDIO", 1)
	for _, name := range []string{"logs-empty.darshan-parser.txt", "logs-imbalanced-io.darshan-parser.txt", "logs-mpi-io-test-dxt.darshan-parser.txt.gz",
		"logs-nonmpi-dxt-anonymized.darshan-parser.txt.gz", "release-mpi-io-test-ppc64-3.1.8.darshan-parser.txt", "release-mpi-io-test-x86_64-3.0.0.darshan-parser.txt",
		"release-mpi-io-test-x86_64-3.1.8.darshan-parser.txt", "release-mpi-io-test-x86_64-3.4.4.darshan-parser.txt"} {
		read(name)
	}
}
