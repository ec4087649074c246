package local

import (
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

func TestShortHosts(t *testing.T) {
	var b ingest.Batch
	hosts := []string{"db07", strings.Repeat("x", 300), strings.Repeat("x", 300) + "y", strings.Repeat("ü", 60), strings.Repeat("/", 80)}
	for _, h := range hosts {
		b.Events = append(b.Events, ingest.Event{Host: b.Names.InternString(h)})
	}
	shortHosts(&b)
	seen := map[string]bool{}
	for i, e := range b.Events {
		got := b.Names.String(e.Host)
		if seen[got] {
			t.Errorf("two hosts became %q", got)
		}
		seen[got] = true
		if n := len(lake.Partition("host", got)); n > 255 {
			t.Errorf("host %d has a folder of %d bytes", i, n)
		}
		if i == 0 && got != hosts[0] {
			t.Errorf("%q became %q", hosts[0], got)
		}
	}
}
