package formats

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/iopathy/iopathy/ingest"
)

// Darshan reads what darshan-parser prints: counters of each file and module.
// They are evidence: the name is the counter's in lower case (posix_bytes_read),
// the text the file and, where several ranks ran, the rank (none: all ranks
// together), the device the mount. Times are in nanoseconds (posix_read_time_ns);
// stamps are counted from the job's start. Facts stand at the job's end, stamps and
// heatmap bins at their own time. Counters of zero and those that Darshan could not
// watch (-1) are notes.
//
// What is known to be lost is evidence too: darshan_incomplete, by the tool's own
// warning, by a module without records, and in traces by counts that the rows do
// not reach (the value is how many are missing).
var Darshan = ingest.Register(ingest.Format{
	Name:  "darshan",
	Doc:   "darshan-parser text (Darshan 3.x), also --total",
	Kind:  ingest.KindNone,
	Needs: "the log's header, which holds the job's start; else a start (start_ns)",
	Lacks: "single I/Os, host, process; all is evidence of the whole job",
	Sniff: sniffDarshan,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) { return newDarshan(src), nil },
})

// DarshanDXT reads what darshan-dxt-parser prints: an event for each read and
// write. The rows of X_MPIIO are the same I/O as those of X_POSIX, seen one layer
// up: where a log has both, those of MPI-IO are merged.
var DarshanDXT = ingest.Register(ingest.Format{
	Name:  "darshan-dxt",
	Doc:   "darshan-dxt-parser text (DXT traces of Darshan 3.0 to 3.5)",
	Kind:  ingest.KindApp,
	Needs: "the log's header, which holds the job's start; else a start (start_ns)",
	Lacks: "command, queue, errors, syncs; the device is the mount (mount:PATH), the process is the MPI rank; times have 0.1 ms, the start 1 s",
	Sniff: sniffDarshanDXT,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) { return newDarshan(src), nil },
})

// sniffDarshan takes heads that do not yet show which of the two it is (the
// list of mounts may be long): both are read by one decoder.
func sniffDarshan(head []byte, path string) int {
	if sniffDarshanDXT(head, path) == 0 && (bytes.HasPrefix(head, []byte("# darshan log version:")) || bytes.Contains(head, []byte("\n# darshan log version:")) ||
		bytes.Contains(head, []byte("#<module>\t<rank>\t<record id>\t<counter>"))) {
		return 2
	}
	return 0
}

func sniffDarshanDXT(head []byte, _ string) int {
	for _, mark := range []string{"# DXT, file_id: ", "# DXT_POSIX module data", "# DXT_MPIIO module data"} {
		if bytes.Contains(head, []byte(mark)) {
			return 2
		}
	}
	return 0
}

// darshan is the state between lines.
type darshan struct {
	host     string
	start    int64 // ns; of the job
	end      int64
	begun    bool // start is known
	ranks    int64
	exe      string
	counters map[string]darshanCounter
	device   []byte
	text     []byte
	width    map[string]int64 // of the bins of a heatmap, by record
	section  string           // module whose records follow
	records  int64            // of it
	position int64            // of its heading
	dxt      darshanTrace
}

func newDarshan(src *ingest.Source) *darshan {
	start := src.Options.StartNS
	return &darshan{host: src.Host, start: start, end: start, begun: start != 0,
		counters: make(map[string]darshanCounter), width: make(map[string]int64), dxt: darshanTrace{host: src.Host}}
}

// darshanMost bounds the counters and heatmaps that are told apart.
const darshanMost = 1 << 12

func (d *darshan) Line(line []byte, out *ingest.Out) {
	b := bytes.TrimRight(line, " \t\r")
	switch {
	case len(b) == 0:
		out.Note()
	case b[0] == '#':
		d.comment(b, out)
	case b[0] == ' ' && len(b) > 2 && b[1] == 'X' || b[0] == 'X' && len(b) > 1 && b[1] == '_':
		d.traced(b, line, out)
	case bytes.HasPrefix(b, []byte("total_")):
		d.total(b, line, out)
	default:
		d.row(b, line, out)
	}
}

