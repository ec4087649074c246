package ingest

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// ClockOffset is one of Options.ClockOffset: for the logs that Pattern matches,
// either the time of stamp 0 or a duration that is added to all times.
type ClockOffset struct {
	Pattern  string // of the path if it holds a slash, else of its last part; "": every log
	Absolute bool
	NS       int64 // epoch of stamp 0, or what is added
}

// ParseClockOffset reads OFFSET or GLOB=OFFSET, where OFFSET is a duration (-30.8ms,
// +2h) or a time (RFC 3339, or @ and seconds since 1970).
func ParseClockOffset(s string) (ClockOffset, error) {
	var c ClockOffset
	value := s
	if i := strings.LastIndexByte(s, '='); i >= 0 {
		c.Pattern, value = s[:i], s[i+1:]
		if _, err := filepath.Match(c.Pattern, "x"); err != nil || c.Pattern == "" {
			return c, fmt.Errorf("%q: %q is no pattern of names", s, c.Pattern)
		}
	}
	if seconds, ok := strings.CutPrefix(value, "@"); ok {
		ns, ok := clockValue(seconds, 1e9)
		if !ok {
			return c, fmt.Errorf("%q: %q is no number of seconds", s, seconds)
		}
		c.Absolute, c.NS = true, ns
	} else if at, err := time.Parse(time.RFC3339Nano, value); err == nil {
		if at.Year() < 1970 || at.Year() > 2199 {
			return c, fmt.Errorf("%q: the year %d is none of a recording", s, at.Year())
		}
		c.Absolute, c.NS = true, at.UnixNano()
	} else if d, err := time.ParseDuration(value); err == nil {
		c.NS = int64(d)
	} else {
		return c, fmt.Errorf("%q is neither a duration (-30.8ms), nor a time (2026-11-29T12:00:00Z or @1795953600.5), nor GLOB= before one", s)
	}
	check := Clock{StartNS: c.NS}
	return c, check.Check()
}

// Matches says whether it is said of the log at a path.
func (c *ClockOffset) Matches(path string) bool {
	if c.Pattern == "" {
		return true
	}
	name := filepath.Base(path)
	if strings.ContainsRune(c.Pattern, '/') {
		name = filepath.ToSlash(path)
	}
	ok, err := filepath.Match(c.Pattern, name)
	return ok && err == nil
}
