package heatmap

import (
	"fmt"
	"math"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// Scale says which raw value fills a channel: IOPS at full red, the latency
// (ms) at which green is gone, the queue depth at full blue.
type Scale struct {
	Name      string  `json:"name"`
	IOPS      float64 `json:"iops"`
	LatencyMS float64 `json:"latency_ms"`
	Depth     float64 `json:"depth"`
}

// Mission is the fixed scale R = iops/10000, G = 1 - latency_ms/200,
// B = depth/128.
func Mission() Scale { return Scale{Name: "mission", IOPS: 10000, LatencyMS: 200, Depth: 128} }

// GroupScale is the default scale: the 99th percentile of each channel over
// the healthy windows, rounded up to 1, 2 or 5 times a power of ten. With no
// healthy window all that aren't idle are taken; a channel that nothing tells
// falls back to Mission's.
func GroupScale(windows Cells) Scale {
	s := Mission()
	s.Name = "group"
	var healthy, all [3]steps125
	for i := range windows.Len() {
		w := windows.Cell(i)
		if w.Idle {
			continue
		}
		ok := w.Verdict == cluster.Healthy
		for c, v := range w.Values {
			if step := stepOf(v); step >= 0 {
				all[c].add(step)
				if ok {
					healthy[c].add(step)
				}
			}
		}
	}
	for c, full := range []*float64{&s.IOPS, &s.LatencyMS, &s.Depth} {
		counts := &healthy[c]
		if counts.total == 0 {
			counts = &all[c]
		}
		if counts.total > 0 {
			*full = counts.percentile99()
		}
	}
	return s
}

// The steps that steps125 counts: 1, 2, 5 times 10^lowest125 and up.
const (
	lowest125 = -12
	count125  = 3 * 36
)

// steps125 counts values by the step that they round up to, which is all that
// a percentile rounded up to a step needs.
type steps125 struct {
	counts [count125]int
	total  int
}

func step125(i int) float64 {
	return [...]float64{1, 2, 5}[i%3] * math.Pow10(lowest125+i/3)
}

// rising are all of them, in order.
var rising = func() (out [count125]float64) {
	for i := range out {
		out[i] = step125(i)
	}
	return out
}()

// stepOf is the number of the smallest step that isn't below v (of the last one
// beyond it); -1 for what has none.
func stepOf(v float64) int {
	if !(v > 0) || math.IsInf(v, 0) {
		return -1
	}
	i, _ := slices.BinarySearch(rising[:], v)
	return min(i, count125-1)
}

func (s *steps125) add(step int) {
	s.counts[step]++
	s.total++
}

// percentile99 is the step of the value at rank 99 % (of n sorted values, that
// at index (n-1) x 99 / 100).
func (s *steps125) percentile99() float64 {
	rank, sum := (s.total-1)*99/100, 0
	for i, n := range s.counts {
		if sum += n; sum > rank {
			return step125(i)
		}
	}
	return step125(count125 - 1)
}

// RGB is a colour: throughput, 1 - latency, queue depth.
type RGB [3]uint8

// Hex writes the colour as #RRGGBB.
func (c RGB) Hex() string { return fmt.Sprintf("#%02X%02X%02X", c[0], c[1], c[2]) }

// Color codes throughput, latency (ms) and queue depth: each is clamped to
// [0,1] first, then times 255, truncated. A missing (NaN) throughput or depth
// is 0. A missing latency is 0 (none of the green) when I/O was in flight, for
// then nothing completed, else half.
func (s Scale) Color(iops, latencyMS, depth float64) RGB {
	g := byte(127)
	switch {
	case !math.IsNaN(latencyMS):
		g = level(1 - latencyMS/s.LatencyMS)
	case iops == 0 && depth > 0:
		g = 0
	}
	return RGB{level(iops / s.IOPS), g, level(depth / s.Depth)}
}

// level is v clamped to [0,1] times 255, truncated; NaN is 0.
func level(v float64) uint8 {
	if !(v > 0) {
		return 0
	}
	return uint8(min(v, 1) * 255)
}

// Facts are those of the context behind red, green and blue.
var Facts = [3]int{features.CtxIOPS, features.CtxLatencyMean, features.CtxMeanDepth}
