package formats

import (
	"bytes"
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// Dftracer reads the .pfw files of dftracer (formerly dlio_profiler): lines of
// Chrome trace JSON, one object each, in brackets that may lack their end.
//
// Reads, writes and syncs of the POSIX, STDIO and MPI-IO layers are events; the
// times of opens, of calls on names and directories are evidence, like the
// failures of calls (io_failed), spans of the application and its I/O library
// (app_span) and counters (ph "C"). Sizes are what was returned, else what was
// asked for; fread and fwrite return items.
//
// Hosts and files stand as hashes that metadata lines explain, which may come
// later, in another process's file, or never. A hash is text (it may be above
// 2^63); a file whose name is not known yet is "hash:N", and each metadata line is
// evidence too (file_hash, "N PATH"), so that it can be looked up.
var Dftracer = ingest.Register(ingest.Format{
	Name: "dftracer",
	Doc:  "dftracer .pfw traces, schemas of 2023 (text values) and later",
	Kind: ingest.KindApp,
	Lacks: "device (all is of the device dftracer), command, queue, errno; offsets but for positional calls; " +
		"names of files that are explained after their use or in another file",
	Sniff: sniffDftracer,
	Cut:   cutObjects,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		d := &dftracer{host: []byte(src.Host), names: make(map[string][]byte)}
		d.last = dftFirst(src.Head)
		return d, nil
	},
})

// sniffDftracer is sure of objects with the keys of a trace event, each in a
// line of its own, of a category that has I/O or of the tracer itself.
func sniffDftracer(head []byte, _ string) int {
	for line := range bytes.Lines(head) {
		line = bytes.TrimLeft(bytes.TrimSpace(line), "[, ")
		if len(line) == 0 {
			continue
		}
		if line[0] != '{' { // what the program prints, or the library
			continue
		}
		for _, key := range []string{`"name":`, `"cat":`, `"pid":`, `"ph":`} {
			i := bytes.Index(line, []byte(key))
			if i < 0 || key != `"pid":` && !bytes.HasPrefix(bytes.TrimLeft(line[i+len(key):], " "), []byte(`"`)) {
				return 0
			}
		}
		return 2
	}
	return 0
}

// dftFirst is the first stamp of a head, 0 if there is none: names are
// explained before the first call has one.
func dftFirst(head []byte) int64 {
	i := bytes.Index(head, []byte(`"ts":`))
	if i < 0 {
		return 0
	}
	us, _ := scanDigits(bytes.TrimLeft(head[i+len(`"ts":`):], `" `), 0)
	return max(min(us, maxStampMS*1000), 0) * 1000
}

// dftracer is the state between lines.
type dftracer struct {
	host  []byte
	names map[string][]byte // of hashes: host, file
	bytes int               // that they hold
	last  int64             // ns; latest stamp before the line
	key   []byte
	text  []byte
	hash  []byte
	c     dftCall `state:"-"` // of the line in hand
}

// dftMostBytes bounds the names that are kept.
const dftMostBytes = 64 << 20

// dftCall is one object. Texts are parts of its line.
type dftCall struct {
	dftBare
	counters [8]dftCounter // of a counter's object
	counted  int
}

// dftBare is one without counters.
type dftBare struct {
	name, cat, ph      []byte
	pid, ts, dur       int64
	hasTS, bad, args   bool // args: "args" has begun
	ret, count, size   int64
	offset, length     int64
	hasRet, hasOffset  bool
	hostHash, fileHash []byte
	hostname, fname    []byte
	argName, argValue  []byte
}

type dftCounter struct {
	key   []byte
	value float64
}

// reset makes it a call of which nothing is known.
func (c *dftCall) reset() {
	c.dftBare = dftBare{pid: ingest.Missing, ret: ingest.Missing, count: ingest.Missing, size: ingest.Missing, offset: ingest.Missing}
	c.counted = 0
}

// dftAhead reads lines of single objects, but counters, ahead of their turn.
type dftAhead struct {
	calls []dftBare
	c     dftCall
}

func (a *dftAhead) Reset() { a.calls = a.calls[:0] }

func (a *dftAhead) Read(line []byte) bool {
	b := bytes.TrimLeft(bytes.TrimSpace(line), "[, ")
	a.c.reset()
	n := dftObject(b, &a.c, 0)
	if n < 0 || a.c.bad || a.c.counted > 0 || len(bytes.Trim(b[n:], ", ]")) > 0 {
		return false
	}
	a.calls = append(a.calls, a.c.dftBare)
	return true
}

func (d *dftracer) Ahead() ingest.Ahead { return new(dftAhead) }

func (d *dftracer) Take(from ingest.Ahead, i int, line []byte, out *ingest.Out) {
	a := from.(*dftAhead)
	d.c.dftBare, d.c.counted = a.calls[i], 0
	fate, reason := d.call(&d.c, out)
	switch {
	case reason != "":
		out.Reject(line, reason)
	case fate == ingest.FateEvent:
		out.Count(fate, "", 1)
	default:
		out.Count(ingest.FateNote, "", 1)
	}
}

