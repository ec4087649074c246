package formats

import (
	"bytes"
	"fmt"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// straceStamp is the kind of a line's stamp.
type straceStamp uint8

const (
	straceStampNone  straceStamp = iota
	straceStampEpoch             // -ttt
	straceStampDay               // -t, -tt: since midnight, local
	straceStampDelta             // -r: since the line before
)

// stracePrefix is what stands before a call.
type stracePrefix struct {
	pid   int32 // -1: none
	stamp straceStamp
	ns    int64 // of the stamp
	rest  []byte
}

// straceCut cuts "[pid N] " or "N " and the stamp off a line.
func straceCut(line []byte) stracePrefix {
	p := stracePrefix{pid: -1}
	b := line
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	i := 0
	if rest, ok := bytes.CutPrefix(b, []byte("[pid ")); ok {
		j := len(b) - len(rest)
		for j < len(b) && b[j] == ' ' {
			j++
		}
		v, end := scanDigits(b, j)
		if end > j && v >= 0 && v <= 1<<30 && end < len(b) && b[end] == ']' {
			p.pid = int32(v)
			i = end + 1
		}
	} else if v, end := scanDigits(b, 0); end > 0 && end < len(b) && b[end] == ' ' && v >= 0 && v <= 1<<30 {
		p.pid = int32(v)
		i = end
	}
	for i < len(b) && b[i] == ' ' {
		i++
	}
	if i < len(b) && b[i]-'0' <= 9 {
		if end := p.stampAt(b, i); end > i {
			i = end
			for i < len(b) && b[i] == ' ' {
				i++
			}
			if i+1 < len(b) && b[i] == '(' && b[i+1] == '+' { // -r beside it
				if j := bytes.IndexByte(b[i:], ')'); j > 0 {
					i += j + 1
				}
			}
		}
	}
	for i < len(b) && b[i] == ' ' {
		i++
	}
	p.rest = b[i:]
	return p
}

// stampAt reads S.FRACTION or H:M:S[.FRACTION], which a blank must follow; it
// gives the end, or i if there is none.
func (p *stracePrefix) stampAt(b []byte, i int) int {
	v, end := scanDigits(b, i)
	if v < 0 || end == len(b) {
		return i
	}
	kind := straceStampDelta
	if b[end] == ':' {
		if end-i != 2 || end+6 > len(b) || b[end+3] != ':' || v > 24 {
			return i
		}
		m, e := scanDigits(b, end+1)
		if e != end+3 || m > 59 {
			return i
		}
		s, e := scanDigits(b, end+4)
		if e != end+6 || s > 60 {
			return i
		}
		v, end, kind = v*3600+m*60+s, e, straceStampDay
	} else if v >= straceEpoch {
		kind = straceStampEpoch
	}
	whole := end
	ns, end, ok := straceFraction(b, end)
	if !ok || kind == straceStampDelta && end == whole || end == len(b) || b[end] != ' ' || v > maxStampMS/1000 {
		return i
	}
	p.stamp, p.ns = kind, v*1e9+ns
	return end
}

// straceEpoch tells seconds since 1970 from those since the line before.
const straceEpoch = 100_000_000

// straceFraction reads ".DIGITS" at b[i], at most nine, as nanoseconds.
func straceFraction(b []byte, i int) (ns int64, end int, ok bool) {
	if i == len(b) || b[i] != '.' {
		return 0, i, true
	}
	v, end := scanDigits(b, i+1)
	n := end - i - 1
	if n == 0 || n > 9 || v < 0 {
		return 0, i, false
	}
	for ; n < 9; n++ {
		v *= 10
	}
	return v, end, true
}

// straceClock turns stamps into nanoseconds since the epoch.
type straceClock struct {
	zone   *time.Location
	start  int64 // Options.StartNS
	sum    int64 // of deltas
	day    int   // days since the first stamp's
	first  time.Time
	last   int64 // latest time of day
	begun  bool
	hour   int64 // of the day, whose begin is at
	base   int64
	known  bool
	latest int64 // latest time
}

func newStraceClock(o ingest.Options) (straceClock, error) {
	c := straceClock{zone: time.UTC, start: o.StartNS}
	if o.Zone != "" {
		z, err := time.LoadLocation(o.Zone)
		if err != nil {
			return c, fmt.Errorf("zone %q: %w", o.Zone, err)
		}
		c.zone = z
	}
	return c, nil
}

// at is the time of a line in nanoseconds since the epoch; false if it has
// none.
func (c *straceClock) at(p *stracePrefix) (int64, bool) {
	switch p.stamp {
	case straceStampEpoch:
		return p.ns, true
	case straceStampDelta:
		if c.sum+p.ns < maxStampMS*1e6-max(c.start, 0) {
			c.sum += p.ns
		}
		return c.start + c.sum, true
	case straceStampDay:
		return c.ofDay(p.ns), true
	}
	return 0, false
}

const dayNS = 24 * int64(time.Hour)

// ofDay takes the time of day of a line. The first stands on the day of the
// start, or on the next if it is far before the start's own time of day; a fall by
// more than half a day is midnight.
func (c *straceClock) ofDay(ns int64) int64 {
	if !c.begun {
		c.begun = true
		c.first = time.Unix(0, c.start).In(c.zone)
		h, m, s := c.first.Clock()
		c.last = int64(h*3600+m*60+s) * 1e9
	}
	day := c.day
	switch {
	case ns < c.last-dayNS/2: // past midnight
		day++
	case ns > c.last+dayNS/2 && c.day > 0: // a late line of the day before
		day--
	}
	if day != c.day {
		c.known = false
		if day > c.day {
			c.day, c.last = day, ns
		}
	} else {
		c.last = max(c.last, ns)
	}
	hour := ns / int64(time.Hour)
	if !c.known || hour != c.hour {
		y, m, d := c.first.Date()
		c.base = firstOf(time.Date(y, m, d+day, int(hour), 0, 0, 0, c.zone).UnixNano(), c.zone)
		c.hour, c.known = hour, day == c.day
	}
	at := c.base + ns%int64(time.Hour)
	if at < c.latest-lateLineNS { // the hour comes again where clocks are put back
		if second := secondOf(at, at+1, c.zone); second >= c.latest-lateLineNS {
			c.base += second - at
			c.last, at = ns, second
		}
	}
	c.latest = max(c.latest, at)
	return at
}

// lateLineNS is by how much a line may stand behind later ones.
const lateLineNS = int64(30 * time.Minute)
