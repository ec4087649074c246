package formats

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/iopathy/iopathy/ingest"
)

// Biolatency reads the histograms of biolatency and bitesize, of bcc, libbpf-tools
// and bpftrace, with all options (-T -D -F -m -j and intervals), amid what else was
// kept of a terminal:
//
//	     usecs           : count     distribution
//	       0 -> 1        : 36       |**************************************|
//
//	@usecs:
//	[1K, 2K)             426 |@@@@@@@@@@@@@@@@@@@@@|
//
//	{'ts': '2020-12-30 14:33:03', 'val_type': 'usecs', 'data': [{'interval-start': 0, ...
//
// There are no single I/Os in them: a bucket that holds any is a fact. Its name is
// latency_bucket_ns or size_bucket_bytes, its value the count, its text
// the bucket in base units, lower bound included and upper not, and what the
// histogram is of, as in "128000..256000 flags=Read"; its device is the disk of -D.
// An empty bucket is a note. A bucket beyond 2^53 holds negative differences of
// broken clocks: a reject.
//
// Times are those printed (-T, -j); HH:MM:SS is of the day of start_ns in the zone
// and goes on at midnight. Without any, all facts stand at start_ns.
var Biolatency = ingest.Register(ingest.Format{
	Name:  "biolatency",
	Doc:   "biolatency and bitesize histograms of bcc, libbpf-tools and bpftrace; a histogram is a tick, a bucket count is evidence",
	Kind:  ingest.KindNone,
	Needs: "a start (start_ns) in the day of the first histogram, and the zone (UTC is taken)",
	Lacks: "single I/Os; whether latencies hold the queue (-Q); host; the disk without -D; times without -T",
	Sniff: sniffBiolatency,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) { return newBiolatency(src) },
})

// The names of the facts.
const (
	latencyBucket = "latency_bucket_ns"
	sizeBucket    = "size_bucket_bytes"
)

// sniffBiolatency is sure where the tools say that it is block I/O: others, of
// run queues or file systems, print histograms of the same shape.
func sniffBiolatency(head []byte, _ string) int {
	d := biolatency{} // its day is the zero one: times do not matter here
	var out ingest.Out
	block := false
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		d.Line(line, &out)
		if bytes.HasPrefix(line, []byte("Tracing block ")) || bytes.Contains(line, []byte("I/O size (bytes)")) || len(d.disk) > 0 {
			block = true
		}
	}
	rows := out.Tally.Event + d.empty
	switch {
	case rows == 0 || out.Tally.Rejected() > rows:
		return 0
	case block:
		return 2
	}
	return 1
}

type biolatency struct {
	traceSource
	clock dayClock
	ns    int64  // time of the histogram in hand
	unit  int64  // base units of its bounds' one; 0: no histogram in hand
	size  bool   // it is of sizes
	ofMap bool   // it is bpftrace's
	fresh bool   // disk and of were told since the last histogram
	disk  []byte // of -D
	of    []byte // what else it is of: flags=Read, comm=dd
	empty int64  // buckets without I/O
}

func newBiolatency(src *ingest.Source) (*biolatency, error) {
	clock, err := newDayClock(src)
	if err != nil {
		return nil, fmt.Errorf("biolatency: %w", err)
	}
	d := &biolatency{traceSource: newTraceSource(src), clock: clock}
	d.ns = d.startNS
	return d, nil
}

// Line decodes a line.
func (d *biolatency) Line(line []byte, out *ingest.Out) {
	text := trimBlanks(line)
	switch {
	case len(text) == 0:
		if d.ofMap {
			d.unit = 0 // bpftrace puts a blank line behind each map
		}
		out.Note()
	case text[0] == '{':
		d.dictionary(text, line, out)
	case d.heading(text):
		out.Note()
	case text[0] == '[' || text[0] == '(':
		d.mapBucket(text, line, out)
	case isDigit(text[0]):
		d.bucket(text, line, out)
	default:
		out.Note()
	}
}

// heading takes a line that says what the buckets below it are.
func (d *biolatency) heading(text []byte) bool {
	if second, end := clockOf(text); end == len(text) && end > 0 {
		ns, ok := d.clock.at(second)
		if ok {
			d.ns = ns
		}
		d.disk, d.of = nil, nil
		return ok
	}
	if name, count, ok := bytes.Cut(text, []byte(":")); ok && bytes.HasPrefix(trimBlanks(count), []byte("count ")) {
		d.unit, d.size, _ = unitOf(trimBlanks(name))
		if !d.fresh { // what an earlier histogram was of is not what this one is of
			d.disk, d.of = nil, nil
		}
		d.fresh, d.ofMap = false, false
		return true
	}
	if text[0] == '@' && text[len(text)-1] == ':' {
		d.mapName(text[1 : len(text)-1])
		return true
	}
	return d.keyed(text)
}

// keyed takes "disk = sda", "flags = Read", "Process Name = dd"; libbpf-tools puts
// disk and flags on one line.
func (d *biolatency) keyed(text []byte) bool {
	key, value, ok := bytes.Cut(text, []byte("="))
	if !ok || len(value) > 128 {
		return false
	}
	value, flags, both := bytes.Cut(value, []byte("flags ="))
	value = bytes.Trim(pythonBytes(trimBlanks(value)), " \t'\"")
	s := backwards{b: key, end: len(key)}
	switch key = s.word(); {
	case fold(key, "disk"):
		d.disk, d.of = bytes.Clone(value), nil
		if both {
			d.of = append([]byte("flags="), trimBlanks(flags)...)
		}
	case fold(key, "flags"):
		d.of = append([]byte("flags="), value...)
	case fold(key, "name") && fold(s.word(), "process"):
		d.of = append([]byte("comm="), value...)
	default:
		return false
	}
	d.fresh = true
	return true
}

