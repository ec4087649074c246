package heatmap

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseScale reads a scale as people write it: "mission", "IOPS,MS,DEPTH"
// (three positive numbers), or "group", which gives the zero Scale: the one
// that GroupScale takes from the data.
func ParseScale(text string) (Scale, error) {
	switch text {
	case "group", "":
		return Scale{}, nil
	case "mission":
		return Mission(), nil
	}
	words := strings.Split(text, ",")
	if len(words) != 3 {
		return Scale{}, fmt.Errorf("heatmap: scale %q: want group, mission or three numbers IOPS,MS,DEPTH", text)
	}
	var v [3]float64
	for i, w := range words {
		x, err := strconv.ParseFloat(strings.TrimSpace(w), 64)
		if err != nil || !(x > 0) || math.IsInf(x, 0) {
			return Scale{}, fmt.Errorf("heatmap: scale %q: %q is not a positive number", text, w)
		}
		v[i] = x
	}
	return Scale{Name: "custom", IOPS: v[0], LatencyMS: v[1], Depth: v[2]}, nil
}
