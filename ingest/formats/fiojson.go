package formats

import (
	"bytes"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// FioJSON reads fio's JSON and JSON+ reports. It reads a flow of keys and values,
// line by line, so that it takes text before, after and inside the JSON, duplicate
// keys, several reports behind one another, and what a killed fio leaves.
//
// All is evidence of the whole run and stands at its end: for each job and
// operation the counts, bytes, times and percentiles (fio_read_ios,
// fio_read_clat_p99_ns), the job's error (fio_job_error, 0 too), what fio asks of
// the run (fio_option_runtime_ns) and the disks' counters (fio_disk_read_ios). The
// text is the job. Errors that fio printed are evidence as well (fio_io_error, the
// value is the errno), and the number of lines that are no JSON (fio_text_lines).
//
// A line's fate is event if a fact ends in it, else note.
var FioJSON = ingest.Register(ingest.Format{
	Name:  "fio-json",
	Doc:   "fio --output-format=json, json+ or with normal, one host or client and server",
	Kind:  ingest.KindNone,
	Needs: "zone of the time line where fio gives no timestamp",
	Lacks: "single I/Os and the course over time (fio's logs have them); the device unless the job names one under /dev; histograms of json+ are notes",
	Sniff: sniffFioJSON,
	Cut:   cutJSON,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		zone, err := time.LoadLocation(src.Options.Zone)
		if err != nil {
			zone = time.UTC
		}
		return &fioJSON{host: src.Host, zone: zone, at: src.Options.StartNS, names: make(map[[2]string]string)}, nil
	},
})

const fioNoJSON = "no-json: run fio with --output-format=json+"

// sniffFioJSON is sure of the report's first key, and of the text that fio
// prints before it.
func sniffFioJSON(head []byte, _ string) int {
	if bytes.Contains(head, []byte(`"fio version"`)) ||
		bytes.Contains(head, []byte(": (g=")) && bytes.Contains(head, []byte(" rw=")) && bytes.Contains(head, []byte("ioengine=")) {
		return 2
	}
	return 0
}

// fioDepth is how deep a report's facts lie: jobs, job, read, clat_ns,
// percentile in the outermost object.
const fioDepth = 8

// fioJSON is the state between lines.
type fioJSON struct {
	names    map[[2]string]string // of facts, by their parts
	percents map[string]string    `state:"-"` // of percentiles, by their text
	host     string
	zone     *time.Location
	at       int64 // ns; end of the run

	depth  int
	keys   [fioDepth][]byte // of the open objects and lists
	lists  [fioDepth]bool   // which of them are lists
	key    []byte           // whose value is next
	hasKey bool
	made   bool // a fact ended in the line

	old     bool // fio before 2.99: microseconds, KiB
	stamped bool
	job     fioJob
	op      fioOp
	global  string        // device of all jobs
	texts   int64         // lines that are no JSON
	begun   bool          // a report was seen
	early   []fioFact     // before the report's time was known
	open    []fioFact     // of the job or disk that is open: its host comes last
	first   ingest.Reject // first line of text: what is refused if no report comes
	held    bool          // first has no fate yet
}

// fioJob is what is known of the job, or disk, that is open.
type fioJob struct{ name, host, device string }

// fioFact is evidence whose time is not known yet.
type fioFact struct {
	name, device, text string
	value              float64
	position           int64
}

// fioMostEarly bounds the errors before a report that are kept, fioMostOpen the
// facts of one job: four operations with three latencies of a hundred percentiles
// and a few figures are fewer.
const (
	fioMostEarly = 1000
	fioMostOpen  = 2000
)

func (d *fioJSON) Line(line []byte, out *ingest.Out) {
	b := line
	if i := bytes.LastIndexByte(b, '\r'); i >= 0 { // progress is written over itself
		b = b[i+1:]
	}
	trimmed := b
	for len(trimmed) > 0 && (trimmed[0] == ' ' || trimmed[0] == '\t') {
		trimmed = trimmed[1:]
	}
	if d.depth > 0 && len(b) > 0 && b[0] == '{' && len(bytes.TrimRight(b, " ")) == 1 { // the one before was cut off
		d.incomplete(out)
	}
	d.made = false
	switch {
	case d.depth > 0 && fioBelongs(trimmed):
		d.tokens(trimmed, out)
	case d.depth == 0 && len(trimmed) > 0 && trimmed[0] == '{':
		d.report(out)
		d.tokens(trimmed, out)
	case len(trimmed) == 0:
	default:
		if !d.text(trimmed, line, out) {
			return
		}
	}
	if d.made {
		out.Count(ingest.FateEvent, "", 1)
	} else {
		out.Note()
	}
}

// fioBelongs tells a line of JSON from one that another stream wrote between.
func fioBelongs(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	switch b[0] {
	case '"', '{', '}', '[', ']', ',', '-':
		return true
	}
	return b[0]-'0' <= 9
}

// report begins one.
func (d *fioJSON) report(out *ingest.Out) {
	if d.held {
		d.held = false
		out.Note()
	}
	d.begun, d.old, d.stamped = true, false, false
	d.job, d.op, d.global, d.hasKey = fioJob{}, fioOp{}, "", false
}

// incomplete says that a report has no end.
func (d *fioJSON) incomplete(out *ingest.Out) {
	d.depth = 0
	d.flush(&d.early, out)
	d.endJob(out)
	d.fact(out, "fio_incomplete", "", d.job.name, 1)
}

