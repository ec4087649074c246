package formats

import (
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestDftracerRecordings: the calls of real traces. Oracle: a Python script that
// reads each line by json.loads and counts the objects of ph "X" and cat POSIX or
// STDIO by name, with the sum of args.ret.
func TestDftracerRecordings(t *testing.T) {
	check := func(name string, reads, readBytes, writes, writeBytes, opens, stats, hashes int64, host string) {
		t.Helper()
		data := sharedFile(t, "samples", "dftracer", name)
		if Dftracer.Sniff(data[:ingest.SniffBytes], "x") != 2 {
			t.Errorf("%s: not known as dftracer", name)
		}
		out := decodeAll(t, Dftracer, "x", data, ingest.DefaultOptions(), 0)
		var n, sum [2]int64
		for _, e := range out.Events {
			op := 0
			if e.Op == ingest.OpWrite {
				op = 1
			}
			n[op]++
			sum[op] += e.SizeBytes
			if out.Names.String(e.Host) != host || e.File == 0 || e.LatencyNS < 0 {
				t.Errorf("%s: event %+v", name, e)
			}
		}
		facts := make(map[string]int64)
		for _, e := range out.Evidence {
			facts[out.Names.String(e.Name)]++
			if e.TimeNS < 1698080323e9 {
				t.Errorf("%s: evidence %+v", name, e)
			}
		}
		n[1] += facts["io_failed"] // two writes of each newer trace returned -1
		if n != [2]int64{reads, writes} || sum != [2]int64{readBytes, writeBytes} {
			t.Errorf("%s: reads and writes %v of %v bytes", name, n, sum)
		}
		if facts["open"]+facts["open_failed"] != opens || facts["stat"] != stats || facts["file_hash"] != hashes {
			t.Errorf("%s: facts %v", name, facts)
		}
		if out.Tally.Rejected() != 0 || out.Tally.Accounted() != out.Tally.Lines {
			t.Errorf("%s: fates %s", name, fates(out.Tally))
		}
	}
	check("test-2023-oldschema.pfw", 1000, 131072000, 1, 3276800, 3, 4, 0, "node237")
	check("cm1-3537780-preload.pfw.gz", 282+8, 45406+20860, 3031, 16498007, 747+119+427, 356+1289, 703, "node173")
	check("cm1-3537781-preload.pfw.gz", 281+8, 38384+20860, 2326, 15004943, 448+119+427, 57+983, 686, "node173")
}
