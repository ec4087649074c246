package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ClockFileBytes bounds a clock file.
const ClockFileBytes = 64 << 10

// ClockFile is what a file beside a log tells of its clock: a start, or readings
// of the wall clock and of one that counts from boot, or an offset that was
// measured.
type ClockFile struct {
	Name    string // of the file, for words
	StartNS int64  // epoch of stamp 0, whatever it counts from; 0 if not told
	BootNS  int64  // epoch of the boot, whole seconds (btime of /proc/stat); 0 if not told
	Pairs   []ClockPair

	Measured                   bool // by `iopathy align`: the stamps as they stand, corrected
	OffsetNS, DriftPPB, AtNS   int64
	ErrorNS                    int64
	sawOffset, sawDrift, sawAt bool
}

// ClockPair is two clocks of a host read one after the other.
type ClockPair struct {
	RealNS int64 // wall clock, since 1970
	BootNS int64 // monotonic, boot time or uptime
}

// For is the clock of an input whose stamps count from base, and false if the
// file tells nothing of such a clock.
func (f *ClockFile) For(base TimeBase) (Clock, bool) {
	c := Clock{Anchor: f.Name}
	switch {
	case f.Measured:
		c.Bare = true
		c.OffsetNS, c.DriftPPB, c.AtNS, c.ErrorNS = f.OffsetNS, f.DriftPPB, f.AtNS, f.ErrorNS
	case base == BaseEpoch:
		return Clock{}, false
	case f.StartNS != 0:
		c.StartNS = f.StartNS
	case base != BaseBoot:
		return Clock{}, false
	case len(f.Pairs) > 0:
		f.read(&c)
	case f.BootNS != 0:
		c.StartNS = f.BootNS
	default:
		return Clock{}, false
	}
	return c, true
}

// slewNS and slewSpanNS tell a wall clock that was slewed between two readings
// from what it takes to read two clocks one after the other.
const (
	slewNS     = int64(time.Millisecond)
	slewSpanNS = int64(time.Minute)
)

// read takes the readings: their mean, or a straight line from the first to the
// last if the wall clock was slewed between them. One that was set between them
// is not to be had by a line: the first reading counts.
func (f *ClockFile) read(c *Clock) {
	first, last := f.Pairs[0], f.Pairs[len(f.Pairs)-1]
	c.StartNS = first.RealNS - first.BootNS
	sum := int64(0)
	low, high := c.StartNS, c.StartNS
	for _, p := range f.Pairs {
		start := p.RealNS - p.BootNS
		sum += (start - c.StartNS) / int64(len(f.Pairs))
		low, high = min(low, start), max(high, start)
	}
	span, slew := last.BootNS-first.BootNS, (last.RealNS-first.RealNS)-(last.BootNS-first.BootNS)
	switch {
	case high-low <= slewNS:
		c.StartNS += sum
	case span >= slewSpanNS && float64(max(slew, -slew)) <= float64(span)*MaxDriftPPB/1e9:
		c.DriftPPB = int64(float64(slew) / float64(span) * 1e9)
		c.AtNS = first.RealNS
	default:
		c.Anchor += ", whose readings differ by " + time.Duration(high-low).String()
	}
}

// IsClockFileName says whether a name alone makes a file a clock file: NAME.clock
// beside the log NAME, or clock.txt for all logs of its folder.
func IsClockFileName(path string) bool {
	name := filepath.Base(path)
	return name == "clock.txt" || strings.HasSuffix(name, ".clock") && name != ".clock"
}

// ParseClockFile reads a clock file: lines of words and values,
//
//	start 2026-11-29T12:20:29.5Z     or start_ns, or an offset by offset_ns, drift_ppb, at_ns, error_ns
//	mono 1436933320320 real 1795954829506475519
//
// "#" begins a comment; between words and values stand blanks, "=" or ":". The
// words for clocks are real (realtime, epoch, CLOCK_REALTIME) and mono (monotonic,
// boot, boottime, uptime, CLOCK_MONOTONIC, CLOCK_BOOTTIME), on one line or on one
// after the other; a value with a decimal point is in seconds, a whole one in s,
// ms, us or ns as the digits of the wall clock's tell. The same names in a JSON
// object, and a copy of /proc/stat (btime), are understood too.
//
// An error, which names path and line, says what a file that is named like a
// clock file has wrong; one that isn't is no clock file then.
func ParseClockFile(path string, data []byte) (ClockFile, error) {
	f := ClockFile{Name: filepath.Base(path)}
	var err error
	switch text := bytes.TrimSpace(bytes.TrimPrefix(data, bom)); {
	case bytes.HasPrefix(text, []byte("{")), bytes.HasPrefix(text, []byte("[")):
		err = f.json(path, text)
	case bytes.HasPrefix(text, []byte("cpu ")):
		err = f.stat(path, text)
	default:
		err = f.text(path, data)
	}
	if err == nil {
		err = f.settle(path)
	}
	if err != nil {
		return ClockFile{}, err
	}
	return f, nil
}