// flush adds evidence that waited.
func (d *fioJSON) flush(facts *[]fioFact, out *ingest.Out) {
	position := out.Position
	for _, f := range *facts {
		out.Position = f.position
		d.fact(out, f.name, f.device, f.text, f.value)
	}
	*facts = (*facts)[:0]
	out.Position = position
}

// fact adds evidence.
func (d *fioJSON) fact(out *ingest.Out, name, device, text string, value float64) {
	host := d.host
	if d.job.host != "" {
		host = d.job.host
	}
	out.Fact(ingest.Evidence{TimeNS: d.at, Host: out.Names.InternString(host), Device: out.Names.InternString(device),
		Name: out.Names.InternString(name), Text: out.Names.InternString(text), Value: value})
}

// tell keeps a fact of the open job or disk until that ends.
func (d *fioJSON) tell(name, text string, value float64, out *ingest.Out) {
	d.made = true
	if len(d.open) < fioMostOpen {
		d.open = append(d.open, fioFact{name: name, text: text, value: value, position: out.Position})
	}
}

// endJob adds the facts of a job or disk, now that its host and device are known.
func (d *fioJSON) endJob(out *ingest.Out) {
	for i := range d.open {
		d.open[i].device = d.job.device
	}
	d.flush(&d.open, out)
}

// tokens takes a line of JSON. What stands behind the report's end is text.
func (d *fioJSON) tokens(b []byte, out *ingest.Out) {
	for i := 0; i < len(b); {
		switch c := b[i]; c {
		case ' ', '\t', ',', ':':
			i++
		case '{', '[':
			if c == '{' && !d.hasKey && d.depth > 0 && d.depth <= fioDepth && !d.lists[d.depth-1] {
				d.incomplete(out) // no key stands before it: another report is glued to what was cut off
				d.report(out)
			}
			if d.depth < fioDepth {
				d.lists[d.depth] = c == '['
			}
			d.push(out)
			i++
		case '}', ']':
			d.pop(out)
			i++
			if d.depth > 0 {
				continue
			}
			for ; i < len(b) && (b[i] == ' ' || b[i] == '}'); i++ { // fio 2 may end one time too often
			}
			if i < len(b) && b[i] == '{' {
				d.report(out)
			} else if i < len(b) {
				d.texts++
				return
			}
		case '"':
			s, n, _ := jsonString(b[i:])
			if n == 0 { // cut off
				d.hasKey = false
				at, more := tornString(b[i:])
				if i += at; at > 0 && b[i] == '{' {
					d.incomplete(out)
					d.report(out)
				}
				if !more {
					return
				}
				continue
			}
			i += n
			for i < len(b) && b[i] == ' ' {
				i++
			}
			if i < len(b) && b[i] == ':' { // of a key without a value nothing is known
				d.key, d.hasKey = append(d.key[:0], s...), true
				i++
			} else if d.hasKey {
				d.hasKey = false
				d.value(s, out)
			}
		default:
			from := i
			for i < len(b) && (!fioEnds(b[i]) || d.hasKey && decimalComma(b, i)) {
				i++
			}
			if d.hasKey && (i == len(b) || b[i] != '{' && b[i] != '"') { // else it was cut off
				d.value(b[from:i], out)
			}
			d.hasKey = false
		}
	}
}

// fioEnds tells what ends a number or word.
func fioEnds(c byte) bool {
	switch c {
	case ' ', '\t', ',', ':', '{', '}', '[', ']', '"':
		return true
	}
	return false
}

// push opens an object or a list under the key that was read.
func (d *fioJSON) push(out *ingest.Out) {
	if d.depth < fioDepth {
		k := d.keys[d.depth][:0]
		if d.hasKey {
			k = append(k, d.key...)
		}
		d.keys[d.depth] = k
	}
	d.hasKey = false
	d.depth++
	switch {
	case d.depth == 2 && (d.section("jobs") || d.section("client_stats") || d.section("disk_util")):
		d.job = fioJob{}
		d.flush(&d.early, out)
	case d.depth == 3:
		d.job = fioJob{device: d.global}
	case d.depth == 4:
		d.op = fioOp{named: d.op.named[:0], stat: d.op.stat}.untold()
	case d.depth == 5:
		d.op.stat = fioStat{percents: d.op.stat.percents[:0], min: -1, max: -1, mean: -1, dev: -1}
	}
}

// section says under which key of the report all is.
func (d *fioJSON) section(key string) bool { return d.depth > 1 && string(d.keys[1]) == key }

// jobs says whether a job is open, at this depth or deeper.
func (d *fioJSON) jobs(depth int) bool {
	return d.depth >= depth && (d.section("jobs") || d.section("client_stats"))
}

func (d *fioJSON) pop(out *ingest.Out) {
	d.hasKey = false
	switch {
	case d.depth == 5 && d.jobs(4):
		d.endStat()
	case d.depth == 4 && d.jobs(4):
		d.endOp(out)
	case d.depth == 3:
		d.endJob(out)
	case d.depth == 1:
		d.job = fioJob{}
		d.flush(&d.early, out)
	}
	d.depth--
}

func (d *fioJSON) End(out *ingest.Out) {
	if d.held {
		d.held = false
		position, lineno := out.Position, out.Lineno
		out.Position, out.Lineno = d.first.Position, d.first.Line
		out.Reject([]byte(d.first.Text), d.first.Reason)
		out.Position, out.Lineno = position, lineno
	}
	if d.depth > 0 {
		d.incomplete(out)
	}
	d.job = fioJob{}
	d.flush(&d.early, out)
	if d.begun && d.texts > 0 {
		d.fact(out, "fio_text_lines", "", "", float64(d.texts))
	}
}
