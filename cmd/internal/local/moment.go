package local

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Times is what the times that people write are relative to.
type Times struct {
	Now             time.Time      // of "yesterday 02:00" and "2h ago"; zero where there is none
	Zone            *time.Location // of times without a zone; nil is UTC
	FirstNS, LastNS int64          // of the data: "+90s" counts from the first, "end-10m" from the last
}

// forms are the layouts of a time with a date, and whether they end in a zone.
var forms = []string{
	"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02",
}

// clocks are the layouts of a time of day.
var clocks = []string{"15:04:05.999999999", "15:04"}

// Moment reads a time as people write it, in nanoseconds since 1970:
//
//	2026-11-29T02:13:00Z            RFC 3339
//	2026-11-29 02:13                in Zone; the time of day may be absent
//	2026-11-29 02:13 Europe/Berlin  in a zone of its own; also +0100, UTC
//	today 02:00, yesterday 02:00    in Zone, of Now; a bare 02:00 is the latest such
//	now, 2h ago, -90m               before Now
//	+12.3s, start+5m, end-10m       from the data's start or end
//	1795967085000000000             nanoseconds since 1970
//
// Of a time that a clock has shown twice, when it was put back, the first counts.
// Where the recording's own clock is relative, + counts from its second 0.
func (t Times) Moment(s string) (int64, error) {
	s = strings.Join(strings.Fields(s), " ")
	if ns, err := strconv.ParseInt(s, 10, 64); err == nil && !strings.HasPrefix(s, "+") && !strings.HasPrefix(s, "-") {
		return ns, nil
	}
	if v, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return v.UnixNano(), nil
	}
	if v, ok, err := t.ofData(s); ok || err != nil {
		return v, err
	}
	if v, ok, err := t.ofNow(s); ok || err != nil {
		return v, err
	}
	if v, ok := t.written(s); ok {
		return v, nil
	}
	return 0, fmt.Errorf("time %q is none of 2006-01-02T15:04:05Z, 2006-01-02 15:04:05 (UTC), 2006-01-02 15:04 Europe/Berlin, yesterday 02:00, 2h ago, +12.3s, end-10m, nanoseconds since 1970", s)
}

// ofData reads what counts from the first or the last moment of the data.
func (t Times) ofData(s string) (ns int64, ok bool, err error) {
	first := t.FirstNS
	if first < relativeBefore {
		first = 0
	}
	for _, f := range []struct {
		word string
		from int64
		sign int64
	}{{"start+", first, 1}, {"+", first, 1}, {"end-", t.LastNS, -1}} {
		if after, found := strings.CutPrefix(strings.ReplaceAll(s, " ", ""), f.word); found {
			by, err := duration(after)
			if err != nil {
				return 0, false, fmt.Errorf("time %q: after %s comes a duration such as 12.3s or 5m", s, f.word)
			}
			return f.from + f.sign*int64(by), true, nil
		}
	}
	switch s {
	case "start":
		return first, true, nil
	case "end":
		return t.LastNS, true, nil
	}
	return 0, false, nil
}

// ofNow reads what counts from now, or from today.
func (t Times) ofNow(s string) (ns int64, ok bool, err error) {
	now := t.Now.In(t.zone())
	back, isBack := strings.CutSuffix(s, " ago")
	if !isBack {
		back, isBack = strings.CutPrefix(s, "-")
	}
	head, rest, _ := strings.Cut(s, " ")
	days, isDay := map[string]int{"today": 0, "yesterday": -1}[head]
	hour := t.clock(s)
	switch {
	case !isBack && !isDay && hour == nil && s != "now":
		return 0, false, nil
	case t.Now.IsZero():
		return 0, false, fmt.Errorf("time %q counts from now, and here there is none: write the date", s)
	case s == "now":
		return now.UnixNano(), true, nil
	case isBack:
		by, err := duration(back)
		if err != nil {
			return 0, false, fmt.Errorf("time %q: a duration such as 90s, 2h or 3d is needed", s)
		}
		return now.Add(-by).UnixNano(), true, nil
	case isDay:
		at := t.clock(rest)
		if rest == "" {
			at = &time.Time{}
		}
		if at == nil {
			return 0, false, fmt.Errorf("time %q: after %s comes a time of day such as 02:00", s, head)
		}
		return onDay(now.AddDate(0, 0, days), at).UnixNano(), true, nil
	}
	v := onDay(now, hour)
	if v.After(now) {
		v = onDay(now.AddDate(0, 0, -1), hour)
	}
	return v.UnixNano(), true, nil
}

// clock reads a time of day; nil if it is none.
func (t Times) clock(s string) *time.Time {
	for _, layout := range clocks {
		if v, err := time.Parse(layout, s); err == nil {
			return &v
		}
	}
	return nil
}

func onDay(day time.Time, clock *time.Time) time.Time {
	return firstOf(time.Date(day.Year(), day.Month(), day.Day(), clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), day.Location()))
}

// firstOf is the first of the moments that a clock shows the same: there are two
// where it was put back by an hour. (time.Date says of neither that it is the one.)
func firstOf(v time.Time) time.Time {
	if before := v.Add(-time.Hour); before.Hour() == v.Hour() && before.Day() == v.Day() {
		return before
	}
	return v
}

func (t Times) zone() *time.Location {
	if t.Zone == nil {
		return time.UTC
	}
	return t.Zone
}

// written reads a date and time, with a zone or without.
func (t Times) written(s string) (int64, bool) {
	for _, layout := range forms {
		if v, err := time.ParseInLocation(layout, s, t.zone()); err == nil {
			return firstOf(v).UnixNano(), true
		}
		if v, err := time.Parse(layout+" -0700", s); err == nil {
			return v.UnixNano(), true
		}
	}
	at := strings.LastIndexByte(s, ' ')
	if at < 0 {
		return 0, false
	}
	name := s[at+1:]
	if name == "" || name == "Local" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") {
		return 0, false
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return 0, false
	}
	for _, layout := range forms {
		if v, err := time.ParseInLocation(layout, s[:at], zone); err == nil {
			return firstOf(v).UnixNano(), true
		}
	}
	return 0, false
}

// duration reads a length of time; a bare number is seconds, and d is a day of 24 hours.
func duration(s string) (time.Duration, error) {
	s = strings.ReplaceAll(s, " ", "")
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || !(n >= 0 && n < 1e5) {
			return 0, fmt.Errorf("%q is no duration", s)
		}
		return time.Duration(math.Round(n * 24 * float64(time.Hour))), nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return d, nil
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n >= 0 && n < 1e9) {
		return 0, fmt.Errorf("%q is no duration", s)
	}
	return time.Duration(math.Round(n * 1e9)), nil
}

// Span reads FROM..TO; either may be empty, which is the data's start or end.
func (t Times) Span(s string) (from, to int64, err error) {
	a, b, ok := strings.Cut(s, "..")
	if !ok {
		return 0, 0, fmt.Errorf("span %q: two times with .. between them are needed", s)
	}
	from, to = math.MinInt64, math.MaxInt64
	if strings.TrimSpace(a) != "" {
		if from, err = t.Moment(a); err != nil {
			return 0, 0, err
		}
	}
	if strings.TrimSpace(b) != "" {
		if to, err = t.Moment(b); err != nil {
			return 0, 0, err
		}
	}
	if from >= to {
		return 0, 0, fmt.Errorf("span %q ends before it begins", s)
	}
	return from, to, nil
}
