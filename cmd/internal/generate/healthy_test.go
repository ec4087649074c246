package generate

import (
	"testing"
)

// TestHealthy wants devices that nothing befell to keep up with their work: what is
// in flight on arrival stays low, in the second half of the span as in the first:
// four, or a quarter of what the device serves at once.
func TestHealthy(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has TestSame")
	}
	o := DefaultOptions()
	o.Devices, o.Hours, o.Seed, o.Rate, o.Sick = 240, 0.02, 3, 60, 0
	f, err := NewFleet(o)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for i := range o.Devices {
		v := f.Disk(i)
		kinds[v.Kind]++
		h := &halves{middle: (v.FromNS + v.ToNS) / 2}
		v.play(h, false, Completed)
		for half, n := range h.n {
			if n < 20 {
				continue
			}
			if depth := float64(h.depth[half]) / float64(n); depth > max(4, float64(v.Law.Channels)/4) {
				t.Errorf("%s (%s, %s): %.1f in flight on arrival in half %d", v.Run, v.Law.Profile, v.Kind, depth, half)
			}
		}
	}
	if len(kinds) < 12 {
		t.Errorf("kinds of work: %v", kinds)
	}
}

// halves adds up what requests met on arrival, in each half of a span.
type halves struct {
	middle   int64
	n, depth [2]int64
}

func (h *halves) Stage(_ Stage, r *Request) {
	half := 0
	if r.At[Queued] >= h.middle {
		half = 1
	}
	h.n[half]++
	h.depth[half] += int64(r.depth)
}
