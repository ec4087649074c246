package formats

import (
	"bytes"
	"fmt"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// seriesClock tells the times of snapshots that people take of a file such as
// /proc/diskstats. The file has none; samplers print one before each: seconds,
// ms, us or ns since the epoch, bare or as a comment ("# 1795954828.30"), ISO
// 8601, what date(1) prints, OSWatcher's "zzz ***" and ExaWatcher's "zzz <>"
// lines. Without them the first snapshot is of Options.StartNS and the others
// follow by Options.Interval; without StartNS no snapshot has a time.
type seriesClock struct {
	stamps ioStamps
	stepNS int64
	timeNS int64
	timed  bool
	marked bool     // by a line of the input
	looks  markSeam // of the last such line
}

func newSeriesClock(src *ingest.Source) (seriesClock, error) {
	c := seriesClock{timeNS: src.Options.StartNS, timed: src.Options.StartNS != 0, stepNS: 1e9}
	var err error
	if c.stamps, err = newIOStamps(src); err != nil {
		return c, err
	}
	if s := src.Options.Interval; s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			return c, fmt.Errorf("interval %q: %w", s, err)
		}
		if d < time.Millisecond || d > 365*24*time.Hour {
			return c, fmt.Errorf("interval %q: want 1ms to a year", s)
		}
		c.stepNS = int64(d)
	}
	return c, nil
}

// at makes ns the time of what follows.
func (c *seriesClock) at(ns int64) { c.timeNS, c.timed, c.marked = ns, true, true }

// next is the time of a snapshot that nothing stands before.
func (c *seriesClock) next() {
	if c.timed && !c.marked && c.timeNS < 1<<62 {
		c.timeNS += c.stepNS
	}
}

// markFrame are the signs that may stand around a snapshot's time.
var markFrame = [256]bool{' ': true, '\t': true, '#': true, '=': true, '*': true, '-': true, '_': true, '<': true, '>': true, '[': true, ']': true, '(': true, ')': true}

// markWord says that a word may stand before a snapshot's time.
func markWord(b []byte) bool {
	switch string(b) {
	case "timestamp", "Timestamp", "time", "Time", "TIME", "date", "Date", "epoch", "ts", "TS":
		return true
	}
	return false
}

// mark takes a line as a snapshot's time if it is one.
func (c *seriesClock) mark(line []byte) bool {
	b := line
	for len(b) > 0 && markFrame[b[0]] {
		b = b[1:]
	}
	for len(b) > 0 && markFrame[b[len(b)-1]] {
		b = b[:len(b)-1]
	}
	if rest, ok := cutPrefix(b, "zzz"); ok {
		b = bytes.TrimLeft(rest, " \t*<")
		if i := bytes.IndexByte(b, '>'); i > 0 {
			b = b[:i]
		}
	}
	n := 0
	for n < len(b) && n < 10 && isLetter(b[n]) {
		n++
	}
	if n > 0 && n < len(b) && (b[n] == ' ' || b[n] == ':' || b[n] == '=') && markWord(b[:n]) {
		b = bytes.TrimLeft(b[n:], " :=")
	}
	if len(b) < 8 || len(b) > 80 {
		return false
	}
	digit := isDecimal(b[0])
	ns, ok, epoch := int64(0), false, false
	if digit {
		if ns, epoch = epochTime(b); epoch {
			ok = true
		} else {
			ns, ok = isoTime(b, c.stamps.zone)
		}
	}
	if !ok && hasClock(b) {
		ns, ok = dateTime(b, c.stamps.zone)
	}
	if !ok && digit {
		ns, ok = c.stamps.parse(b)
	}
	if ok {
		if c.marked && !epoch && !bytes.ContainsAny(b, "Z+") { // whose zone is not told
			ns = secondOf(ns, c.timeNS, c.stamps.zone)
		}
		c.at(ns)
		c.looks.see(line)
	}
	return ok
}

