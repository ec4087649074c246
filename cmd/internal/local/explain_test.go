package local

import (
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
)

func TestMoment(t *testing.T) {
	const first = 1700000000000000000 // 2023-11-14T22:13:20Z
	check := func(s string, firstNS, want int64) {
		t.Helper()
		if got, err := Moment(s, firstNS); err != nil || got != want {
			t.Errorf("%q is %d (%v), want %d", s, got, err, want)
		}
	}
	check("2023-11-14T22:13:20Z", first, first)
	check("2023-11-14T23:13:20.5+01:00", first, first+5e8)
	check("2023-11-14 22:13:20", first, first)
	check("2023-11-14 22:13", first, first-20e9)
	check("1700000000000000001", first, first+1)
	check("+12.3s", first, first+123e8)
	check("+12.3", first, first+123e8)
	check("+2m", first, first+120e9)
	check("+12.3 s", 10e9, 123e8) // as Stamp writes a relative clock
	for _, bad := range []string{"", "yesterday", "+", "+x", "+1e300", "12.3s", "2023-13-01 00:00:00"} {
		if got, err := Moment(bad, first); err == nil {
			t.Errorf("%q is %d", bad, got)
		}
	}
}

func TestFind(t *testing.T) {
	d := &Diagnosed{}
	for _, k := range []features.Key{{Host: "h", Device: "a"}, {Host: "h", Device: "b/c"}} {
		for at := range int64(3) {
			d.Windows = append(d.Windows, features.Window{Key: k, StartNS: at * 10e9, EndNS: (at + 1) * 10e9})
		}
	}
	check := func(device, moment string, want int, words string) {
		t.Helper()
		got, err := d.Find(device, moment)
		if words != "" {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s %s: %v, want %q", device, moment, err, words)
			}
		} else if err != nil || got != want {
			t.Errorf("%s %s is window %d (%v), want %d", device, moment, got, err, want)
		}
	}
	check("h/a", "0", 0, "")
	check("h/a", "+29.9s", 2, "")
	check("h/b/c", "10000000000", 4, "")
	check("h/a", "+30s", 0, "its windows go from +0.0 s to +30.0 s")
	check("h/z", "0", 0, "no windows of h/z; it has h/a, h/b/c")
	check("h/a", "noon", 0, "none of")
}
