package formats

import (
	"bytes"
	"fmt"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// ioStamps reads the local times that iostat -t prints by the locale: year first
// (ISO, East Asia), dotted and dashed day first, and slashes, which are day
// first or month first. Slashes are taken as month first with two digits of
// year (C) or AM/PM (en_US), else as day first, until a number above 12 or the
// course of time says otherwise.
type ioStamps struct {
	zone     *time.Location
	order    ioOrder
	prev     [2]int64 // the last slashed stamp, read either way
	hasPrev  bool
	date     [3]int // of the banner, for stamps that have none
	hasDate  bool
	lastNS   int64 // the last stamp
	clock    int   // seconds of the day of the last stamp without a date
	hasClock bool
	same     [24]byte `state:"-"` // the last of these as text, which the lines of a table share
	sameLen  int      `state:"-"`
	sameNS   int64    `state:"-"`
	minute   [16]byte `state:"-"` // of the last stamp that began with the year, "2006-01-02 15:04"
	minuteNS int64    `state:"-"` // when it began; 0: there was none
}

// ioOrder is the order of a slashed date.
type ioOrder uint8

const (
	orderUnknown ioOrder = iota
	orderMonthFirst
	orderDayFirst
)

func newIOStamps(src *ingest.Source) (ioStamps, error) {
	zone := src.Options.Zone
	if zone == "" {
		zone = "UTC"
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return ioStamps{}, fmt.Errorf("zone %q: %w", zone, err)
	}
	return ioStamps{zone: loc}, nil
}

// numbers are the leading digit groups of a stamp, and what stands behind each.
type numbers struct {
	v, width [6]int
	sep      [6]byte
	n        int
	rest     []byte // behind the last group
}

func stampNumbers(b []byte) (g numbers) {
	for g.n < len(g.v) {
		w := 0
		v := 0
		for w < len(b) && w < 5 && b[w] >= '0' && b[w] <= '9' {
			v = v*10 + int(b[w]-'0')
			w++
		}
		if w == 0 || w == 5 {
			return g
		}
		g.v[g.n], g.width[g.n] = v, w
		b = b[w:]
		if len(b) > 0 {
			g.sep[g.n] = b[0]
		}
		g.n++
		g.rest = b
		i := 0 // separators: one sign, blanks, T, or letters beyond ASCII (CJK)
		for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == 'T' || b[i] >= 0x80 ||
			i == 0 && (b[i] == '/' || b[i] == '.' || b[i] == '-' || b[i] == ':')) {
			i++
		}
		if i == 0 {
			return g
		}
		b = b[i:]
	}
	return g
}

// parse reads a line that is a stamp and nothing else.
func (z *ioStamps) parse(line []byte) (int64, bool) {
	ns, ok := z.read(line)
	if ok {
		z.lastNS = ns
	}
	return ns, ok
}

// inWords reads a stamp as locales have it that name days or months.
func (z *ioStamps) inWords(line []byte) (int64, bool) {
	if !hasClock(line) {
		return 0, false
	}
	return dateTime(line, z.zone)
}

