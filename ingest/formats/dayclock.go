package formats

import (
	"fmt"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// dayClock gives the hours of a log that names no day: the first is of the day
// that start_ns is in, and the day goes on at midnight.
type dayClock struct {
	day    time.Time // its start, in the zone of the stamps
	last   int64     // seconds of the day of the last stamp
	began  bool
	latest int64 // ns; the latest time
}

func newDayClock(src *ingest.Source) (dayClock, error) {
	zone := src.Options.Zone
	if zone == "" {
		zone = "UTC"
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return dayClock{}, fmt.Errorf("zone %q: %w", zone, err)
	}
	at := time.Unix(0, src.Options.StartNS).In(loc)
	return dayClock{day: time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, loc)}, nil
}

// at is the epoch of a second of the day. An hour that goes back by half a day is
// midnight; one that goes back a little is two CPUs whose lines were swapped.
func (c *dayClock) at(second int64) (ns int64, ok bool) {
	if c.began && second+12*3600 < c.last {
		c.day = c.day.AddDate(0, 0, 1)
	}
	c.last, c.began = second, true
	t := time.Date(c.day.Year(), c.day.Month(), c.day.Day(), 0, 0, int(second), 0, c.day.Location())
	ns = firstOf(t.UnixNano(), c.day.Location())
	if ns < c.latest-lateLineNS { // the hour comes again where clocks are put back
		if second := secondOf(ns, ns+1, c.day.Location()); second >= c.latest-lateLineNS {
			ns = second
		}
	}
	c.latest = max(c.latest, ns)
	s := t.Unix()
	return ns, s >= -86400 && s <= traceLastS // a day: 1970 in zones east of UTC
}

// clockOf reads HH:MM:SS and gives the seconds of the day and the index behind
// it, 0 if it does not stand there.
func clockOf(b []byte) (second int64, end int) {
	if len(b) < 8 || b[2] != ':' || b[5] != ':' || len(b) > 8 && isDigit(b[8]) {
		return 0, 0
	}
	for _, i := range [...]int{0, 1, 3, 4, 6, 7} {
		if !isDigit(b[i]) {
			return 0, 0
		}
	}
	two := func(i int) int64 { return int64(b[i]-'0')*10 + int64(b[i+1]-'0') }
	h, m, s := two(0), two(3), two(6)
	if h > 23 || m > 59 || s > 60 {
		return 0, 0
	}
	return h*3600 + m*60 + s, 8
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
