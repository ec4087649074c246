package local

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

func TestFind(t *testing.T) {
	var b strings.Builder
	b.WriteString(csvHeader)
	for i := int64(0); i < 300; i++ {
		for _, device := range []string{"a", "b/c"} {
			fmt.Fprintf(&b, "%d,h[1],%s,1,app,R,,%d,4096,1000,1000000,0\n", 1700000000e9+i*1e8+50e6, device, i*4096)
		}
	}
	s := newShelf(t)
	s.put("a.csv", b.String())
	j := s.job()
	in, err := j.Ingest(context.Background(), []string{filepath.Join(s.logs, "a.csv")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	windows, _, err := j.Features(context.Background(), in.IDs)
	if err != nil {
		t.Fatal(err)
	}
	first, last := windows.At(0).StartNS, windows.At(windows.Len()-1).EndNS
	check := func(device, moment string, want int64, words string) {
		t.Helper()
		got, err := j.Find(device, moment, Times{})
		if words != "" {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s %s: %v, want %q", device, moment, err, words)
			}
		} else if err != nil || got.NS != want || got.Key != (features.Key{Host: "h[1]", Device: strings.TrimPrefix(device, "h[1]/")}) {
			t.Errorf("%s %s is %+v (%v), want %d", device, moment, got, err, want)
		}
	}
	check("h[1]/a", "+0", first, "")
	check("h[1]/b/c", "+9.9s", first+99e8, "")
	check("h[1]/a", "end-1s", last-1e9, "")
	check("h[1]/a", "end", 0, "its windows go from 2023-11-14 22:13:20")
	check("h[1]/z", "+0", 0, "no windows of h[1]/z; it has h[1]/a, h[1]/b/c")
	check("h1/a", "+0", 0, "no windows of h1/a")
	check("h[1]/a", "noon", 0, "none of")
	manifests, err := lake.Manifests(j.Lake)
	if err != nil {
		t.Fatal(err)
	}
	if own, err := j.windowsOf(manifests, first, last, literal("h[1]")); err != nil || own.Len() != windows.Len() {
		t.Errorf("%d windows of the host by its name (%v), want %d", own.Len(), err, windows.Len())
	}
}
