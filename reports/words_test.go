package reports

import (
	"math"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	check := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check(span(0), "0 s")
	check(span(0.0123), "12.3 ms")
	check(span(10), "10 s")
	check(span(12.34), "12.3 s")
	check(span(250), "4 min 10 s")
	check(span(300), "5 min")
	check(span(3*3600+300), "3 h 05 min")
	check(span(3*86400), "3.0 days")
	check(count(0), "0")
	check(count(999), "999")
	check(count(1234567), "1,234,567")
	check(count(-1234), "-1,234")
	check(count(-123), "-123")
	check(three(0), "0")
	check(three(2), "2")
	check(three(0.0123), "0.01")
	check(three(12.345), "12.3")
	check(three(999.4), "999")
	check(three(12345.6), "12,346")
	check(three(-0.0001), "-0.0001")
	check(three(math.NaN()), "–")
	check(percent(1), "100 %")
	check(percent(0.99996), "99.99 %")
	check(percent(0), "0 %")
	check(percent(0.00001), "under 0.01 %")
	check(percent(0.0748), "7.5 %")
	check(percent(0.72), "72 %")
	check(volume(0), "0 B")
	check(volume(16384), "16.4 kB")
	check(volume(1.5e12), "1.5 TB")
	check(plural(1, "device"), "1 device")
	check(plural(1200, "class"), "1,200 classes")
	check(newMoments(12e9, 99e9).at(12.34e9), "+12.3 s")
	check(newMoments(-5e9, 99e9).at(-5e9), "-5.0 s")
	check(newMoments(epoch, epoch+60e9).at(epoch+13e9), "02:00:13")
	check(newMoments(epoch, epoch+86400e9).at(epoch), "2026-03-14 02:00:00")
	check(label("plain-name.1"), "plain-name.1")
	check(label("a\nb"), `a\u000ab`)
	check(label("\u202egnp"), `\u202egnp`)
	check(label("\xff"), `\ufffd`)
	check(digits(math.Copysign(0, -1)), "0")
	check(digits(1.0/3), "0.333333")
	check(digits(math.NaN()), "")
	check(digits(math.Inf(1)), "")
	if got := []rune(label(strings.Repeat("x", 10000) + "end")); len(got) > labelRunes || !strings.HasSuffix(string(got), "end") {
		t.Errorf("a long name is shown as %q", string(got))
	}
}

func TestIsColour(t *testing.T) {
	check := func(s string, want bool) {
		t.Helper()
		if isColour(s) != want {
			t.Errorf("isColour(%q) is %v", s, !want)
		}
	}
	check("#D8EF1F", true)
	check("#d8ef1f", true)
	check("", false)
	check("red", false)
	check("#D8EF1", false)
	check("#D8EF1G", false)
	check("#12345;", false)
}
