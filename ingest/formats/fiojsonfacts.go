package formats

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// fioOp is what a job tells of reads, writes, trims or syncs, or of all together
// (unified_rw_reporting). What is not told, or is nan, is below 0.
type fioOp struct {
	ios, bytes, kib, runtime, iops, rate, rateKiB, short, dropped float64
	stat                                                          fioStat
	named                                                         []fioNamed // latencies, to be told at the end
}

// untold is an operation of which nothing is told yet.
func (o fioOp) untold() fioOp {
	o.ios, o.bytes, o.kib, o.runtime, o.iops, o.rate, o.rateKiB = -1, -1, -1, -1, -1, -1, -1
	return o
}

// fioStat is one of slat, clat and lat; what is not told is below 0.
type fioStat struct {
	min, max, mean, dev, n float64
	counted                bool // N was told
	percents               []fioNamed
}

type fioNamed struct {
	name  string
	value float64
}

// fioMostPercents bounds the percentiles of a latency; fio has 20.
const fioMostPercents = 100

// name joins two parts of a fact's name; each pair is joined once.
func (d *fioJSON) name(a, b string) string {
	if n, ok := d.names[[2]string{a, b}]; ok {
		return n
	}
	n := a + b
	if len(d.names) < fioMostNames {
		d.names[[2]string{a, b}] = n
	}
	return n
}

// fioMostNames bounds the names that are kept; a report has some hundreds.
const fioMostNames = 1 << 13

// endStat keeps what an ended slat, clat or lat has told.
func (d *fioJSON) endStat() {
	var prefix string
	old := false
	switch string(d.keys[4]) {
	case "slat_ns":
		prefix = "slat_"
	case "clat_ns":
		prefix = "clat_"
	case "lat_ns":
		prefix = "lat_"
	case "slat":
		prefix, old = "slat_", d.old
	case "clat":
		prefix, old = "clat_", d.old
	case "lat":
		prefix, old = "lat_", d.old
	}
	o := &d.op
	if prefix == "" || o.stat.counted && o.stat.n == 0 || !o.stat.counted && o.stat.mean <= 0 && o.stat.max <= 0 {
		return
	}
	unit := 1.0
	if old {
		unit = 1000 // microseconds
	}
	add := func(what string, v float64) {
		if v >= 0 {
			o.named = append(o.named, fioNamed{d.name(prefix, what), v * unit})
		}
	}
	add("min_ns", o.stat.min)
	add("max_ns", o.stat.max)
	add("mean_ns", o.stat.mean)
	add("stddev_ns", o.stat.dev)
	for _, p := range o.stat.percents {
		add(p.name, p.value)
	}
}

// endOp tells the facts of a job's operation that ends.
func (d *fioJSON) endOp(out *ingest.Out) {
	var op string
	switch string(d.keys[3]) {
	case "read":
		op = "fio_read_"
	case "write":
		op = "fio_write_"
	case "trim":
		op = "fio_trim_"
	case "mixed":
		op = "fio_mixed_"
	case "sync":
		op = "fio_sync_"
	default:
		return
	}
	o := &d.op
	if o.ios <= 0 && o.bytes <= 0 && o.kib <= 0 {
		return
	}
	tell := func(name string, v float64) {
		if v >= 0 {
			d.tell(d.name(op, name), d.job.name, v, out)
		}
	}
	tell("ios", o.ios)
	if op != "fio_sync_" {
		if d.old {
			o.bytes *= 1024
		} else if o.bytes <= 0 {
			o.bytes = max(o.bytes, o.kib*1024)
		}
		tell("bytes", o.bytes)
		tell("iops", o.iops)
		if o.rate <= 0 {
			o.rate = max(o.rate, o.rateKiB*1024)
		}
		tell("bytes_per_s", o.rate)
		tell("runtime_ns", o.runtime*1e6)
	}
	if o.short > 0 {
		tell("short_ios", o.short)
	}
	if o.dropped > 0 {
		tell("drop_ios", o.dropped)
	}
	for _, n := range o.named {
		tell(n.name, n.value)
	}
}

// value takes a key's number or text.
func (d *fioJSON) value(v []byte, out *ingest.Out) {
	x, number := fioFigure(v)
	key := string(d.key)
	switch {
	case key == "fio version" && d.depth > 1: // the report lies in another document
		d.depth = 1
		d.lists[0] = false
		d.report(out)
		d.head(key, v, x, number)
	case d.depth == 1:
		d.head(key, v, x, number)
	case d.depth == 2 && d.section("global options"):
		d.option(key, v, "global", out)
	case d.depth == 3 && d.section("disk_util"):
		d.disk(key, v, x, number, out)
	case d.depth == 3 && d.jobs(3):
		switch key {
		case "jobname":
			d.job.name = fioText(v)
		case "hostname":
			d.job.host = fioText(v)
		case "error":
			if number {
				d.tell("fio_job_error", d.job.name, x, out)
			}
		case "usr_cpu", "sys_cpu":
			if number && x >= 0 {
				name := "fio_job_cpu_user" // share of one core
				if key == "sys_cpu" {
					name = "fio_job_cpu_system"
				}
				d.tell(name, d.job.name, x/100, out)
			}
		case "job_runtime":
			if number && x > 0 {
				d.tell("fio_job_runtime_ns", d.job.name, x*1e6, out)
			}
		}
	case d.depth == 4 && d.jobs(4) && string(d.keys[3]) == "job options":
		d.option(key, v, d.job.name, out)
	case !number || x < 0:
	case d.depth == 4 && d.jobs(4):
		d.op.take(key, x)
	case d.depth == 5 && d.jobs(4):
		switch s := &d.op.stat; key {
		case "min":
			s.min = x
		case "max":
			s.max = x
		case "mean":
			s.mean = x
		case "stddev":
			s.dev = x
		case "N":
			s.n, s.counted = x, true
		}
	case d.depth == 6 && d.jobs(4) && string(d.keys[5]) == "percentile":
		// fio 3.1 fills unused places with "0.00", many times over.
		if len(d.op.stat.percents) >= fioMostPercents {
			break
		}
		name, known := d.percents[string(d.key)]
		if !known {
			p, ok := fioFigure(d.key)
			if !ok || p <= 0 {
				break
			}
			name = d.percent(p)
			if d.percents == nil || len(d.percents) >= fioMostPercents {
				d.percents = make(map[string]string)
			}
			d.percents[string(d.key)] = name
		}
		d.op.stat.percents = append(d.op.stat.percents, fioNamed{name, x})
	}
}

