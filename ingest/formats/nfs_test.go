package formats

import (
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// The mountstats of node_exporter's fixtures and the excerpts of nfsiostat are
// each claimed by their own format alone. Figures as they stand in the files.
func TestNFSSamples(t *testing.T) {
	check := func(name, format string, each func(c *ingest.Chunk)) ingest.Report {
		t.Helper()
		s := sample{path: name, data: sharedFile(t, "samples", "nfs", name), o: ingest.DefaultOptions()}
		s.o.Host, s.o.StartNS, s.o.FirstReport = "h", 1_700_000_000e9, true
		rep := read(t, s, 1, each).rep
		if rep.Format != format {
			t.Errorf("%s: read as %q: %s", name, rep.Format, rep.Problem)
		}
		return rep
	}
	got := map[string]float64{}
	check("node_exporter-fixture.mountstats.txt", "mountstats", func(c *ingest.Chunk) {
		for _, e := range c.Evidence {
			if c.Names.String(e.Device) == "nfs:/mnt/nfs/test" {
				got[c.Names.String(e.Name)] = e.Value
			}
		}
	})
	for name, want := range map[string]float64{
		"counter.reads": 1298, "counter.read_bytes": 1210214218, "counter.read_ns": 79407e6, "counter.writes": 0, "nfs_metadata_calls": 0,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("mountstats: %s is %v, want %v", name, v, want)
		}
	}
	for _, name := range []string{"nfsiostat-with-errors-col.txt", "nfsiostat-2019-errors-nonzero.txt"} {
		if rep := check(name, "nfsiostat", func(*ingest.Chunk) {}); rep.Samples != 1 || rep.Tally.Rejected() > 0 {
			t.Errorf("%s: %d samples, %v", name, rep.Samples, rep.Tally.Rejects)
		}
	}
}

// Figures as they stand in the file (hpe-OST0000.job_stats.yaml): 35 jobs, those of
// job 24.
func TestLustreSample(t *testing.T) {
	s := sample{path: "hpe-OST0000.job_stats.yaml", data: sharedFile(t, "samples", "lustre", "hpe-OST0000.job_stats.yaml"), o: ingest.DefaultOptions()}
	got, devices := map[string]float64{}, map[string]bool{}
	rep := read(t, s, 1, func(c *ingest.Chunk) {
		for _, e := range c.Evidence {
			device := c.Names.String(e.Device)
			if devices[device] = true; device == "hpe-OST0000/24" {
				got[c.Names.String(e.Name)] = e.Value
			}
		}
	}).rep
	if rep.Format != "lustre-jobstats" || len(devices) != 35 || rep.Tally.Rejected() > 0 {
		t.Errorf("%q, %d devices, %v", rep.Format, len(devices), rep.Tally.Rejects)
	}
	if got["counter.writes"] != 64575 || got["counter.write_bytes"] != 215147593728 || got["counter.reads"] != 0 || got["lustre_metadata_ops"] != 1 {
		t.Errorf("job 24: %v", got)
	}
}