// epochTime reads seconds since the epoch, with decimals or without, or whole
// ms, us or ns.
func epochTime(b []byte) (int64, bool) {
	v, n := scanDigits(b, 0)
	if v < 0 {
		return 0, false
	}
	var unit int64
	switch n {
	case 9, 10:
		unit = 1e9
	case 12, 13:
		unit = 1e6
	case 15, 16:
		unit = 1e3
	case 18, 19:
		unit = 1
	default:
		return 0, false
	}
	if v > 7_258_118_400e9/unit { // the year 2200
		return 0, false
	}
	ns := v * unit
	if n == len(b) {
		return ns, true
	}
	f, ok := fraction(b[n:])
	return ns + f/(1e9/unit), ok && unit >= 1e6
}

// fraction reads ".123" or ",123", a part of one, to nine digits.
func fraction(b []byte) (int64, bool) {
	if len(b) < 2 || b[0] != '.' && b[0] != ',' {
		return 0, false
	}
	v, scale := int64(0), int64(1e9)
	for _, ch := range b[1:] {
		if ch < '0' || ch > '9' {
			return 0, false
		}
		if scale > 1 {
			scale /= 10
			v += int64(ch-'0') * scale
		}
	}
	return v, true
}

// isoTime reads "2026-11-29T12:20:29.5+01:00": T or a blank, any decimals, and
// behind them nothing, Z, UTC, GMT, an offset or the abbreviation of a zone.
func isoTime(b []byte, zone *time.Location) (int64, bool) {
	if len(b) < 19 || b[4] != '-' || b[7] != '-' || b[10] != 'T' && b[10] != ' ' || b[13] != ':' || b[16] != ':' {
		return 0, false
	}
	var v [6]int
	for i, at := range [...]int{0, 5, 8, 11, 14, 17} {
		width := 2
		if i == 0 {
			width = 4
		}
		for _, ch := range b[at : at+width] {
			if ch < '0' || ch > '9' {
				return 0, false
			}
			v[i] = v[i]*10 + int(ch-'0')
		}
	}
	rest := b[19:]
	n := 0
	for n < len(rest) && (n == 0 && (rest[0] == '.' || rest[0] == ',') || n > 0 && rest[n] >= '0' && rest[n] <= '9') {
		n++
	}
	frac, ok := fraction(rest[:n])
	if !ok && n > 0 {
		return 0, false
	}
	if zone, ok = zoneNamed(bytes.TrimLeft(rest[n:], " "), zone); !ok {
		return 0, false
	}
	return civil(v, frac, zone)
}

func civil(v [6]int, frac int64, zone *time.Location) (int64, bool) {
	if v[0] < 1970 || v[0] > 2199 || v[1] < 1 || v[1] > 12 || v[2] < 1 || v[2] > 31 || v[3] > 23 || v[4] > 59 || v[5] > 60 {
		return 0, false
	}
	if !dayOfMonth(v[0], v[1], v[2]) {
		return 0, false
	}
	return firstOf(time.Date(v[0], time.Month(v[1]), v[2], v[3], v[4], v[5], 0, zone).UnixNano(), zone) + frac, true
}

// dayOfMonth says whether a month has a day: the 30th of February is a date that was
// torn or written wrong, and not the 2nd of March.
func dayOfMonth(year, month, day int) bool {
	return day <= 28 || time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() == day
}

// zoneNamed is the zone of what stands behind a time. Abbreviations other than
// those of UTC name no zone (CST is three): they mean the zone of the options.
func zoneNamed(b []byte, zone *time.Location) (*time.Location, bool) {
	switch {
	case len(b) == 0:
		return zone, true
	case b[0] == '+' || b[0] == '-':
		d, n := 0, 0
		for _, ch := range b[1:] {
			if ch == ':' {
				continue
			}
			if ch < '0' || ch > '9' {
				return nil, false
			}
			d = d*10 + int(ch-'0')
			n++
		}
		if n == 2 {
			d *= 100
		}
		if n != 2 && n != 4 || d > 1500 {
			return nil, false
		}
		d = (d/100*60 + d%100) * 60
		if b[0] == '-' {
			d = -d
		}
		if d == 0 {
			return time.UTC, true
		}
		return time.FixedZone("", d), true
	case string(b) == "Z" || string(b) == "UTC" || string(b) == "GMT":
		return time.UTC, true
	case len(b) > 5:
		return nil, false
	}
	for _, ch := range b {
		if ch < 'A' || ch > 'Z' {
			return nil, false
		}
	}
	return zone, true
}

