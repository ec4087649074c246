package formats

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestPrometheusRecording: scrapes before and after the workload, and a
// query_range over it, give what /proc/diskstats counted. Oracles: the counters
// read each second, and, for the scrapes, the figures that they print.
func TestPrometheusRecording(t *testing.T) {
	counters := readDiskstats(t, sharedFile(t, "samples", "diskstats", "runA-diskstats.1s.txt"))["loop0"]
	want := counters[len(counters)-1].minus(counters[0])

	const all = "runA-qr-node_disk-all.json"
	data := sharedFile(t, "samples", "prometheus", all)
	sniffed(t, all, data, PrometheusJSON)
	for _, step := range []int{len(data), 61, 1} {
		out := decodeAll(t, PrometheusJSON, all, data, ingest.DefaultOptions(), step)
		only(t, out, 0)
		s, n := sums(out, "loop0")
		exactly(t, "samples", int64(n), 33)
		exactly(t, "points of io_now", int64(len(out.Evidence)), 34)
		if host := out.Names.String(out.Samples[0].Host); strings.HasPrefix(host, "127.") { // what the label says names no machine
			t.Errorf("host %q", host)
		}
		exactly(t, "reads", s.Reads, want.reads)
		exactly(t, "read bytes", s.ReadBytes, want.readSectors*512)
		exactly(t, "read time", s.ReadNS, want.readMS*1e6)
		exactly(t, "writes", s.Writes, want.writes)
		exactly(t, "write bytes", s.WriteBytes, want.writeSectors*512)
		exactly(t, "write time", s.WriteNS, want.writeMS*1e6)
		exactly(t, "in flight", s.InFlightNS, want.weightedMS*1e6)
		exactly(t, "busy", s.BusyNS, want.busyMS*1e6)
	}
	for _, c := range []struct {
		name string
		get  func(*ingest.Sample) int64
		want int64
	}{
		{"runA-q-matrix-io_time.json", func(s *ingest.Sample) int64 { return s.BusyNS }, 4500e6}, // its last point is 13.412, its first 8.912
		{"runA-qr-reads_completed_total.json", func(s *ingest.Sample) int64 { return s.Reads }, 1513},
		{"runA-qr-written_bytes_total.json", func(s *ingest.Sample) int64 { return s.WriteBytes }, 26_691_584},
	} {
		data := sharedFile(t, "samples", "prometheus", c.name)
		sniffed(t, c.name, data, PrometheusJSON)
		out := decodeAll(t, PrometheusJSON, c.name, data, ingest.DefaultOptions(), 100)
		only(t, out, 0)
		s, _ := sums(out, "loop0")
		exactly(t, c.name, c.get(&s), c.want)
	}
	// The answer of an expression does not say what it is of.
	const await = "runA-qr-read-await.json"
	data = sharedFile(t, "samples", "prometheus", await)
	sniffed(t, await, data, PrometheusJSON)
	out := decodeAll(t, PrometheusJSON, await, data, ingest.DefaultOptions(), 100)
	exactly(t, "points without a name", out.Tally.Rejects["no-metric-name"], 17)
	exactly(t, "points", out.Tally.Lines, 17)

	before := sharedFile(t, "samples", "prometheus", "runA-node_exporter.before.prom")
	for _, name := range []string{"runA-node_exporter.after.prom", "runA-node_exporter.after.openmetrics.txt"} {
		after := sharedFile(t, "samples", "prometheus", name)
		sniffed(t, name, after, Prometheus)
		one := decodeAll(t, Prometheus, name, after, ingest.DefaultOptions(), 0)
		only(t, one, 0)
		if len(one.Samples) > 0 || len(one.Evidence) < 32 {
			t.Errorf("%s: %d samples and %d facts of one scrape", name, len(one.Samples), len(one.Evidence))
		}
		both := slices.Concat([]byte("# 1795954828\n"), before, []byte("# 1795954854\n"), after)
		out := decodeAll(t, Prometheus, name, both, ingest.DefaultOptions(), 0)
		only(t, out, 0)
		s, n := sums(out, "loop0")
		exactly(t, "samples", int64(n), 1)
		exactly(t, "interval", s.IntervalNS, 26e9)
		exactly(t, "reads", s.Reads, 7712-6199)
		exactly(t, "read bytes", s.ReadBytes, 18_726_912)
		exactly(t, "read time", s.ReadNS, 352e6)
		exactly(t, "writes", s.Writes, 6237-5064)
		exactly(t, "write bytes", s.WriteBytes, 234_119_168-207_431_680)
		exactly(t, "write time", s.WriteNS, 1475e6) // fio's own disk_util: write_ticks 1475
		exactly(t, "flushes", s.Flushes, 496-404)
		exactly(t, "flush time", s.FlushNS, 33e6)
		exactly(t, "busy", s.BusyNS, 4500e6)
		exactly(t, "in flight", s.InFlightNS, 1860e6)
		vda, _ := sums(out, "vda")
		exactly(t, "discards of vda", vda.Discards, 47068-47056)
		exactly(t, "discarded bytes of vda", vda.DiscardBytes, (13302648-13302552)*512)
	}
}

