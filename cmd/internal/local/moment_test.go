package local

import (
	"math"
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	const first = 1700000000000000000 // 2023-11-14T22:13:20Z
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here: ", err)
	}
	now := time.Unix(0, first).UTC()
	utc := Times{FirstNS: first, LastNS: first + 3600e9}
	local := Times{Now: now, Zone: berlin, FirstNS: first, LastNS: first + 3600e9}
	at := func(s string) int64 {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v.UnixNano()
	}
	check := func(ts Times, s string, want int64) {
		t.Helper()
		if got, err := ts.Moment(s); err != nil || got != want {
			t.Errorf("%q is %s (%v), want %s", s, time.Unix(0, got).UTC(), err, time.Unix(0, want).UTC())
		}
	}
	check(utc, "2023-11-14T22:13:20Z", first)
	check(utc, "2023-11-14T23:13:20.5+01:00", first+5e8)
	check(utc, "2023-11-14 22:13:20", first)
	check(utc, "2023-11-14 22:13", first-20e9)
	check(utc, "1700000000000000001", first+1)
	check(utc, "+12.3s", first+123e8)
	check(utc, "+12.3", first+123e8)
	check(utc, "+2m", first+120e9)
	check(Times{FirstNS: 10e9}, "+12.3 s", 123e8) // as Stamp writes a relative clock
	check(utc, "end-10m", first+3000e9)
	check(utc, "start+1d", first+86400e9)

	// Now is 23:13:20 in Berlin.
	check(local, "2023-11-14 23:13:20", first)
	check(local, "2023-11-14 22:13:20 UTC", first)
	check(local, "2023-11-14 17:13:20 -0500", first)
	check(local, "2023-11-14 17:13:20 America/New_York", first)
	check(local, "2023-07-01 12:00", at("2023-07-01T10:00:00Z")) // summer time
	check(local, "2023-11-14", at("2023-11-13T23:00:00Z"))
	check(local, "yesterday 02:00", at("2023-11-13T01:00:00Z"))
	check(local, "yesterday", at("2023-11-12T23:00:00Z"))
	check(local, "today 02:00:30", at("2023-11-14T01:00:30Z"))
	check(local, "23:00", at("2023-11-14T22:00:00Z"))
	check(local, "23:30", at("2023-11-13T22:30:00Z")) // not yet today
	check(local, "now", first)
	check(local, "2h ago", first-7200e9)
	check(local, "-90m", first-5400e9)
	check(local, "3d ago", first-3*86400e9)
	for _, ts := range []Times{utc, local} {
		for _, bad := range []string{"", "yesterday at two", "+", "+x", "+1e300", "12.3s", "2023-13-01 00:00:00", "2023-11-14 22:13 ../zone", "2023-11-14 22:13 Mars", "ago", "-", "end-", "25:00", "noon"} {
			if got, err := ts.Moment(bad); err == nil {
				t.Errorf("%q is %d", bad, got)
			}
		}
	}
	for _, bad := range []string{"yesterday 02:00", "2h ago", "now", "02:00"} {
		if got, err := utc.Moment(bad); err == nil {
			t.Errorf("without a now, %q is %d", bad, got)
		}
	}
	from, to, err := local.Span("23:00..now")
	if err != nil || from != first-800e9 || to != first {
		t.Errorf("span is %d to %d (%v)", from, to, err)
	}
	if from, to, err = local.Span(".."); err != nil || from != math.MinInt64 || to != math.MaxInt64 {
		t.Errorf("open span is %d to %d (%v)", from, to, err)
	}
	for _, bad := range []string{"now", "now..23:00", "x..now"} {
		if _, _, err := local.Span(bad); err == nil {
			t.Errorf("span %q is taken", bad)
		}
	}
}

// Clocks in Berlin went from 02:00 to 03:00 on 29 March 2026 and from 03:00 back
// to 02:00 on 25 October (the IANA database). A time that was not is the one an
// hour on; of one that was twice the first counts; durations are of real hours.
func TestMomentWhereClocksChange(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here: ", err)
	}
	check := func(now, s, want string) {
		t.Helper()
		at := func(s string) int64 {
			v, err := time.Parse(time.RFC3339, s)
			if err != nil {
				t.Fatal(err)
			}
			return v.UnixNano()
		}
		got, err := Times{Now: time.Unix(0, at(now)), Zone: berlin}.Moment(s)
		if err != nil || got != at(want) {
			t.Errorf("at %s %q is %s (%v), want %s", now, s, time.Unix(0, got).UTC().Format(time.RFC3339), err, want)
		}
	}
	const spring, autumn = "2026-03-30T08:00:00Z", "2026-10-26T08:00:00Z" // the days after
	check(spring, "2026-03-29 01:59", "2026-03-29T00:59:00Z")
	check(spring, "2026-03-29 02:30", "2026-03-29T01:30:00Z") // there was none: 03:30
	check(spring, "2026-03-29 03:00", "2026-03-29T01:00:00Z")
	check(spring, "yesterday 04:00", "2026-03-29T02:00:00Z")
	check(spring, "yesterday", "2026-03-28T23:00:00Z")
	check("2026-03-29T02:00:00Z", "-2h", "2026-03-29T00:00:00Z") // 04:00 less two hours is 01:00
	check("2026-03-29T08:00:00Z", "1d ago", "2026-03-28T08:00:00Z")
	check(autumn, "2026-10-25 02:30", "2026-10-25T00:30:00Z") // the first of two
	check(autumn, "2026-10-25T02:30:00+01:00", "2026-10-25T01:30:00Z")
	check(autumn, "2026-10-25 02:30 +0100", "2026-10-25T01:30:00Z")
	check(autumn, "yesterday 03:00", "2026-10-25T02:00:00Z")
	check(autumn, "2026-10-25 02:30 UTC", "2026-10-25T02:30:00Z")
}
