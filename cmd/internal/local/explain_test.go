package local

import (
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
)

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