func (z *ioStamps) read(line []byte) (int64, bool) {
	if len(line) < 8 || len(line) > 80 {
		return 0, false
	}
	second, plain := z.second(line)
	if plain && z.minuteNS != 0 && string(line[:16]) == string(z.minute[:]) {
		return z.minuteNS + second, true
	}
	if rest, ok := cutPrefix(line, "Time: "); ok {
		return z.timeOnly(rest)
	}
	g := stampNumbers(line)
	if g.n != 6 || g.sep[0] != g.sep[1] && g.sep[0] < 0x80 || !dateSign(g.sep[0]) ||
		g.sep[2] != ' ' && g.sep[2] != 'T' && g.sep[2] < 0x80 && (g.sep[2] != '.' || g.sep[0] != '.') ||
		g.sep[3] != g.sep[4] && g.sep[3] < 0x80 || g.sep[3] != ':' && g.sep[3] != '.' && g.sep[3] < 0x80 {
		return 0, false
	}
	hour, loc, half, ok := z.tail(g.rest, g.v[3])
	if !ok || g.v[4] > 59 || g.v[5] > 60 {
		return 0, false
	}
	at := func(y, m, d int) (int64, bool) {
		if y < 1970 || y > 2199 || m < 1 || m > 12 || d < 1 || d > 31 || !dayOfMonth(y, m, d) {
			return 0, false
		}
		ns := time.Date(y, time.Month(m), d, hour, g.v[4], g.v[5], 0, loc).UnixNano()
		if loc == z.zone {
			ns = secondOf(firstOf(ns, loc), z.lastNS, loc)
		}
		return ns, true
	}
	switch {
	case g.width[0] == 4:
		ns, ok := at(g.v[0], g.v[1], g.v[2])
		if z.minuteNS = 0; ok && plain {
			z.minuteNS = ns - second
			copy(z.minute[:], line)
		}
		return ns, ok
	case g.sep[0] != '/':
		return at(fullYear(g.v[2], g.width[2]), g.v[1], g.v[0])
	}
	y := fullYear(g.v[2], g.width[2])
	month, okMonth := at(y, g.v[0], g.v[1])
	day, okDay := at(y, g.v[1], g.v[0])
	if !okMonth && !okDay {
		return 0, false
	}
	order := z.order
	switch {
	case !okDay || half:
		order = orderMonthFirst
	case !okMonth:
		order = orderDayFirst
	case order == orderUnknown && z.hasPrev && follows(z.prev[0], month) != follows(z.prev[1], day):
		order = orderDayFirst
		if follows(z.prev[0], month) {
			order = orderMonthFirst
		}
	}
	if okMonth && okDay {
		z.prev, z.hasPrev = [2]int64{month, day}, true
	}
	if !half && (okDay != okMonth || order != orderUnknown) {
		z.order = order
	}
	if order == orderDayFirst || order == orderUnknown && g.width[2] == 4 {
		return day, true
	}
	return month, true
}

// second is the seconds, in ns, of a stamp like "2006-01-02 15:04:05"; plain says that
// it is one.
func (z *ioStamps) second(line []byte) (ns int64, plain bool) {
	if len(line) != 19 || line[16] != ':' || line[13] != ':' || !isDecimal(line[17]) || !isDecimal(line[18]) {
		return 0, false
	}
	s := int64(line[17]-'0')*10 + int64(line[18]-'0')
	return s * 1e9, s <= 60
}

// follows says that a stamp comes at most two days behind another.
func follows(a, b int64) bool { return b >= a && b-a <= int64(48*time.Hour) }

func dateSign(c byte) bool { return c == '/' || c == '-' || c == '.' || c >= 0x80 }

func fullYear(y, width int) int {
	switch {
	case width == 4:
		return y
	case y >= 70:
		return 1900 + y
	}
	return 2000 + y
}

// tail reads what follows the seconds: AM or PM, or an offset from UTC.
func (z *ioStamps) tail(b []byte, hour int) (h int, loc *time.Location, half, ok bool) {
	loc = z.zone
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] >= 0x80) {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t' || b[len(b)-1] >= 0x80) {
		b = b[:len(b)-1]
	}
	switch {
	case len(b) == 0:
		return hour, loc, false, hour < 24
	case len(b) == 1 && b[0] == 'Z':
		return hour, time.UTC, false, hour < 24
	case b[0] == '+' || b[0] == '-':
		var d [4]int
		n := 0
		for _, c := range b[1:] {
			switch {
			case c == ':' && n == 2:
			case c >= '0' && c <= '9' && n < 4:
				d[n] = int(c - '0')
				n++
			default:
				return 0, nil, false, false
			}
		}
		if n != 4 {
			return 0, nil, false, false
		}
		off := (d[0]*10+d[1])*3600 + (d[2]*10+d[3])*60
		if b[0] == '-' {
			off = -off
		}
		if off == 0 {
			return hour, time.UTC, false, hour < 24
		}
		return hour, time.FixedZone("", off), false, hour < 24
	}
	var letters [2]byte
	n := 0
	for _, c := range b {
		switch {
		case c == '.' || c == ' ':
		case n < 2:
			letters[n] = c | 0x20
			n++
		default:
			return 0, nil, false, false
		}
	}
	if n != 2 || letters[1] != 'm' || letters[0] != 'a' && letters[0] != 'p' || hour < 1 || hour > 12 {
		return 0, nil, false, false
	}
	h = hour % 12
	if letters[0] == 'p' {
		h += 12
	}
	return h, loc, true, true
}