// comment takes the header and the headings.
func (d *darshan) comment(b []byte, out *ingest.Out) {
	b = bytes.TrimLeft(b, "# ")
	key, value, ok := bytes.Cut(b, []byte(":"))
	value = bytes.TrimLeft(value, " \t")
	switch {
	case bytes.HasPrefix(b, []byte("*WARNING*")):
		if rest, ok := bytes.CutSuffix(value, []byte("module contains incomplete data!")); ok {
			module := strings.TrimPrefix(string(bytes.TrimSpace(rest)), "The ")
			d.records++ // said: not to be concluded once more
			d.fact(out, "darshan_incomplete", module, 1, d.end)
			out.Count(ingest.FateEvent, "", 1)
			return
		}
	case bytes.HasSuffix(b, []byte(" module data")):
		d.endSection(out)
		d.section, d.records, d.position = string(bytes.TrimSuffix(b, []byte(" module data"))), 0, out.Position
	case bytes.HasPrefix(b, []byte("DXT, ")):
		d.dxt.heading(d, bytes.TrimPrefix(b, []byte("DXT, ")), out)
	case !ok || d.section != "":
	default:
		if d.header(string(key), value, out) {
			out.Count(ingest.FateEvent, "", 1)
			return
		}
	}
	out.Note()
}

// header takes a line of the log's header; true says that it is a fact.
func (d *darshan) header(key string, value []byte, out *ingest.Out) bool {
	switch key {
	case "exe":
		d.exe = string(value[:min(len(value), straceTextBytes)])
	case "start_time", "end_time":
		s, ok := straceNumber(value)
		if !ok || s > maxStampMS/1000 {
			break
		}
		if key == "start_time" {
			d.start, d.begun = s*1e9, true
			d.end = d.start
		} else {
			d.end = max(d.start, s*1e9)
		}
	case "nprocs":
		if n, ok := straceNumber(value); ok {
			d.ranks = n
			d.fact(out, "darshan_nprocs", d.exe, float64(n), d.start)
			return true
		}
	case "run time":
		if ns, ok := darshanSeconds(value); ok {
			if d.end == d.start {
				d.end += ns
			}
			d.fact(out, "darshan_run_time_ns", d.exe, float64(ns), d.end)
			return true
		}
	}
	return false
}

// endSection says that a module has a heading and no record: they are lost.
func (d *darshan) endSection(out *ingest.Out) {
	d.dxt.endFile(d, out)
	if d.section != "" && d.records == 0 {
		position := out.Position
		out.Position = d.position
		d.fact(out, "darshan_incomplete", d.section, 1, d.end)
		out.Position = position
	}
	d.section = ""
}

func (d *darshan) End(out *ingest.Out) { d.endSection(out) }

func (d *darshan) fact(out *ingest.Out, name, text string, value float64, at int64) {
	out.Fact(ingest.Evidence{TimeNS: at, Host: out.Names.InternString(d.host), Name: out.Names.InternString(name),
		Text: out.Names.InternString(text), Value: value})
}

// darshanCounter is what a counter's name says.
type darshanCounter struct {
	name  string
	use   darshanUse
	index int64 // of a bin
}

type darshanUse uint8

const (
	darshanPlain darshanUse = iota
	darshanSpan             // seconds
	darshanStamp            // seconds since the start
	darshanBin              // of a heatmap
	darshanWidth            // of a heatmap's bins, seconds
	darshanSkip             // no measure of I/O
)

// counter looks a counter's name up.
func (d *darshan) counter(b []byte) darshanCounter {
	if c, ok := d.counters[string(b)]; ok {
		return c
	}
	c := darshanCounterOf(string(b))
	if len(d.counters) < darshanMost {
		d.counters[string(b)] = c
	}
	return c
}

func darshanCounterOf(s string) darshanCounter {
	c := darshanCounter{name: strings.ToLower(strings.Replace(s, "_F_", "_", 1))}
	switch {
	case s == "HEATMAP_F_BIN_WIDTH_SECONDS":
		c.use = darshanWidth
	case strings.HasPrefix(s, "HEATMAP_READ_BIN_"), strings.HasPrefix(s, "HEATMAP_WRITE_BIN_"):
		i := strings.LastIndexByte(s, '_')
		n, err := strconv.ParseInt(s[i+1:], 10, 32)
		if err != nil {
			c.use = darshanSkip
			break
		}
		c.use, c.index = darshanBin, n
		c.name = "darshan_" + strings.ToLower(s[:i-len("_BIN")]) + "_bytes"
	case strings.HasSuffix(s, "_MODE"), strings.HasSuffix(s, "_ALIGNMENT"), strings.HasSuffix(s, "_RENAMED_FROM"):
		c.use = darshanSkip
	case !strings.Contains(s, "_F_") || strings.Contains(s, "_VARIANCE_"):
	case strings.HasSuffix(s, "_TIMESTAMP"):
		c.use = darshanStamp
		c.name += "_ns"
	case strings.HasSuffix(s, "_TIME"):
		c.use = darshanSpan
		c.name += "_ns"
	}
	return c
}

