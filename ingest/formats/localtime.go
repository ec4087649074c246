package formats

import "time"

// Where clocks are put back an hour comes twice, and a local stamp in it means two
// moments. The first is taken, unless a log shows by what came before that it is in
// the second.

// firstOf is the first of the moments that the local time of ns means in its zone.
func firstOf(ns int64, zone *time.Location) int64 {
	if zone == time.UTC {
		return ns
	}
	t := time.Unix(0, ns).In(zone)
	start, _ := t.ZoneBounds()
	if start.IsZero() {
		return ns
	}
	_, offset := t.Zone()
	_, before := start.Add(-1).Zone()
	if earlier := ns - int64(before-offset)*1e9; before > offset && earlier < start.UnixNano() {
		return earlier
	}
	return ns
}

// secondOf is the second moment that the local time of ns means in its zone, if there is
// one and ns, which is the first, lies before what came last.
func secondOf(ns, lastNS int64, zone *time.Location) int64 {
	if ns >= lastNS || zone == time.UTC {
		return ns
	}
	t := time.Unix(0, ns).In(zone)
	_, end := t.ZoneBounds()
	if end.IsZero() {
		return ns
	}
	_, offset := t.Zone()
	_, behind := end.Zone()
	if later := ns + int64(offset-behind)*1e9; offset > behind && later >= end.UnixNano() && later >= lastNS {
		return later
	}
	return ns
}