// unitOf gives what a histogram's unit is in base units, and whether it is of
// sizes.
func unitOf(name []byte) (unit int64, size, known bool) {
	switch {
	case fold(name, "nsecs"), fold(name, "ns"):
		return 1, false, true
	case fold(name, "usecs"), fold(name, "us"):
		return 1e3, false, true
	case fold(name, "msecs"), fold(name, "ms"):
		return 1e6, false, true
	case fold(name, "secs"):
		return 1e9, false, true
	case fold(name, "kbytes"):
		return 1024, true, true
	case fold(name, "bytes"), fold(name, "size"):
		return 1, true, true
	}
	return 0, false, false
}

// mapName takes the name of a map of bpftrace: @usecs, @usecs[key], or @[task],
// which is bitesize's.
func (d *biolatency) mapName(name []byte) {
	d.ofMap = true
	base, key, keyed := bytes.Cut(name, []byte("["))
	d.unit, d.size, _ = unitOf(base)
	if keyed && len(base) == 0 {
		d.unit, d.size = 1, true
	}
	d.of = nil
	if key = bytes.TrimSuffix(key, []byte("]")); keyed && len(key) <= 128 {
		d.of = append([]byte("comm="), key...)
		if len(base) > 0 {
			d.of = append([]byte("key="), key...)
		}
	}
}

// bucket reads "lo -> hi : count |***|".
func (d *biolatency) bucket(text, line []byte, out *ingest.Out) {
	s := blkText{b: text}
	lo, ok := s.number()
	if !ok || string(s.word()) != "->" {
		out.Note() // some other line that begins with a number
		return
	}
	s.blanks()
	hi, isHi := s.number()
	s.blanks()
	colon := s.take(':')
	s.blanks()
	n, isN := s.number()
	s.blanks()
	bar := s.take('|')
	if !isHi || !colon || !isN || !bar || hi < lo || text[len(text)-1] != '|' {
		out.Reject(line, "bad-bucket")
		return
	}
	d.row(lo, hi+1, n, line, out)
}

// mapBucket reads "[lo, hi) count |@@@|" and "[value] count |@@@|"; K, M, G, T
// are powers of 1024.
func (d *biolatency) mapBucket(text, line []byte, out *ingest.Out) {
	bounds, rest, ok := bytes.Cut(text[1:], []byte(")"))
	one, after, isOne := bytes.Cut(text[1:], []byte("]"))
	if isOne && (!ok || len(one) < len(bounds)) {
		bounds, rest, ok = one, after, true
	}
	if !ok || !d.ofMap {
		out.Note()
		return
	}
	from, to, pair := bytes.Cut(bounds, []byte(","))
	lo, isLo := binaryNumber(trimBlanks(from))
	hi := lo + 1
	isHi := true
	if pair {
		hi, isHi = binaryNumber(trimBlanks(to))
	}
	s := blkText{b: rest}
	n, isN := s.column()
	s.blanks()
	bar := s.take('|')
	if !isLo || !isHi || !isN || !bar || hi <= lo || text[0] == '(' || text[len(text)-1] != '|' {
		out.Reject(line, "bad-bucket")
		return
	}
	d.row(lo, hi, n, line, out)
}

// binaryNumber reads a number with a suffix that is a power of 1024.
func binaryNumber(w []byte) (uint64, bool) {
	if len(w) == 0 {
		return 0, false
	}
	shift := uint(0)
	if i := bytes.IndexByte([]byte("KMGTPE"), w[len(w)-1]); i >= 0 {
		shift = 10 * uint(i+1)
		w = w[:len(w)-1]
	}
	v, ok := wholeNumber(w)
	if !ok || v > (1<<62)>>shift {
		return 0, false
	}
	return uint64(v) << shift, true
}

// row gives a bucket its fate.
func (d *biolatency) row(lo, hi, n uint64, line []byte, out *ingest.Out) {
	switch {
	case n == 0:
		d.empty++
		out.Note()
	case d.unit == 0:
		out.Reject(line, "no-unit")
	case !d.fact(lo, hi, n, out):
		out.Reject(line, "impossible")
	default:
		out.Tally.Event++
	}
}

// bucketMost bounds a bucket's bounds and count. Differences below 0 land far
// above it.
const bucketMost = 1 << 53

// fact adds a bucket.
func (d *biolatency) fact(lo, hi, n uint64, out *ingest.Out) bool {
	if hi > bucketMost/uint64(d.unit) || n > bucketMost {
		return false
	}
	name := latencyBucket
	if d.size {
		name = sizeBucket
	}
	var mem [192]byte
	text := strconv.AppendUint(mem[:0], lo*uint64(d.unit), 10)
	text = append(text, ".."...)
	text = strconv.AppendUint(text, hi*uint64(d.unit), 10)
	if len(d.of) > 0 {
		text = append(append(text, ' '), d.of...)
	}
	out.Fact(ingest.Evidence{
		TimeNS: d.ns, Host: out.Names.Intern(d.host), Device: out.Names.Intern(d.disk),
		Name: out.Names.InternString(name), Text: out.Names.Intern(text), Value: float64(n),
	})
	return true
}

// End has nothing to settle.
func (d *biolatency) End(*ingest.Out) {}
