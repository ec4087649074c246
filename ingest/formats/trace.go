package formats

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/iopathy/iopathy/ingest"
)

// traceCells walks the cells of a line of a public trace set from left to
// right. The first fault stays in why, and what is read behind it means
// nothing, so that a decoder asks once, at the end.
type traceCells struct {
	b   []byte
	i   int
	sep byte // ',' with blanks around it, or ' ' for runs of blanks
	why string
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// begin goes to the next cell.
func (c *traceCells) begin() bool {
	if c.why != "" {
		return false
	}
	for c.i < len(c.b) && isBlank(c.b[c.i]) {
		c.i++
	}
	if c.i > len(c.b) || c.sep == ' ' && c.i == len(c.b) {
		c.why = "few-columns"
		return false
	}
	return true
}

// close ends a cell whose text was read up to end.
func (c *traceCells) close(end int, ok bool, reason string) {
	if c.sep == ' ' {
		if !ok || end < len(c.b) && !isBlank(c.b[end]) {
			c.why = reason
		}
		c.i = end
		return
	}
	for end < len(c.b) && isBlank(c.b[end]) {
		end++
	}
	if !ok || end < len(c.b) && c.b[end] != c.sep {
		c.why = reason
	}
	c.i = end + 1
}

// number reads a whole number of 0 or more.
func (c *traceCells) number(reason string) int64 {
	if !c.begin() {
		return 0
	}
	v, end := scanDigits(c.b, c.i)
	c.close(end, end > c.i && v >= 0, reason)
	return v
}

// digits reads a whole number and gives its text, which names a device.
func (c *traceCells) digits(reason string) []byte {
	if !c.begin() {
		return nil
	}
	from := c.i
	_, end := scanDigits(c.b, from)
	c.close(end, end > from && end-from <= traceIDDigits, reason)
	return c.b[from:end]
}

// traceIDDigits bounds the number of a device: that of an int64.
const traceIDDigits = 19

// seconds reads seconds with or without decimals as nanoseconds; digits beyond
// the ninth decimal are dropped.
func (c *traceCells) seconds(reason string) int64 {
	if !c.begin() {
		return 0
	}
	v, _, end := scanNano(c.b, c.i, '.')
	ok := end > c.i && v >= 0
	if ok && end < len(c.b) && c.b[end]|0x20 == 'e' { // as Python prints small numbers
		for end < len(c.b) && c.b[end] != c.sep && !isBlank(c.b[end]) {
			end++
		}
		f, err := strconv.ParseFloat(string(c.b[c.i:end]), 64)
		ok = err == nil && f >= 0 && f < nanoWhole
		v = int64(math.Round(min(f, nanoWhole) * 1e9))
	}
	c.close(end, ok, reason)
	return v
}

// rw reads the letter or word of a read or a write, in any case.
func (c *traceCells) rw(reason string) ingest.Op {
	if !c.begin() {
		return 0
	}
	end := c.i
	for end < len(c.b) && isLetter(c.b[end]) {
		end++
	}
	op, ok := rwWord(c.b[c.i:end])
	c.close(end, ok, reason)
	return op
}

func rwWord(w []byte) (ingest.Op, bool) {
	switch {
	case len(w) == 1 && w[0]|0x20 == 'r', fold(w, "read"):
		return ingest.OpRead, true
	case len(w) == 1 && w[0]|0x20 == 'w', fold(w, "write"):
		return ingest.OpWrite, true
	}
	return 0, false
}

// done says what is wrong with the line, "" if nothing is.
func (c *traceCells) done() string {
	if c.why == "" {
		if c.sep == ' ' {
			for c.i < len(c.b) && isBlank(c.b[c.i]) {
				c.i++
			}
		}
		if c.sep == ' ' && c.i < len(c.b) || c.sep != ' ' && c.i <= len(c.b) {
			return "many-columns"
		}
	}
	return c.why
}

// nanoWhole bounds the whole part of a number that is kept in billionths.
const nanoWhole = 9_000_000_000

// scanNano reads the number at b[i], whose decimals stand behind '.' or sign,
// in billionths, and gives how many decimals it has and the index behind it;
// that is i if there is no number. One of nanoWhole or more is -1.
func scanNano(b []byte, i int, sign byte) (nano int64, places, end int) {
	whole, end := scanDigits(b, i)
	n := end - i
	if end < len(b) && (b[end] == '.' || b[end] == sign) {
		frac, e := scanDigits(b, end+1)
		places = e - end - 1
		switch {
		case places > 9:
			frac, _ = scanDigits(b[:end+10], end+1)
			nano = frac
		case places > 0:
			nano = frac * int64(tens[9-places])
		}
		if places > 0 { // a number that ends in its point was cut off
			end = e
		}
	}
	switch {
	case n+places == 0:
		return 0, 0, i
	case whole < 0 || whole >= nanoWhole:
		return -1, places, end
	}
	return whole*1e9 + nano, places, end
}

// traceSource is what the decoders of trace sets know of their input.
type traceSource struct {
	host    []byte
	startNS int64
}

func newTraceSource(src *ingest.Source) traceSource {
	return traceSource{host: []byte(src.Host), startNS: src.Options.StartNS}
}

// at is the epoch of a time since the start of the trace, in nanoseconds.
func (t *traceSource) at(rel int64) (ns int64, ok bool) {
	if rel < 0 || rel > csvLastNS || t.startNS > csvLastNS-rel {
		return 0, false
	}
	return t.startNS + rel, true
}

// arrival adds the event of an I/O of which nothing but its arrival is known.
// The event may be completed until the next one is added.
func (t *traceSource) arrival(out *ingest.Out, ns int64, op ingest.Op, offset, size int64, device []byte) *ingest.Event {
	e := nextEvent(out)
	e.TimeNS, e.LatencyNS, e.QueueNS = ns, ingest.Missing, ingest.Missing
	e.GetNS, e.InsertNS = ingest.Missing, ingest.Missing
	e.OffsetBytes, e.SizeBytes, e.Position = offset, size, out.Position
	e.PID, e.Depth, e.Error = ingest.Missing, ingest.Missing, 0
	e.Host, e.Device, e.Comm, e.File, e.Cgroup = out.Names.Intern(t.host), out.Names.Intern(device), 0, 0, 0
	e.Op, e.Flags, e.Kind = op, 0, ingest.KindNone
	out.Tally.Event++
	return e
}

// nextEvent adds an event that is to be filled in its place, all of it.
func nextEvent(out *ingest.Out) *ingest.Event {
	n := len(out.Events)
	if n == cap(out.Events) {
		out.Events = slices.Grow(out.Events, 1)
	}
	out.Events = out.Events[:n+1]
	return &out.Events[n]
}

// possible gives the reason for which a line's values can't be, or why itself
// if its cells were wrong already; "" is a line to take.
func possible(why string, inTime, fits bool, size int64) string {
	switch {
	case why != "":
		return why
	case !inTime:
		return "bad-time"
	case !fits:
		return "bad-offset"
	case size > vscsiMaxBytes:
		return "bad-size"
	}
	return ""
}

// sectors turns a first sector and a count of 512 bytes each into bytes.
func sectors(lba, n int64) (offset, size int64, ok bool) {
	if lba < 0 || n < 0 || lba > blkMaxSector || n > blkMaxSector {
		return 0, 0, false
	}
	return lba * 512, n * 512, true
}

// traceTried is how many of the whole lines of a head a decoder takes and
// how many it rejects.
func traceTried(dec ingest.LineDecoder, head []byte) (good, bad int64) {
	whole := bytes.LastIndexByte(head, '\n') + 1
	if whole == 0 && len(head) < ingest.SniffBytes {
		whole = len(head)
	}
	var out ingest.Out
	for line := range bytes.Lines(head[:whole]) {
		if bytes.IndexByte(line, 0) >= 0 {
			bad++
			continue
		}
		dec.Line(guessed(bytes.TrimRight(line, "\r\n")), &out)
	}
	return out.Tally.Event, out.Tally.Rejected() + bad
}

// traceSure scores a head by its lines: sure is what it is worth when nearly all
// are taken. Trace sets have no headers and look alike, so that one whose columns
// could be another set's never gives more than 1.
func traceSure(dec ingest.LineDecoder, head []byte, sure int) int {
	switch good, bad := traceTried(dec, head); {
	case good == 0 || bad > good:
		return 0
	case bad*5 > good:
		return 1
	}
	return sure
}

// volumeOf is the device of a trace of one volume, that its content does not
// name: the file's name up to its first point.
func volumeOf(path string) []byte {
	base, _, _ := strings.Cut(filepath.Base(path), ".")
	if base == "" || base == "-" || base == "/" {
		base = "volume"
	}
	return []byte(base)
}