func (d *dftracer) Line(line []byte, out *ingest.Out) {
	b := bytes.TrimSpace(line)
	for len(b) > 0 && (b[0] == '[' || b[0] == ',' || b[0] == ' ') { // "[" may stand before the first object
		b = b[1:]
	}
	if len(b) == 0 || b[0] == ']' && len(bytes.TrimRight(b, "], ")) == 0 {
		out.Note()
		return
	}
	// One line holds one object, unless two processes wrote it at once.
	fate := ingest.FateNote
	for first := true; len(b) > 0; first = false {
		if !first && (b[0] == ',' || b[0] == ' ' || b[0] == ']') {
			b = b[1:]
			continue
		}
		d.c.reset()
		n := dftObject(b, &d.c, 0)
		if n < 0 {
			out.Reject(line, "torn-json")
			return
		}
		if d.c.bad {
			out.Reject(line, "bad-number")
			return
		}
		b = b[n:]
		f, reason := d.call(&d.c, out)
		if reason != "" {
			out.Reject(line, reason)
			return
		}
		if f == ingest.FateEvent {
			fate = f
		}
	}
	out.Count(fate, "", 1)
}

// dftObject reads an object from its bracket on and gives its length, -1 if it
// has no end.
func dftObject(b []byte, c *dftCall, depth int) int {
	if len(b) == 0 || b[0] != '{' || depth > 16 {
		return -1
	}
	i := 1
	for {
		for i < len(b) && (b[i] == ' ' || b[i] == ',') {
			i++
		}
		if i == len(b) {
			return -1
		}
		if b[i] == '}' {
			return i + 1
		}
		if b[i] != '"' {
			return -1
		}
		end := straceQuote(b, i)
		if end < 0 {
			return -1
		}
		key := b[i+1 : end]
		i = end + 1
		for i < len(b) && (b[i] == ' ' || b[i] == ':') {
			i++
		}
		if i == len(b) {
			return -1
		}
		switch b[i] {
		case '"':
			if end = straceQuote(b, i); end < 0 {
				return -1
			}
			c.value(key, b[i+1:end], depth)
			i = end + 1
		case '{':
			c.args = c.args || depth == 0 && string(key) == "args"
			n := dftObject(b[i:], c, depth+1)
			if n < 0 {
				return -1
			}
			i += n
		case '[':
			n := dftList(b[i:])
			if n < 0 {
				return -1
			}
			i += n
		default:
			from := i
			for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ' ' {
				i++
			}
			if i == from || i == len(b) {
				return -1
			}
			c.value(key, b[from:i], depth)
		}
	}
}

// dftList is the length of a list, -1 if it has no end.
func dftList(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			if i = straceQuote(b, i); i < 0 {
				return -1
			}
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// value takes a key's value, text or not: the old schema quotes numbers.
func (c *dftCall) value(key, v []byte, depth int) {
	if depth == 0 {
		switch string(key) {
		case "name":
			c.name = v
		case "cat":
			c.cat = v
		case "ph":
			c.ph = v
		case "pid":
			if c.number(&c.pid, v); c.pid > math.MaxInt32 {
				c.pid = ingest.Missing // above what the kernel gives
			}
		case "ts":
			c.hasTS = c.number(&c.ts, v)
		case "dur":
			c.number(&c.dur, v)
		}
		return
	}
	if depth > 1 || !c.args {
		return
	}
	switch string(key) {
	case "ret":
		c.hasRet = c.number(&c.ret, v)
	case "count", "nmemb":
		c.number(&c.count, v)
	case "size":
		c.number(&c.size, v)
	case "offset":
		c.hasOffset = c.number(&c.offset, v)
	case "length":
		c.number(&c.length, v)
	case "hhash":
		c.hostHash = v
	case "fhash":
		c.fileHash = v
	case "hostname":
		c.hostname = v
	case "fname":
		c.fname = v
	case "name":
		c.argName = v
	case "value":
		c.argValue = v
	case "p_idx", "level":
	default:
		if x, ok := darshanNumber(v); ok && string(c.ph) == "C" && c.counted < len(c.counters) {
			c.counters[c.counted] = dftCounter{key, x}
			c.counted++
		}
	}
}

// number reads a whole number, perhaps negative. Numbers that are no whole ones
// matter nowhere; those that no int64 holds make the line bad.
func (c *dftCall) number(to *int64, b []byte) bool {
	digits := bytes.TrimPrefix(b, []byte("-"))
	v, end := scanDigits(digits, 0)
	switch {
	case end == 0 || end < len(digits):
		return false
	case v < 0:
		c.bad = true
		return false
	case len(digits) < len(b):
		v = -v
	}
	*to = v
	return true
}
