package heatmap

import "testing"

func TestParseScale(t *testing.T) {
	good := func(text string, want Scale) {
		t.Helper()
		if got, err := ParseScale(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
	}
	good("mission", Mission())
	good("group", Scale{})
	good("5000, 20,64", Scale{Name: "custom", IOPS: 5000, LatencyMS: 20, Depth: 64})
	for _, text := range []string{"1,2", "1,2,x", "1,2,0", "1,2,-3", "1,2,Inf", "1,2,NaN", "blue"} {
		if got, err := ParseScale(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
