package generate

import (
	"fmt"
	"math"
	"testing"
)

// TestDigits holds the digits against fmt.
func TestDigits(t *testing.T) {
	check := func(got []byte, format string, args ...any) {
		t.Helper()
		if want := fmt.Sprintf(format, args...); string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	values := []int64{0, 1, 9, 10, 11, 99, 100, 101, 12345, math.MaxInt64}
	for p := int64(1); p < math.MaxInt64/10; p *= 10 {
		values = append(values, p-1, p, p+1)
	}
	var before lead
	var six, nine clock
	var seen memo
	room := make([]byte, 24)
	for _, v := range append(values, values...) {
		check(room[:before.put(room, v)], "%d", v)
		check(room[:seen.put(room, v)], "%d", v)
		check(room[:six.put(room, v, 6)], "%d.%06d", v/1e9, v%1e9/1e3)
		check(room[:nine.put(room, v, 9)], "%d.%09d", v/1e9, v%1e9)
		check(decimal(nil, v), "%d", v)
		check(hexadecimal([]byte("x"), uint64(v)), "x%016x", v)
		check(padded([]byte("x"), v, 8), "x%8d", v)
		check(leftNumber(nil, v, 8), "%-8d", v)
		check(fraction(nil, v%1e9, 9), "%09d", v%1e9)
		check(seconds(nil, v, 9), "%d.%09d", v/1e9, v%1e9)
		check(seconds(nil, v, 6), "%d.%06d", v/1e9, v%1e9/1e3)
		check(millis(nil, v, 3, 9), "%9s", fmt.Sprintf("%d.%03d", v/1e6, v%1e6/1e3))
	}
	for v := range uint32(100_000_000) { // one in 997
		if v = v * 997; v >= 100_000_000 {
			break
		}
		check(fraction(nil, int64(v), 8), "%08d", v)
	}
	check(text([]byte("x"), "ab", 40), "x%40s", "ab")
	check(text(nil, "ab", 4), "%4s", "ab")
	check(left(nil, "ab", 4), "%-4s", "ab")
}