// row takes "MODULE rank record counter value file mount fstype", by tabs.
func (d *darshan) row(b, line []byte, out *ingest.Out) {
	var f [8][]byte
	rest := b
	for i := range f {
		var more bool
		f[i], rest, more = bytes.Cut(rest, []byte("\t"))
		if more != (i < 7) {
			out.Reject(line, "columns")
			return
		}
	}
	rank, ok := darshanNumber(f[1])
	value, ok2 := darshanNumber(f[4])
	if !ok || !ok2 || rank < -1 || rank > math.MaxInt32 || len(f[3]) == 0 {
		out.Reject(line, "bad-number")
		return
	}
	d.records++
	c := d.counter(f[3])
	at := d.end
	switch c.use {
	case darshanSkip:
		out.Note()
		return
	case darshanWidth:
		if value > 0 && value < maxLatencyNS/1e9 && len(d.width) < darshanMost {
			d.width[string(f[2])] = int64(value*1e9 + 0.5)
		}
		out.Note()
		return
	}
	switch {
	case value == 0 || value == -1:
		out.Note()
		return
	case value < 0 || value >= 1<<63: // a sum that overflowed
		out.Reject(line, "impossible")
		return
	}
	if !d.begun {
		out.Reject(line, "no-start")
		return
	}
	switch c.use {
	case darshanBin:
		w := d.width[string(f[2])]
		if at = d.start + w*(c.index+1); w == 0 || c.index > (maxStampMS*1e6-d.start)/w-1 {
			out.Reject(line, "no-bin-width")
			return
		}
	case darshanStamp, darshanSpan:
		value = math.Round(value * 1e9)
		if c.use == darshanStamp {
			if value < 0 || value > maxLatencyNS*365 {
				out.Reject(line, "impossible")
				return
			}
			at = d.start + int64(value)
		}
	}
	d.text = append(d.text[:0], f[5]...)
	if d.ranks > 1 && rank >= 0 {
		d.text = append(strconv.AppendInt(append(d.text, " (rank "...), int64(rank), 10), ')')
	}
	d.device = darshanMount(d.device, f[6])
	e := ingest.Evidence{TimeNS: at, Host: out.Names.InternString(d.host), Name: out.Names.InternString(c.name),
		Text: out.Names.Intern(d.text), Value: value}
	if c.use != darshanBin {
		e.Device = out.Names.Intern(d.device)
	}
	out.Fact(e)
	out.Count(ingest.FateEvent, "", 1)
}

// darshanNumber reads a counter's value: a decimal number with or without a
// fraction, perhaps negative.
func darshanNumber(b []byte) (float64, bool) {
	digits := bytes.TrimPrefix(b, []byte("-"))
	v, end := scanDigits(digits, 0)
	var x float64
	switch {
	case end == 0:
		return 0, false
	case end == len(digits) && v >= 0:
		x = float64(v)
	default:
		if ns, ok := darshanSeconds(digits); ok {
			x = float64(ns/1e9) + float64(ns%1e9)/1e9
			break
		}
		for _, c := range digits { // no hexadecimal, no underscores, no Inf
			if c-'0' > 9 && c != '.' {
				return 0, false
			}
		}
		var err error
		if x, err = strconv.ParseFloat(string(digits), 64); err != nil {
			return 0, false
		}
	}
	if len(digits) < len(b) {
		x = -x
	}
	return x, true
}

// darshanMount writes the device of a mount point into dst.
func darshanMount(dst, mount []byte) []byte {
	if len(mount) == 0 || bytes.HasPrefix(mount, []byte("UNKNOWN")) {
		return append(dst[:0], "darshan"...)
	}
	return append(append(dst[:0], "mount:"...), mount...)
}

// total takes "total_COUNTER: value" of --total.
func (d *darshan) total(b, line []byte, out *ingest.Out) {
	key, value, ok := bytes.Cut(b[len("total_"):], []byte(":"))
	v, ok2 := darshanNumber(bytes.TrimSpace(value))
	if !ok || !ok2 || len(key) == 0 || bytes.IndexByte(key, ' ') >= 0 { // a torn one, to which another line is glued
		out.Reject(line, "bad-number")
		return
	}
	c := d.counter(key)
	switch {
	case c.use == darshanSkip || v == 0 || v == -1:
		out.Note()
		return
	case v < 0 || v >= 1<<63:
		out.Reject(line, "impossible")
		return
	}
	if c.use == darshanSpan || c.use == darshanStamp {
		v = math.Round(v * 1e9)
	}
	d.fact(out, "total_"+c.name, d.exe, v, d.end)
	out.Count(ingest.FateEvent, "", 1)
}
