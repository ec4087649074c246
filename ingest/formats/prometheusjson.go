package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// PrometheusJSON reads answers of Prometheus' query and query_range, one or
// several behind one another, and VictoriaMetrics' export lines. Counters of
// node_disk_* of one device become samples by their differences from step to
// step, joined by time; other named metrics are evidence, a row for each point.
// A record is a point: its value is a string, "NaN" and "+Inf" say that there is
// none. Expressions such as rate() answer without a metric's name: what they are
// only the query tells, so that their points are rejects.
var PrometheusJSON = ingest.Register(ingest.Format{
	Name: "prometheus-json",
	Doc:  "Prometheus query_range and query JSON, VictoriaMetrics export lines",
	Kind: ingest.KindSample,
	Needs: "the counters themselves (node_disk_..._total), not rate() of them, all of a device in one input; " +
		"a step no shorter than the scrape interval (else I/O seems to come in bursts)",
	Lacks: "single I/Os, offsets, processes, errors; how devices stack; native histograms are passed over; at most 4 million points",
	Sniff: sniffPrometheusJSON,
	Stream: func(src *ingest.Source) (ingest.StreamDecoder, error) {
		return &promJSON{srcHost: []byte(src.Host)}, nil
	},
})

func sniffPrometheusJSON(head []byte, _ string) int {
	has := func(key string) bool { return bytes.Contains(head, []byte(key)) }
	switch {
	case has(`"resultType"`), has(`"metric"`) && has(`"__name__"`) && (has(`"values"`) || has(`"value"`)):
		return 2
	case has(`"status"`) && has(`"errorType"`) && has(`"error"`):
		return 2
	}
	return 0
}

// promMode is what the open array holds.
type promMode uint8

const (
	promNone   promMode = iota
	promValue           // [time, "value"]
	promValues          // [[time, "value"], ...], or values alone (VictoriaMetrics)
	promStamps          // their times, ms
)

type promJSON struct {
	srcHost []byte
	flow    jsonFlow
	matrix  promMatrix

	inMetric           bool
	name, device, host []byte
	labels             []byte // the others, as text
	metric             promMetric
	counter            bool

	mode   promMode
	depth  int
	stamp  []byte // of the pair in hand
	begun  bool   // a pair is in hand
	values []float64
	fine   []bool
	next   int // value that the next of the stamps is of
}

func (d *promJSON) Decode(block []byte, final bool, out *ingest.Out) int {
	i := 0
	for i < len(block) {
		at, room := out.Position+int64(i), len(block)+1
		if out.Limit > 0 {
			if at >= out.Limit {
				break
			}
			room = int(min(out.Limit-at, int64(room)))
		}
		if block[i] == '[' && d.mode == promValues && d.depth == 1 && !d.inMetric && !d.flow.holds && len(d.values) == 0 {
			if n := d.pair(block[i:min(len(block), i+room)], at, out); n > 0 {
				i += n
				continue
			}
		}
		t, n := d.flow.next(block[i:], final, room)
		if n == 0 && t == jsonNothing {
			break
		}
		switch t {
		case jsonText:
			d.token(d.flow.text, true, at+int64(n), out)
		case jsonNumber:
			d.token(d.flow.text, false, at, out)
		case jsonOpen:
			d.open()
		case jsonClose:
			d.close(at, out)
		}
		i += n
	}
	return i
}

