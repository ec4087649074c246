package formats

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/iopathy/iopathy/ingest"
)

// parseFloat reads a number as Prometheus and Go print it; what is not finite
// is none.
func parseFloat(b []byte) (float64, bool) {
	if len(b) == 0 || len(b) > 64 {
		return 0, false
	}
	if x, ok := shortFigure(b, '.'); ok {
		return x, true
	}
	if v, end := scanDigits(b, 0); end == len(b) && v >= 0 && v < 1<<53 {
		return float64(v), true
	}
	if x, ok := pointFigure(b); ok {
		return x, true
	}
	f, err := strconv.ParseFloat(string(b), 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// isNoFigure tells the values with which Prometheus says that there is none.
func isNoFigure(b []byte) bool {
	b = bytes.TrimLeft(b, "+-")
	return bytes.EqualFold(b, []byte("NaN")) || bytes.EqualFold(b, []byte("Inf")) || bytes.EqualFold(b, []byte("Infinity"))
}

// promMetric is a counter of node_exporter and its unit in base units.
type promMetric struct {
	field ctrField
	scale float64
}

// promMetrics are the counters of node_exporter's diskstats collector by their
// names: since 0.16, before (ms, sectors), and on macOS.
var promMetrics = map[string]promMetric{
	"node_disk_reads_completed_total":             {ctrReads, 1},
	"node_disk_writes_completed_total":            {ctrWrites, 1},
	"node_disk_discards_completed_total":          {ctrDiscards, 1},
	"node_disk_flush_requests_total":              {ctrFlushes, 1},
	"node_disk_reads_merged_total":                {ctrReadMerges, 1},
	"node_disk_writes_merged_total":               {ctrWriteMerges, 1},
	"node_disk_discards_merged_total":             {ctrDiscardMerges, 1},
	"node_disk_read_bytes_total":                  {ctrReadBytes, 1},
	"node_disk_written_bytes_total":               {ctrWriteBytes, 1},
	"node_disk_discarded_sectors_total":           {ctrDiscardBytes, 512},
	"node_disk_read_time_seconds_total":           {ctrReadNS, 1e9},
	"node_disk_write_time_seconds_total":          {ctrWriteNS, 1e9},
	"node_disk_discard_time_seconds_total":        {ctrDiscardNS, 1e9},
	"node_disk_flush_requests_time_seconds_total": {ctrFlushNS, 1e9},
	"node_disk_io_time_seconds_total":             {ctrBusyNS, 1e9},
	"node_disk_io_time_weighted_seconds_total":    {ctrInFlightNS, 1e9},
	"node_disk_read_seconds_total":                {ctrReadNS, 1e9},
	"node_disk_write_seconds_total":               {ctrWriteNS, 1e9},

	"node_disk_reads_completed":  {ctrReads, 1},
	"node_disk_writes_completed": {ctrWrites, 1},
	"node_disk_reads_merged":     {ctrReadMerges, 1},
	"node_disk_writes_merged":    {ctrWriteMerges, 1},
	"node_disk_bytes_read":       {ctrReadBytes, 1},
	"node_disk_bytes_written":    {ctrWriteBytes, 1},
	"node_disk_sectors_read":     {ctrReadBytes, 512},
	"node_disk_sectors_written":  {ctrWriteBytes, 512},
	"node_disk_read_time_ms":     {ctrReadNS, 1e6},
	"node_disk_write_time_ms":    {ctrWriteNS, 1e6},
	"node_disk_io_time_ms":       {ctrBusyNS, 1e6},
	"node_disk_io_time_weighted": {ctrInFlightNS, 1e6},
}

// counter is a value of the metric in whole base units; the reason is "" if it
// can be one. Seconds are those of a kernel that counts ms, as floats: they are
// rounded to the us.
func (m promMetric) counter(v float64) (n int64, reason string) {
	switch {
	case v < 0:
		return 0, "negative"
	case v*m.scale >= 1<<63-1024:
		return 0, "impossible"
	case m.scale == 1e9:
		return int64(math.Round(v*1e6)) * 1000, ""
	}
	return int64(math.Round(v * m.scale)), ""
}

// promHost is the host of an instance label, without its port; nil for one that says
// only that the exporter stands where it was asked from.
func promHost(instance []byte) []byte {
	switch host := withoutPort(instance); {
	case string(host) == "localhost", bytes.HasPrefix(host, []byte("127.")), string(host) == "[::1]", string(host) == "::1":
		return nil
	default:
		return host
	}
}

func withoutPort(instance []byte) []byte {
	i := bytes.LastIndexByte(instance, ':')
	if i <= 0 || i+1 == len(instance) || bytes.IndexByte(instance, ':') != i && instance[i-1] != ']' {
		return instance
	}
	if _, end := scanDigits(instance, i+1); end < len(instance) {
		return instance
	}
	return instance[:i]
}

// promNoise tells metrics of the exporter itself and parts of histograms, which
// say nothing of a host's I/O.
func promNoise(name []byte) bool {
	for _, p := range [...]string{"go_", "process_", "promhttp_", "scrape_", "node_scrape_", "node_exporter_"} {
		if bytes.HasPrefix(name, []byte(p)) {
			return true
		}
	}
	return bytes.HasSuffix(name, []byte("_bucket")) || bytes.HasSuffix(name, []byte("_created"))
}

// promPoint is a counter at a time.
type promPoint struct{ timeNS, value, position int64 }

// promDevice is the points of a device, of each counter by itself.
type promDevice struct {
	host, device string
	points       [ctrFields][]promPoint
	latest       ctrField // whose first point came last
}

// CheckState is of a loaded device.
func (d *promDevice) CheckState() error {
	if d.latest >= ctrFields {
		return errors.New("no such counter")
	}
	return nil
}

// promMatrix gathers series that come one behind the other, each over all times,
// to join those of a device by time.
type promMatrix struct {
	devices map[string]*promDevice
	order   []*promDevice
	last    *promDevice
	key     []byte
	n       int
	room    int // points that memory was made for before they came
}

// pointsBound bounds the points of an input: 100 MB of memory.
const pointsBound = 1 << 22

// add keeps a point; false says that there is no room for it.
func (m *promMatrix) add(host, device []byte, f ctrField, p promPoint) bool {
	if m.n >= pointsBound {
		return false
	}
	d := m.last
	if d == nil || d.host != string(host) || d.device != string(device) {
		m.key = append(append(append(m.key[:0], host...), 0), device...)
		if d = m.devices[string(m.key)]; d == nil {
			if len(m.order) >= devicesBound {
				return false
			}
			d = &promDevice{host: string(host), device: string(device)}
			if m.devices == nil {
				m.devices = make(map[string]*promDevice)
			}
			m.devices[string(m.key)] = d
			m.order = append(m.order, d)
		}
		m.last = d
	}
	if d.points[f] == nil { // the series of a device are of one length
		if n := len(d.points[d.latest]); m.room+n <= 2*m.n {
			d.points[f] = make([]promPoint, 0, n)
			m.room += n
		}
		d.latest = f
	}
	d.points[f] = append(d.points[f], p)
	m.n++
	return true
}

// settle makes samples of all points and gives each its fate. A time at which
// some of a device's counters are absent, but soon there again, is a torn scrape:
// the interval spans it.
func (m *promMatrix) settle(out *ingest.Out) {
	series := ctrSeries{wraps: true}
	for _, d := range m.order {
		for f := range d.points {
			byTime := func(a, b promPoint) int { return cmp.Compare(a.timeNS, b.timeNS) }
			if !slices.IsSortedFunc(d.points[f], byTime) {
				slices.SortStableFunc(d.points[f], byTime)
			}
		}
		d.join(&series, out)
	}
	series.end(out)
	*m = promMatrix{}
}

// join makes readings of a device's points.
func (d *promDevice) join(series *ctrSeries, out *ingest.Out) {
	r := ctrRow{host: []byte(d.host), device: []byte(d.device), text: []byte(d.device), lineno: out.Lineno}
	var at [ctrFields]int
	var heads [ctrFields]int64 // the times of the points there
	most := 0
	for f, p := range d.points {
		if heads[f] = math.MaxInt64; len(p) > 0 {
			heads[f] = p[0].timeNS
		}
		most = max(most, len(p))
	}
	out.Samples = slices.Grow(out.Samples, most)
	var known uint32 // of the last reading
	var lastNS int64
	for {
		next := int64(math.MaxInt64)
		for _, ns := range heads {
			next = min(next, ns)
		}
		if next == math.MaxInt64 {
			break
		}
		r.timeNS, r.lines, r.snap.known = next, 0, 0
		for f := range ctrFields {
			if heads[f] != next {
				continue
			}
			p := d.points[f]
			first := &p[at[f]]
			if r.lines == 0 {
				r.position = first.position
			}
			r.snap.set(f, first.value)
			for at[f] < len(p) && p[at[f]].timeNS == next {
				at[f]++
				r.lines++
			}
			if heads[f] = math.MaxInt64; at[f] < len(p) {
				heads[f] = p[at[f]].timeNS
			}
		}
		if absent := known &^ r.snap.known; absent != 0 && d.returns(absent, &at, next+4*(next-lastNS)) {
			out.Count(ingest.FateUnpaired, "torn-snapshot", r.lines)
			continue
		}
		known, lastNS = r.snap.known, next
		series.add(&r, out)
	}
}

// returns says that all of the absent counters have a point by a time.
func (d *promDevice) returns(absent uint32, at *[ctrFields]int, by int64) bool {
	for f, p := range d.points {
		if absent>>f&1 != 0 && (at[f] >= len(p) || p[at[f]].timeNS > by) {
			return false
		}
	}
	return true
}