// percent is the name of a percentile: p99.9_ns.
func (d *fioJSON) percent(p float64) string {
	var mem [32]byte
	text := append(strconv.AppendFloat(mem[:0], p, 'f', -1, 64), "_ns"...)
	if n, ok := d.names[[2]string{"p", string(text)}]; ok {
		return n
	}
	return d.name("p", string(text))
}

func (o *fioOp) take(key string, x float64) {
	switch key {
	case "total_ios":
		o.ios = x
	case "io_bytes":
		o.bytes = x
	case "io_kbytes":
		o.kib = x
	case "runtime":
		o.runtime = x
	case "iops":
		o.iops = x
	case "bw_bytes":
		o.rate = x
	case "bw":
		o.rateKiB = x
	case "short_ios":
		o.short = x
	case "drop_ios":
		o.dropped = x
	}
}

// head takes the report's own keys.
func (d *fioJSON) head(key string, v []byte, x float64, number bool) {
	switch key {
	case "fio version":
		d.old = fioOld(v)
	case "timestamp":
		if number && x > 0 && x < maxStampMS/1000 && !d.stamped {
			d.at = int64(x) * 1e9
			d.stamped = true
		}
	case "timestamp_ms":
		if number && x > 0 && x < maxStampMS {
			d.at = int64(x) * 1e6
			d.stamped = true
		}
	case "time":
		if t, err := time.ParseInLocation(time.ANSIC, string(v), d.zone); err == nil && !d.stamped {
			d.at = t.UnixNano()
		}
	}
}

// fioOld tells versions before 2.99, whose latencies are in microseconds and
// whose io_bytes are KiB.
func fioOld(v []byte) bool {
	v = bytes.TrimPrefix(v, []byte("fio-"))
	major, end := scanDigits(v, 0)
	if end == 0 || end == len(v) || v[end] != '.' {
		return false
	}
	minor, _ := scanDigits(v, end+1)
	return major < 2 || major == 2 && minor < 99
}

// option takes what was asked of a job.
func (d *fioJSON) option(key string, v []byte, job string, out *ingest.Out) {
	switch key {
	case "filename":
		dev, ok := fioDevice(v)
		if d.depth == 2 {
			d.global = dev
		} else if ok {
			d.job.device = dev
		}
	case "runtime":
		if ns, ok := fioSpan(v); ok {
			if d.depth == 4 {
				d.tell("fio_option_runtime_ns", job, ns, out)
				break
			}
			d.fact(out, "fio_option_runtime_ns", d.global, job, ns)
			d.made = true
		}
	}
}

// fioDevice is the device that a file name under /dev is of.
func fioDevice(name []byte) (string, bool) {
	rest, ok := bytes.CutPrefix(name, []byte("/dev/"))
	if !ok || len(rest) == 0 || bytes.IndexByte(rest, ':') >= 0 {
		return "", false
	}
	return string(rest), true
}

// fioSpan reads a time option: seconds unless a unit stands behind it.
func fioSpan(v []byte) (ns float64, ok bool) {
	n, end := scanDigits(v, 0)
	if end == 0 || n < 0 {
		return 0, false
	}
	switch strings.ToLower(string(v[end:])) {
	case "", "s":
		return float64(n) * 1e9, true
	case "us":
		return float64(n) * 1e3, true
	case "ms":
		return float64(n) * 1e6, true
	case "m":
		return float64(n) * 60e9, true
	case "h":
		return float64(n) * 3600e9, true
	case "d":
		return float64(n) * 86400e9, true
	}
	return 0, false
}

// disk takes a disk's counters: those of /proc/diskstats over the run.
func (d *fioJSON) disk(key string, v []byte, x float64, number bool, out *ingest.Out) {
	switch key {
	case "name":
		d.job.device = fioText(v)
	case "hostname":
		d.job.host = fioText(v)
	case "read_ios", "write_ios", "read_merges", "write_merges", "read_sectors", "write_sectors":
		if number {
			d.tell("fio_disk_"+key, "", x, out)
		}
	case "read_ticks", "write_ticks", "in_queue":
		if number {
			d.tell("fio_disk_"+strings.TrimSuffix(key, "_ticks")+"_ns", "", x*1e6, out)
		}
	case "util":
		if number {
			d.tell("fio_disk_util", "", x/100, out)
		}
	}
}