// banner keeps the date of a banner for stamps that are a time only; what stands behind
// it does not matter.
func (z *ioStamps) banner(date []byte) {
	date = bytes.TrimLeft(date, " \t")
	if i := bytes.IndexAny(date, "\t_"); i >= 0 {
		date = date[:i]
	}
	date = trimBlanks(date)
	first, _, _ := bytes.Cut(date, []byte(" "))
	g := stampNumbers(first)
	if g.n != 3 {
		g = stampNumbers(date)
	}
	z.hasDate, z.hasClock, z.sameLen, z.lastNS = false, false, 0, 0
	if g.n != 3 {
		// Some locales write it in words: "Monday 30 November 2026".
		if ns, ok := dateTime(append(bytes.Clone(date), " 00:00:00"...), time.UTC); ok {
			y, m, d := time.Unix(0, ns).UTC().Date()
			z.date, z.hasDate = [3]int{y, int(m), d}, true
		}
		return
	}
	y, m, d := fullYear(g.v[2], g.width[2]), g.v[0], g.v[1]
	switch {
	case g.width[0] == 4:
		y, m, d = g.v[0], g.v[1], g.v[2]
	case g.sep[0] != '/' || m > 12:
		m, d = d, m
	}
	if y >= 1970 && y <= 2199 && m >= 1 && m <= 12 && d >= 1 && d <= 31 {
		z.date, z.hasDate = [3]int{y, m, d}, true
	}
}

// timeOnly reads "10:08:05 AM", as sysstat before 9 stamped its reports, on the
// banner's date; a clock that goes back has passed midnight.
func (z *ioStamps) timeOnly(b []byte) (int64, bool) {
	if z.isSame(b) {
		return z.sameNS, true
	}
	g := stampNumbers(b)
	if g.n != 3 || !z.hasDate || g.v[1] > 59 || g.v[2] > 60 {
		return 0, false
	}
	hour, loc, _, ok := z.tail(g.rest, g.v[0])
	if !ok {
		return 0, false
	}
	clock := hour*3600 + g.v[1]*60 + g.v[2]
	if z.hasClock && clock < z.clock-12*3600 {
		z.date[2]++
	}
	z.clock, z.hasClock = clock, true
	at := time.Date(z.date[0], time.Month(z.date[1]), z.date[2], hour, g.v[1], g.v[2], 0, loc)
	if at.Year() > 2199 {
		return at.UnixNano(), false
	}
	ns := at.UnixNano()
	if loc == z.zone {
		ns = secondOf(firstOf(ns, loc), z.lastNS, loc)
	}
	z.sameLen, z.sameNS, z.lastNS = 0, ns, ns
	if len(b) <= len(z.same) {
		z.sameLen = copy(z.same[:], b)
	}
	return z.sameNS, true
}

func (z *ioStamps) isSame(b []byte) bool {
	return z.sameLen > 0 && len(b) == z.sameLen && string(b) == string(z.same[:z.sameLen])
}

func cutPrefix(b []byte, prefix string) ([]byte, bool) {
	if len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix {
		return b[len(prefix):], true
	}
	return b, false
}