// pair takes a whole pair at once, as nearly all are written: [1700000000.5,"12.25"],
// digits few enough to be exact, or gives 0 and leaves its tokens to be taken one by
// one, to the same end.
func (d *promJSON) pair(b []byte, at int64, out *ingest.Out) int {
	const most = 64 // more than a pair of so many digits takes
	if len(b) < most || len(d.name) == 0 {
		return 0
	}
	ns, i := scanDigits(b, 1)
	if i != 11 || ns > 7_258_118_400 { // ten digits, before the year 2200
		return 0
	}
	ns *= 1e9
	if b[i] == '.' {
		f, end := scanDigits(b, i+1)
		n := end - i - 1
		if n == 0 || n > 8 {
			return 0
		}
		ns += f * int64(tens[1]*tens[8]/tens[n])
		i = end
	}
	stamp := b[1:i]
	if b[i] != ',' {
		return 0
	}
	if i++; b[i] == ' ' {
		i++
	}
	if b[i] != '"' {
		return 0
	}
	from := i + 1
	n, i := scanDigits(b, from)
	digits := i - from
	v := float64(n)
	if digits > 0 && b[i] == '.' {
		f, end := scanDigits(b, i+1)
		m := end - i - 1
		if digits += m; m == 0 || m > 8 || digits > 15 {
			return 0
		}
		v, i = float64(uint64(n)*tens[m]+uint64(f))/float64(tens[m]), end
	}
	if digits == 0 || digits > 15 || b[i] != '"' || b[i+1] != ']' {
		return 0
	}
	d.stamp = append(d.stamp[:0], stamp...)
	d.take(ns, v, b[from:i], at+int64(i+1), out)
	if i += 2; b[i] == ',' {
		if i++; b[i] == ' ' {
			i++
		}
	}
	return i
}

func (d *promJSON) open() {
	key := string(d.flow.key)
	switch {
	case d.flow.sign == '{':
		d.mode, d.depth = promNone, 0
		if d.inMetric = key == "metric"; d.inMetric {
			d.name, d.device, d.host, d.labels = d.name[:0], d.device[:0], d.host[:0], d.labels[:0]
			d.counter = false
		}
		d.flow.key = d.flow.key[:0]
	case d.mode != promNone:
		d.depth++
		d.begun = false
	default:
		switch key {
		case "value":
			d.mode = promValue
		case "values":
			d.mode, d.values, d.fine = promValues, d.values[:0], d.fine[:0]
		case "timestamps":
			d.mode, d.next = promStamps, 0
		}
		d.depth, d.begun = 1, false
	}
}

func (d *promJSON) close(at int64, out *ingest.Out) {
	switch {
	case d.flow.sign == '}':
		if d.inMetric {
			d.inMetric = false
			d.metric, d.counter = promMetrics[string(d.name)]
			d.counter = d.counter && len(d.device) > 0
		} else if d.mode == promNone {
			d.loose(out) // values without stamps
		}
		d.flow.key = d.flow.key[:0]
	case d.mode != promNone:
		if d.begun {
			d.reject(d.stamp, "torn-record", at, out)
			d.begun = false
		}
		if d.depth--; d.depth <= 0 {
			d.mode = promNone
		}
	}
}

// loose rejects values of which no stamps came.
func (d *promJSON) loose(out *ingest.Out) {
	if n := int64(len(d.values) - d.next); n > 0 && len(d.values) > 0 {
		out.Tally.Lines += n
		out.Count(ingest.FateRejected, "no-stamp", n)
	}
	d.values, d.next = d.values[:0], 0
}

// token takes a string or a number.
func (d *promJSON) token(b []byte, quoted bool, at int64, out *ingest.Out) {
	switch {
	case d.inMetric && quoted:
		d.label(b)
	case d.mode == promNone:
		if quoted && string(d.flow.key) == "error" {
			d.reject(b, "query-error", at, out)
		}
	case d.mode == promStamps:
		d.exported(b, at, out)
	case d.mode == promValues && d.depth == 1:
		if len(d.values) >= pointsBound {
			d.reject(b, "too-many-points", at, out)
			return
		}
		v, ok := parseFloat(b)
		d.values, d.fine = append(d.values, v), append(d.fine, ok)
	case !d.begun:
		d.stamp, d.begun = append(d.stamp[:0], b...), true
	default:
		d.begun = false
		if !quoted { // a cut string
			d.reject(b, "torn-record", at, out)
			return
		}
		d.point(b, at, out)
	}
}