// clockWords are the words for the clocks.
var clockWords = map[string]int{
	"real": clockReal, "realtime": clockReal, "clock_realtime": clockReal, "epoch": clockReal, "wall": clockReal,
	"mono": clockBoot, "monotonic": clockBoot, "clock_monotonic": clockBoot, "clock_monotonic_raw": clockBoot,
	"boot": clockBoot, "boottime": clockBoot, "clock_boottime": clockBoot, "uptime": clockBoot,
}

const (
	clockReal = iota + 1
	clockBoot
)

// reading is a pair as it is read: its values in their own words.
type reading [clockBoot + 1]string

// text reads lines of words and values.
func (f *ClockFile) text(path string, data []byte) error {
	var r reading
	n := 0
	for line := range bytes.Lines(data) {
		n++
		text, _, _ := strings.Cut(string(line), "#")
		words := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\r\n=,", c) })
		for i := 0; i < len(words); i += 2 {
			if i+1 == len(words) {
				return fmt.Errorf("%s:%d: %q without a value", path, n, clip(words[i]))
			}
			key := strings.ToLower(strings.TrimSuffix(words[i], ":"))
			if clock := clockWords[key]; clock != 0 {
				if r[clock] != "" {
					return fmt.Errorf("%s:%d: %s again before the other clock", path, n, clip(key))
				}
				if r[clock] = words[i+1]; r[clockReal] != "" && r[clockBoot] != "" {
					if err := f.pair(r); err != nil {
						return fmt.Errorf("%s:%d: %w", path, n, err)
					}
					r = reading{}
				}
			} else if err := f.word(key, words[i+1]); err != nil {
				return fmt.Errorf("%s:%d: %w", path, n, err)
			}
		}
	}
	if r[clockReal] != "" || r[clockBoot] != "" {
		return fmt.Errorf("%s:%d: one clock without the other", path, n)
	}
	return nil
}

// word takes a word of our own.
func (f *ClockFile) word(key, value string) (err error) {
	var to *int64
	switch key {
	case "start":
		at, err := time.Parse(time.RFC3339Nano, value)
		if err != nil {
			return fmt.Errorf("start %q is no time such as 2026-11-29T12:20:29.5Z", clip(value))
		}
		f.StartNS = at.UnixNano()
		return nil
	case "start_ns":
		to = &f.StartNS
	case "offset_ns":
		to, f.sawOffset = &f.OffsetNS, true
	case "drift_ppb":
		to, f.sawDrift = &f.DriftPPB, true
	case "at_ns":
		to, f.sawAt = &f.AtNS, true
	case "error_ns":
		to = &f.ErrorNS
	default:
		return fmt.Errorf("unknown word %q", clip(key))
	}
	if *to, err = strconv.ParseInt(value, 10, 64); err != nil {
		return fmt.Errorf("%s %q is no whole number of ns", key, clip(value))
	}
	return nil
}

func clip(s string) string { return s[:min(len(s), 40)] }

// pair takes two readings.
func (f *ClockFile) pair(r reading) error {
	unit := int64(1e9)
	if !strings.Contains(r[clockReal], ".") {
		for n := len(r[clockReal]); n > 10 && unit > 1; n -= 3 {
			unit /= 1000
		}
	}
	real, ok := clockValue(r[clockReal], unit)
	if !ok || real < RelativeBeforeNS || real > maxClockNS {
		return fmt.Errorf("%q is no time of the wall clock", clip(r[clockReal]))
	}
	boot, ok := clockValue(r[clockBoot], unit)
	if !ok || boot < 0 || boot > maxClockNS/4 {
		return fmt.Errorf("%q is no time since boot in the unit of %s", clip(r[clockBoot]), clip(r[clockReal]))
	}
	if len(f.Pairs) == maxPairs {
		return fmt.Errorf("more than %d readings", maxPairs)
	}
	f.Pairs = append(f.Pairs, ClockPair{RealNS: real, BootNS: boot})
	return nil
}

