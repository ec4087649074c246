package local

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// TestPostmortemReadsTheSpan holds the page of two minutes of a log of many
// chunks, with one I/O that began long before it ended, against the same page
// of a lake that has lost the pages of every part that the span doesn't touch:
// of those only the footer is read.
func TestPostmortemReadsTheSpan(t *testing.T) {
	const start = int64(1700000000000000000)
	var b strings.Builder
	b.WriteString(csvHeader)
	for i := int64(0); i < 20_000; i++ {
		latency := int64(10e6)
		if i == 19_000 {
			latency = 600e9
		}
		for _, device := range []string{"sda", "sdb"} {
			fmt.Fprintf(&b, "%d,h1,%s,1,app,R,,%d,4096,1000,%d,0\n", start+i*50e6+10e6, device, i*7919%1000003*4096, latency)
		}
	}
	s := newShelf(t)
	s.chunk = 64 << 10
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
	catalogue, err := configs.LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := cluster.Compile(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	d, err := j.Diagnose(windows, nil, rules, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.StoreDiagnosis(d); err != nil {
		t.Fatal(err)
	}
	inc := Incident{FromNS: start + 400e9, ToNS: start + 460e9, Host: "h1", Device: "sdb"}
	page := func() *reports.Postmortem {
		t.Helper()
		pm, err := j.Postmortem(context.Background(), inc, nil, catalogue, rules)
		if err != nil {
			t.Fatal(err)
		}
		return pm
	}
	object := func(pm *reports.Postmortem) []byte {
		t.Helper()
		var b bytes.Buffer
		if err := reports.PostmortemJSON(&b, pm); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	whole := page()
	// 1,200 requests end in each minute; the long one is in flight in all three phases.
	for p, n := range []int64{2400, 1200, 2400} {
		if got := whole.Devices[0].Phases[p].Requests; got != n {
			t.Errorf("%s: %d requests, want %d", features.Phase(p), got, n)
		}
	}
	if n := len(whole.Devices[0].Slowest); n == 0 || whole.Devices[0].Slowest[0].Event.LatencyNS != 600e9 {
		t.Errorf("the slowest of %d requests is not the one of 10 min that was in flight", n)
	}
	if len(whole.Devices[0].Twins) == 0 {
		t.Error("no past window like it")
	}
	manifests, err := lake.Manifests(j.Lake)
	if err != nil {
		t.Fatal(err)
	}
	needed, err := j.partsTouching(manifests, features.Key{Host: "h1", Device: "sdb"}, inc.FromNS-whole.MarginNS, inc.ToNS+whole.MarginNS)
	if err != nil {
		t.Fatal(err)
	}
	parts := lake.Parts(manifests, lake.Events)
	if len(parts) < 12 || len(needed) > len(parts)/2 {
		t.Fatalf("%d of %d parts may hold events of the span", len(needed), len(parts))
	}
	keep := map[string]bool{}
	for _, p := range needed {
		keep[p] = true
	}
	for _, p := range parts {
		path := filepath.Join(j.Lake, filepath.FromSlash(p.Path))
		if keep[path] {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		footer := len(data) - 8 - int(uint32(data[len(data)-8])|uint32(data[len(data)-7])<<8|uint32(data[len(data)-6])<<16)
		for i := 4; i < footer; i++ {
			data[i] = 0xff
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(object(page()), object(whole)) {
		t.Error("the page depends on parts that the span doesn't touch")
	}
}
