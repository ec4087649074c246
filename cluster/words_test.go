package cluster

import "testing"

func TestCounted(t *testing.T) {
	for _, c := range []struct {
		n    int64
		one  string
		want string
	}{
		{0, "device", "0 devices"}, {1, "device", "1 device"}, {2, "device", "2 devices"}, {1, "sick window", "1 sick window"}, {30, "sick window", "30 sick windows"},
		{1, "class", "1 class"}, {8, "class", "8 classes"}, {3, "match", "3 matches"}, {2, "entry", "2 entries"}, {1, "host-day", "1 host-day"}, {4, "host-day", "4 host-days"},
		{1 << 40, "byte", "1099511627776 bytes"},
	} {
		if got := Counted(c.n, c.one); got != c.want {
			t.Errorf("%d of %q are %q, want %q", c.n, c.one, got, c.want)
		}
	}
}