const maxPairs = 1000

// clockValue reads whole units, or seconds with decimals.
func clockValue(s string, unit int64) (ns int64, ok bool) {
	whole, decimals, point := strings.Cut(s, ".")
	v, err := strconv.ParseInt(whole, 10, 64)
	switch {
	case err != nil || v < 0:
		return 0, false
	case !point:
		return v * unit, v <= maxClockNS/unit
	case len(decimals) > 9 || v > maxClockNS/1e9:
		return 0, false
	}
	rest, err := strconv.ParseUint((decimals + "000000000")[:9], 10, 63)
	return v*1e9 + int64(rest), err == nil
}

// stat reads a copy of /proc/stat.
func (f *ClockFile) stat(path string, data []byte) error {
	for line := range bytes.Lines(data) {
		if v, ok := strings.CutPrefix(string(bytes.TrimSpace(line)), "btime "); ok {
			ns, ok := clockValue(v, 1e9)
			if !ok || ns < RelativeBeforeNS {
				return fmt.Errorf("%s: btime %q is no time", path, clip(v))
			}
			f.BootNS = ns
		}
	}
	return nil
}

// json reads an object with a reading, or a list of such.
func (f *ClockFile) json(path string, data []byte) error {
	if lower := bytes.ToLower(data); !bytes.Contains(lower, []byte(`real`)) && !bytes.Contains(lower, []byte(`epoch`)) && !bytes.Contains(lower, []byte(`wall`)) {
		return fmt.Errorf("%s: tells of no wall clock", path) // most documents: not worth decoding
	}
	if data[0] == '{' {
		data = append(append([]byte{'['}, data...), ']')
	}
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, object := range list {
		var r reading
		for key, value := range object {
			if clock := clockWords[strings.ToLower(key)]; clock != 0 {
				if r[clock] != "" {
					return fmt.Errorf("%s: one clock has two values", path)
				}
				r[clock] = strings.Trim(string(value), `"`)
			}
		}
		if r[clockReal] == "" || r[clockBoot] == "" {
			return fmt.Errorf("%s: an object without a wall clock and one since boot", path)
		}
		if err := f.pair(r); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// settle checks that a file tells one thing, and that it can be.
func (f *ClockFile) settle(path string) error {
	f.Measured = f.sawOffset
	told := 0
	for _, is := range []bool{f.Measured, f.StartNS != 0, f.BootNS != 0, len(f.Pairs) > 0} {
		if is {
			told++
		}
	}
	switch {
	case told == 0:
		return fmt.Errorf("%s: tells of no clock", path)
	case told > 1:
		return fmt.Errorf("%s: tells two things of one clock", path)
	case !f.Measured && (f.sawDrift || f.sawAt):
		return fmt.Errorf("%s: drift_ppb and at_ns belong to an offset_ns", path)
	case f.ErrorNS < 0:
		return fmt.Errorf("%s: error_ns %d is negative", path, f.ErrorNS)
	}
	slices.SortFunc(f.Pairs, func(a, b ClockPair) int {
		return cmp.Or(cmp.Compare(a.BootNS, b.BootNS), cmp.Compare(a.RealNS, b.RealNS))
	})
	for _, base := range []TimeBase{BaseBoot, BaseRelative} {
		if c, ok := f.For(base); ok {
			if err := c.Check(); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return nil
}

// Join adds the readings of another file of the same folder; false if the two
// tell different kinds of things.
func (f *ClockFile) Join(o ClockFile) bool {
	if len(f.Pairs) == 0 || len(o.Pairs) == 0 || len(f.Pairs)+len(o.Pairs) > maxPairs {
		return false
	}
	f.Pairs = append(f.Pairs, o.Pairs...)
	slices.SortFunc(f.Pairs, func(a, b ClockPair) int { return cmp.Compare(a.BootNS, b.BootNS) })
	f.Name += " and " + o.Name
	return true
}
