package ingest

import (
	"strings"
	"testing"
	"time"
)

func TestClockTime(t *testing.T) {
	check := func(c Clock, in, want int64) {
		t.Helper()
		if got := c.Time(in); got != want {
			t.Errorf("%+v: %d becomes %d, want %d", c, in, got, want)
		}
	}
	check(Clock{}, 5, 5)
	check(Clock{OffsetNS: -30_845_000}, 100_000_000, 69_155_000)
	// 50 ppm over 1,000 s are 50 ms, before the anchor as behind it.
	check(Clock{DriftPPB: 50_000, AtNS: 2e12}, 3e12, 3e12+50e6)
	check(Clock{DriftPPB: 50_000, AtNS: 2e12}, 1e12, 1e12-50e6)
	// 230 years at the greatest drift: the product doesn't fit 64 bits, the sum does.
	check(Clock{DriftPPB: MaxDriftPPB}, 2e18, 2e18+2e15)
	check(Clock{OffsetNS: 5}, 1<<62, 1<<62) // a broken stamp
}

func TestParseClockFile(t *testing.T) {
	const real, mono = 1795954829506475519, 1436933320320 // of a recording that was made so
	check := func(name, text string, base TimeBase, want Clock) {
		t.Helper()
		f, err := ParseClockFile(name, []byte(text))
		if err != nil {
			t.Error(err)
			return
		}
		got, ok := f.For(base)
		if want.Anchor == "" && ok && want != (Clock{}) {
			want.Anchor = name
		}
		if got != want {
			t.Errorf("%s %q for a clock of %v: got %+v, want %+v", name, text, base, got, want)
		}
	}
	boot := Clock{StartNS: real - mono}
	check("clocks.before.txt", "mono 1436933320320 real 1795954829506475519\n", BaseBoot, boot)
	check("c", "CLOCK_REALTIME: 1795954829506475519\nCLOCK_BOOTTIME: 1436933320320\n", BaseBoot, boot)
	check("c", "# by hand\nuptime=1436.933320320 real=1795954829.506475519", BaseBoot, boot)
	check("c", "boot 1436 epoch 1795954829", BaseBoot, Clock{StartNS: 1795953393e9})
	check("c", "boot 1436933 epoch 1795954829506", BaseBoot, Clock{StartNS: 1795953392573e6})
	check("c", `{"CLOCK_REALTIME": 1795954829.506475519, "CLOCK_MONOTONIC": 1436.933320320, "host": "h"}`, BaseBoot, boot)
	check("c", `[{"real": 1795954829506475519, "mono": 1436933320320}]`, BaseBoot, boot)
	check("stat", "cpu  1 2 3\ncpu0 1 2 3\nbtime 1795953392\nprocesses 7\n", BaseBoot, Clock{StartNS: 1795953392e9})
	check("a.clock", "start 2026-11-29T12:20:29.5+01:00", BaseRelative, Clock{StartNS: 1795951229500e6})
	check("a.clock", "start_ns 1795954829506475519", BaseRelative, Clock{StartNS: real})
	check("a.clock", "offset_ns -30845000 drift_ppb 12 at_ns 7 error_ns 900", BaseEpoch, Clock{Bare: true, OffsetNS: -30845000, DriftPPB: 12, AtNS: 7, ErrorNS: 900})
	check("a.clock", "offset_ns 0", BaseEpoch, Clock{Bare: true})

	// What is of the boot says nothing of a clock that counts from elsewhere, a
	// start nothing of one that has dates.
	check("c", "mono 1436933320320 real 1795954829506475519", BaseRelative, Clock{})
	check("c", "mono 1436933320320 real 1795954829506475519", BaseEpoch, Clock{})
	check("a.clock", "start_ns 1795954829506475519", BaseEpoch, Clock{})

	// Several readings: their mean; a line if the wall clock was slewed, here by
	// 100 ms in 1,000 s, that is 100 ppm; the first if it was set.
	check("c", "mono 1000000000 real 1795954829000000000\nmono 2000000000 real 1795954830000000200", BaseBoot, Clock{StartNS: 1795954828000000100})
	check("c", "mono 1000.0 real 1795954829.0\nmono 2000.0 real 1795955829.1", BaseBoot,
		Clock{StartNS: 1795953829e9, DriftPPB: 100_000, AtNS: 1795954829e9})
	check("c", "mono 1000.0 real 1795954829.0\nmono 2000.0 real 1795955929.0", BaseBoot,
		Clock{StartNS: 1795953829e9, Anchor: "c, whose readings differ by 1m40s"})

	bad := func(text, want string) {
		t.Helper()
		if _, err := ParseClockFile("dir/clock.txt", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	bad("", "dir/clock.txt: tells of no clock")
	bad("# only words\n", "tells of no clock")
	bad("start", `dir/clock.txt:1: "start" without a value`)
	bad("\nstart noon", `dir/clock.txt:2: start "noon" is no time`)
	bad("offset_ns 1.5", `offset_ns "1.5" is no whole number`)
	bad("offset_ns 1\nstart_ns 1795954829506475519", "two things of one clock")
	bad("drift_ppb 1", "no clock")
	bad("start_ns 1795954829506475519 drift_ppb 1", "belong to an offset_ns")
	bad("offset_ns 1 drift_ppb 1000001", "more than a clock has")
	bad("offset_ns 9000000000000000000", "230 years")
	bad("real 1795954829", "one clock without the other")
	bad("real 1795954829 real 1795954829", "again before the other")
	bad("real 12 mono 1", "no time of the wall clock")
	bad("real 1795954829 mono 1436933320320", "in the unit of 1795954829")
	bad(`{"real": 1795954829}`, "an object without")
	bad("Device r/s w/s\nsda 1 2\n", `unknown word "device"`)
	bad("  8,0    1        1     0.000000000   100  Q   R 0 + 8 [a]\n", "unknown word")
}

func TestParseClockOffset(t *testing.T) {
	check := func(text string, want ClockOffset, path string, matches bool) {
		t.Helper()
		got, err := ParseClockOffset(text)
		if err != nil || got != want || got.Matches(path) != matches {
			t.Errorf("%q: got %+v (%v), want %+v; of %s: %v", text, got, err, want, path, got.Matches(path))
		}
	}
	check("-30.8ms", ClockOffset{NS: -30_800_000}, "a/b.txt", true)
	check("2h", ClockOffset{NS: int64(2 * time.Hour)}, "-", true)
	check("@1795954829.5", ClockOffset{Absolute: true, NS: 1795954829500e6}, "x", true)
	check("*.txt=2026-11-29T12:20:29Z", ClockOffset{Pattern: "*.txt", Absolute: true, NS: 1795954829e9}, "a/b.txt", true)
	check("*.txt=1s", ClockOffset{Pattern: "*.txt", NS: 1e9}, "a/b.log", false)
	check("host=h01/*=1s", ClockOffset{Pattern: "host=h01/*", NS: 1e9}, "host=h01/b.log", true)
	for _, bad := range []string{"", "soon", "=1s", "[=1s", "a=", "@x", "1", "0001-01-01T00:00:00Z", "a=2500-01-01T00:00:00Z"} {
		if c, err := ParseClockOffset(bad); err == nil {
			t.Errorf("%q gives %+v", bad, c)
		}
	}
}

func FuzzParseClockFile(f *testing.F) {
	for _, s := range []string{
		"mono 1436933320320 real 1795954829506475519\n", "start 2026-11-29T12:20:29.5Z", "offset_ns -5 drift_ppb 3 at_ns 4 error_ns 9",
		`{"CLOCK_REALTIME": 1795954829.5, "CLOCK_MONOTONIC": 1436.9}`, "cpu  1\nbtime 1795953392\n", "uptime 1e9 real .5",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := ParseClockFile("clock.txt", data)
		if err != nil {
			return
		}
		for base := BaseEpoch; base <= BaseRelative; base++ {
			if c, ok := file.For(base); ok {
				if err := c.Check(); err != nil {
					t.Errorf("%q: %v", data, err)
				}
				if c.Bare && c.StartNS != 0 {
					t.Errorf("%q: a start on bare stamps", data)
				}
			}
		}
	})
}