// TestPrometheusOrder: in whatever order the series and points of a device come,
// and by whichever of the two formats, the samples are the same.
func TestPrometheusOrder(t *testing.T) {
	const steps = 40
	type series struct {
		name   string
		values []string
	}
	rng := rand.New(rand.NewPCG(1, 2))
	all := []series{{"node_disk_reads_completed_total", nil}, {"node_disk_read_bytes_total", nil}, {"node_disk_io_time_seconds_total", nil}}
	var reads int64
	for i := range steps {
		n := rng.Int64N(50)
		if i > 0 {
			reads += n
		}
		all[0].values = append(all[0].values, strconv.FormatInt(1000+reads, 10))
		all[1].values = append(all[1].values, strconv.FormatFloat(float64(4096*(1000+reads)), 'g', -1, 64))
		all[2].values = append(all[2].values, strconv.FormatFloat(float64(i)/8, 'g', -1, 64))
	}
	var want []ingest.Sample
	for round := range 4 {
		var doc, text bytes.Buffer
		doc.WriteString(`{"data":{"resultType":"matrix","result":[`)
		for k, i := range rng.Perm(len(all)) {
			if k > 0 {
				doc.WriteString(",")
			}
			doc.WriteString(`{"metric":{"device":"sda","__name__":"` + all[i].name + `"},"values":[`)
			for k, j := range rng.Perm(steps) {
				if k > 0 {
					doc.WriteString(", ")
				}
				stamp := strconv.Itoa(1_700_000_000 + 15*j)
				doc.WriteString("[" + stamp + `,"` + all[i].values[j] + `"]`)
				text.WriteString(all[i].name + `{device="sda"} ` + all[i].values[j] + " " + stamp + "000\n")
			}
			doc.WriteString("]}")
		}
		doc.WriteString("]}}")
		for _, out := range []*ingest.Out{
			decodeAll(t, PrometheusJSON, "x", doc.Bytes(), ingest.DefaultOptions(), 7+round),
			decodeAll(t, Prometheus, "x", text.Bytes(), ingest.DefaultOptions(), 0),
		} {
			only(t, out, 0)
			s, n := sums(out, "sda")
			exactly(t, "samples", int64(n), steps-1)
			exactly(t, "reads", s.Reads, reads)
			exactly(t, "bytes", s.ReadBytes, 4096*reads)
			exactly(t, "busy", s.BusyNS, (steps-1)*125e6)
			for i := range out.Samples {
				out.Samples[i].Position = 0
			}
			if want == nil {
				want = out.Samples
			}
			if !slices.Equal(want, out.Samples) {
				t.Errorf("round %d: other samples", round)
			}
		}
	}
}
