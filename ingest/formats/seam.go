package formats

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// A program that is killed amid a line leaves it without an end, and what is written
// behind it, by the program's next run or by the sampler's next round, is glued to
// it. The torn half is lost; the other one must not be: it may be the time of all that
// follows, or the head of another run. So a line that holds a beginning amid it is cut
// there: the line is rejected, and what begins counts.

const seamReason = "glued"

// mostAhead is how far a time that is glued to a line may lie behind the last one to be
// taken for one without a sign that says so.
const mostAhead = int64(31 * 24 * time.Hour)

// markSeam remembers how the last time of a snapshot was written: one that is glued to a
// torn line looks like it.
type markSeam struct {
	n    int    // its length; 0: none that can be told from a row's numbers
	head uint32 // its first four bytes
}

// see keeps the looks of a line that was a time. Digits alone are not kept: they can't
// be told from the number that they are glued to.
func (s *markSeam) see(line []byte) {
	s.n = 0
	if _, end := scanDigits(line, 0); len(line) >= 16 && end < len(line)-10 {
		s.n, s.head = len(line), binary.LittleEndian.Uint32(line)
	}
}

// seam is where a snapshot's time begins amid a line, 0 if none does.
func (c *seriesClock) seam(line []byte) int {
	if i := bytes.LastIndexByte(line, '#'); i > 0 && len(line)-i > 9 && maybeTime(line[i+1:]) && !framed(line[:i]) {
		if probe := *c; probe.mark(line[i:]) {
			return i
		}
	}
	i := len(line) - c.looks.n
	if c.looks.n == 0 || i <= 0 || binary.LittleEndian.Uint32(line[i:]) != c.looks.head {
		return 0
	}
	if probe := *c; probe.mark(line[i:]) && probe.timeNS >= c.timeNS && probe.timeNS-c.timeNS <= mostAhead {
		return i
	}
	return 0
}

// maybeTime says that what stands behind a # may be a time: many digits, or a time of day.
func maybeTime(b []byte) bool {
	b = bytes.TrimLeft(b, " \t")
	_, n := scanDigits(b, 0)
	return n >= 9 || hasClock(b)
}

// framed says that a text is a part of what stands around a time.
func framed(b []byte) bool {
	for _, c := range b {
		if !markFrame[c] {
			return false
		}
	}
	return true
}

// glued takes a line to whose torn beginning a snapshot's time is glued: dec reads the
// time. False says that the line is none.
func (c *seriesClock) glued(line []byte, dec ingest.LinesDecoder, out *ingest.Out) bool {
	i := c.seam(line)
	if i == 0 {
		return false
	}
	out.Reject(line, seamReason)
	dec.Line(line[i:], out)
	out.Tally.Notes-- // the line has its fate
	return true
}

// bannerSeam is where the banner of a sysstat program begins amid a line, 0 if none does.
func bannerSeam(line []byte) int {
	i := bytes.Index(line, []byte("Linux "))
	if i <= 0 || !isBanner(line[i:]) || !bytes.Contains(line[i:], []byte("CPU)")) {
		return 0
	}
	return i
}
