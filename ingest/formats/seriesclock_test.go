package formats

import (
	"testing"
	"time"
)

// TestSeriesClock: the ways in which samplers print a snapshot's time. Oracle:
// time.Date.
func TestSeriesClock(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	at := func(ns int, loc *time.Location) int64 { return time.Date(2026, 11, 29, 12, 20, 29, ns, loc).UnixNano() }
	check := func(line string, want int64) {
		t.Helper()
		c := seriesClock{stamps: ioStamps{zone: zone}}
		if ok := c.mark([]byte(line)); !ok && want != 0 || ok && c.timeNS != want {
			t.Errorf("%q: %v %d, want %d", line, ok, c.timeNS, want)
		}
	}
	utc := at(0, time.UTC)
	check("# 1795954829", utc)
	check("#1795954829", utc)
	check("1795954829", utc)
	check("=== 1795954829 ===", utc)
	check("TS: 1795954829", utc)
	check("timestamp=1795954829", utc)
	check("# 1795954829.305930349", at(305930349, time.UTC))
	check("1795954829,305930349", at(305930349, time.UTC))
	check("1795954829305", at(305e6, time.UTC))
	check("1795954829305930", at(305930e3, time.UTC))
	check("1795954829305930349", at(305930349, time.UTC))
	check("2026-11-29T12:20:29Z", utc)
	check("--- 2026-11-29 12:20:29 UTC ---", utc)
	check("2026-11-29T12:20:29,5+01:00", at(5e8, time.FixedZone("", 3600)))
	check("2026-11-29 12:20:29.25", at(25e7, zone))
	check("2026-11-29 12:20:29 EST", at(0, zone))
	check("zzz ***Sun Nov 29 12:20:29 UTC 2026", utc)
	check("zzz ***Sun Nov 29 12:20:29 EST 2026", at(0, zone))
	check("zzz <11/29/2026 12:20:29> subcount: 3", at(0, zone))
	check("Sun Nov 29 12:20:29 PM UTC 2026", utc)
	check("Sun, 29 Nov 2026 12:20:29 +0000", utc)
	check("date: Sun 29 Nov 12:20:29 GMT 2026", utc)
	check("29.11.2026 12:20:29", at(0, zone))
	for _, no := range []string{
		"", "#", "17959548", "17959548291", "# 1795954829 seconds", "2026-11-29", "2026-13-29 12:20:29", "Sun Nov 29 2026",
		"Device r/s w/s", "zzz ***", "Sun Nov 29 12:20:29 in the morning 2026", "99999999999999999999", "9999999999999999999", "2026-02-29 12:20:29", "2026-11-31T12:20:29Z", "Mon Feb 30 12:20:29 UTC 2026",
	} {
		check(no, 0)
	}
}