// dateTime reads what date(1) prints and mail headers hold: "Sun Nov 29 12:20:29
// UTC 2026", with AM or PM, the day before or behind the month.
func dateTime(b []byte, zone *time.Location) (int64, bool) {
	var space [9][]byte
	tok := cutFields(b, space[:0])
	if len(tok) < 4 || len(tok) == len(space) {
		return 0, false
	}
	var v [6]int
	var frac int64
	half, clock, zones := 0, false, 0
	tuesday := false // or March: mar
	for i, t := range tok {
		t = bytes.TrimRight(t, ",")
		if n := len(t) - 1; n > 0 && n <= 2 && t[n] == '.' && isDecimal(t[n-1]) { // "30."
			t = t[:n]
		}
		n, end := scanDigits(t, 0)
		switch {
		case len(t) == 0:
			return 0, false
		case bytes.IndexByte(t, ':') > 0 && end > 0:
			if clock {
				return 0, false
			}
			clock = true
			if v[3], v[4], v[5], frac, clock = clockTime(t); !clock {
				return 0, false
			}
		case end == len(t) && end == 4 && v[0] == 0:
			v[0] = int(n)
		case end == len(t) && end <= 2 && v[2] == 0:
			v[2] = int(n)
		case string(t) == "AM" || string(t) == "am":
			half = 1
		case string(t) == "PM" || string(t) == "pm":
			half = 2
		case len(t) >= 3 && monthNamed(t) > 0 && (v[1] == 0 || tuesday):
			v[1], tuesday = monthNamed(t), i == 0 && string(t) == "Mar"
		case len(t) >= 3 && v[3] == 0 && !clock && v[0] == 0 && v[2] == 0 && weekday(t):
		case (v[1] == 0 || tuesday) && monthWord(t) > 0:
			v[1], tuesday = monthWord(t), i == 0 && string(bytes.ToLower(t[:3])) == "mar" && len(t) <= 4
		case i == 0 && dayWord(t):
		default:
			var ok bool
			if zone, ok = zoneNamed(t, zone); !ok || zones > 0 {
				return 0, false
			}
			zones++
		}
	}
	if !clock || half > 0 && (v[3] < 1 || v[3] > 12) {
		return 0, false
	}
	if half > 0 {
		v[3] = v[3]%12 + 12*(half-1)
	}
	return civil(v, frac, zone)
}

func clockTime(b []byte) (h, m, s int, frac int64, ok bool) {
	var v [3]int64
	i := 0
	for k := range v {
		n, end := scanDigits(b, i)
		if end == i || end > i+2 {
			return 0, 0, 0, 0, false
		}
		v[k], i = n, end
		if k < 2 {
			if i >= len(b) || b[i] != ':' {
				return 0, 0, 0, 0, false
			}
			i++
		}
	}
	if i < len(b) {
		if frac, ok = fraction(b[i:]); !ok {
			return 0, 0, 0, 0, false
		}
	}
	return int(v[0]), int(v[1]), int(v[2]), frac, true
}

// monthNamed is the month that an English name or its first three letters mean, 0 if none.
func monthNamed(b []byte) int {
	for m := time.January; m <= time.December; m++ {
		if name := m.String(); len(b) <= len(name) && string(b) == name[:len(b)] {
			return int(m)
		}
	}
	return 0
}

func weekday(b []byte) bool {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if name := d.String(); len(b) <= len(name) && string(b) == name[:len(b)] {
			return true
		}
	}
	return false
}

var utcZone = time.UTC

func unixTime(ns int64, zone *time.Location) time.Time { return time.Unix(0, ns).In(zone) }