// label takes a label of the metric in hand.
func (d *promJSON) label(value []byte) {
	switch string(d.flow.key) {
	case "__name__":
		d.name = append(d.name[:0], value...)
	case "device":
		d.device = append(d.device[:0], jsonUnescaped(value)...)
	case "instance":
		d.host = append(d.host[:0], promHost(jsonUnescaped(value))...)
	default:
		if len(d.labels) > 0 {
			d.labels = append(d.labels, ',')
		}
		d.labels = append(append(append(append(d.labels, d.flow.key...), `="`...), value...), '"')
	}
}

// unixNS reads seconds since the epoch, with decimals or an exponent.
func unixNS(b []byte) (int64, bool) {
	if ns, ok := epochTime(b); ok {
		return ns, true
	}
	v, ok := parseFloat(b)
	if !ok || v < 0 || v > 7e9 {
		return 0, false
	}
	return int64(v*1e6) * 1000, true
}

// point takes a pair.
func (d *promJSON) point(value []byte, at int64, out *ingest.Out) {
	ns, ok := unixNS(d.stamp)
	v, finite := parseFloat(value)
	switch {
	case !ok:
		d.reject(d.stamp, "bad-time", at, out)
	case len(d.name) == 0:
		d.reject(value, "no-metric-name", at, out)
	case !finite && isNoFigure(value):
		out.Tally.Lines++
		out.Count(ingest.FateUnpaired, "no-figures", 1)
	case !finite:
		d.reject(value, "not-a-number", at, out)
	default:
		d.take(ns, v, value, at, out)
	}
}

// exported takes the stamp of a value that came before.
func (d *promJSON) exported(b []byte, at int64, out *ingest.Out) {
	ms, end := scanDigits(b, 0)
	switch {
	case d.next >= len(d.values):
		d.reject(b, "torn-record", at, out)
		return
	case end != len(b) || ms < 0 || ms > 7_258_118_400_000:
		d.reject(b, "bad-time", at, out)
	case len(d.name) == 0:
		d.reject(b, "no-metric-name", at, out)
	case !d.fine[d.next]:
		out.Tally.Lines++
		out.Count(ingest.FateUnpaired, "no-figures", 1)
	default:
		d.take(ms*1e6, d.values[d.next], b, at, out)
	}
	d.next++
}

// take takes a point: a counter waits for the others of its device.
func (d *promJSON) take(ns int64, v float64, text []byte, at int64, out *ingest.Out) {
	host := d.host
	if len(host) == 0 {
		host = d.srcHost
	}
	if !d.counter {
		out.Tally.Lines++
		out.Count(ingest.FateEvent, "", 1)
		out.Evidence = append(out.Evidence, ingest.Evidence{
			TimeNS: ns, Host: out.Names.Intern(host), Device: out.Names.Intern(d.device), Name: out.Names.Intern(d.name),
			Text: out.Names.Intern(d.labels), Value: v, Position: at,
		})
		return
	}
	n, reason := d.metric.counter(v)
	if reason == "" && !d.matrix.add(host, d.device, d.metric.field, promPoint{ns, n, at}) {
		reason = "too-many-points"
	}
	if reason != "" {
		d.reject(text, reason, at, out)
		return
	}
	out.Tally.Lines++
}

// reject counts a point as bad.
func (d *promJSON) reject(text []byte, reason string, at int64, out *ingest.Out) {
	out.Tally.Lines++
	position, lineno := out.Position, out.Lineno
	out.Position, out.Lineno = at, d.flow.lineno+1
	out.Reject(text, reason)
	out.Position, out.Lineno = position, lineno
}

func (d *promJSON) End(out *ingest.Out) {
	if d.begun {
		d.reject(d.stamp, "torn-record", out.Position, out)
	}
	d.loose(out)
	d.matrix.settle(out)
}
