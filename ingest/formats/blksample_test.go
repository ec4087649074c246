package formats

import (
	"math"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// Run A was seen by blkparse, btt and /proc/diskstats at once: 1513 reads of
// 18,726,912 bytes and 1176 writes of 26,691,584 bytes by the kernel's own
// counters, D to C 211.3 us and 1201.4 us by the pairs of its trace, and btt's
// D2C of 642.185 us over 2729 bios.
func TestBlkparseRunA(t *testing.T) {
	out := decodeBlkparse(t, sharedFile(t, "samples", "blkparse", "runA-loop0.blkparse.txt.gz"), ingest.Options{})
	checkSums(t, out)
	type sum struct{ n, bytes, d2c, q2c int64 }
	sums := map[ingest.Op]*sum{}
	for _, e := range out.Events {
		s := sums[e.Op]
		if s == nil {
			s = &sum{}
			sums[e.Op] = s
		}
		if e.Kind != ingest.KindQ2C || e.QueueNS < 0 {
			t.Errorf("%s at %d has kind %s, queue %d", e.Op, e.TimeNS, e.Kind, e.QueueNS)
		}
		s.n++
		s.bytes += e.SizeBytes
		s.q2c += e.LatencyNS
		s.d2c += e.LatencyNS - e.QueueNS
		if got := out.Names.String(e.Device); got != "dev:7:0" {
			t.Fatalf("device %q", got)
		}
		if e.Comm != 0 { // the binary trace held no process names
			t.Fatalf("comm %q, want unknown", out.Names.String(e.Comm))
		}
	}
	check := func(op ingest.Op, n, bytes int64, d2cUS float64) {
		t.Helper()
		s := sums[op]
		if s == nil || s.n != n || s.bytes != bytes {
			t.Fatalf("%s: %+v, want %d of %d bytes", op, s, n, bytes)
		}
		mean := float64(s.d2c) / float64(n) / 1e3
		if d2cUS > 0 && math.Abs(mean/d2cUS-1) > 0.01 {
			t.Errorf("%s: mean D2C %.1f us, want %.1f", op, mean, d2cUS)
		}
		t.Logf("%s: %d, %d bytes, D2C %.1f us, Q2C %.1f us", op, n, bytes, mean, float64(s.q2c)/float64(n)/1e3)
	}
	check(ingest.OpRead, 1513, 18726912, 211.3)
	check(ingest.OpWrite, 1176, 26691584, 1201.4)
	check(ingest.OpFlush, 94, 0, 0)
	// btt weighs by bio (47 merged ones more, 5 split ones less), so it stands a
	// little apart from the means over requests.
	data := *sums[ingest.OpRead]
	data.n += sums[ingest.OpWrite].n
	data.d2c += sums[ingest.OpWrite].d2c
	data.q2c += sums[ingest.OpWrite].q2c
	if d2c, q2c := float64(data.d2c)/float64(data.n)/1e3, float64(data.q2c)/float64(data.n)/1e3; math.Abs(d2c/642.185-1) > 0.01 || math.Abs(q2c/680.356-1) > 0.01 {
		t.Errorf("D2C %.1f us, Q2C %.1f us over requests; btt has 642.2 and 680.4", d2c, q2c)
	}
	if out.Tally.UnpairedLines() != 0 || out.Tally.Rejected() != 0 {
		t.Errorf("left over: %s", tallyText(out))
	}
}

// The first 30,000 lines of a capture on a disk under CFQ: it is cut in the
// middle of a writeback burst, so what was queued and not issued is unpaired.
func TestBlkparseCutCapture(t *testing.T) {
	out := decodeBlkparse(t, sharedFile(t, "samples", "blkparse", "apress-hdd-hadoop-sdb.first30000.blkparse.txt.gz"), ingest.Options{})
	checkSums(t, out)
	t.Logf("%d events; %s", len(out.Events), tallyText(out))
	if out.Tally.Rejected() != 0 {
		t.Errorf("%d rejects", out.Tally.Rejected())
	}
	for _, reason := range []string{blkNoIssue, blkNoMerge, blkNoSplit, blkNoRequeue} {
		if n := out.Tally.Unpaired[reason]; n != 0 {
			t.Errorf("%d %s: the capture has the start of all its I/O", n, reason)
		}
	}
	for _, e := range out.Events {
		if e.Kind != ingest.KindQ2C || e.QueueNS < 0 || e.Comm == 0 {
			t.Errorf("event %+v of %s: all halves are in the capture", e, out.Names.String(e.Comm))
		}
	}
}
