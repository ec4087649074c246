package local

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest/lake"
)

// kernelRows are the rows of evidence of a lake, as text.
func (s *shelf) kernelRows() string {
	s.t.Helper()
	manifests, err := lake.Manifests(s.lake)
	if err != nil {
		s.t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range lake.Parts(manifests, lake.Evidence) {
		index, err := lake.NewIndex([]string{filepath.Join(s.lake, filepath.FromSlash(p.Path))})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, d := range index.Devices() {
			if err := eachEvidence(index, d, func(name string, timeNS int64, value float64, text string) {
				fmt.Fprintf(&b, "%s %s %d %g %s\n", d, name, timeNS, value, text)
			}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	return b.String()
}

// TestBootLogGrows: a kernel log whose stamps count from boot, and that has grown on the
// second night, gives the rows of one reading: dated by a start, by its own message of
// the clock, by one that comes only on the second night, or not at all.
func TestBootLogGrows(t *testing.T) {
	failed := func(second, sector int) string {
		return fmt.Sprintf("[%5d.000100] critical medium error, dev sdb, sector %d op 0x0:(READ) flags 0x800 phys_seg 1 prio class 2\n", second, sector)
	}
	const message = "[    1.000000] rtc_cmos 00:00: setting system clock to 2023-11-14T22:13:21 UTC (1700000001)\n"
	for _, c := range []struct {
		name          string
		start         int64
		first, second string
	}{
		{"nothing", 0, failed(10, 8) + failed(20, 16), failed(30, 24)},
		{"start", 1_600_000_000e9, failed(10, 8) + failed(20, 16), failed(30, 24)},
		{"message", 0, message + failed(10, 8), failed(30, 24)},
		{"message and start", 1_600_000_000e9, message + failed(10, 8), failed(30, 24)},
		{"late message", 0, failed(10, 8), strings.Replace(message, "   1.", "  15.", 1) + failed(30, 24)},
		{"late message and start", 1_600_000_000e9, failed(10, 8), strings.Replace(message, "   1.", "  15.", 1) + failed(30, 24)},
	} {
		read := func(s *shelf) {
			j := s.job()
			j.Config.Ingest.Host, j.Config.Ingest.StartNS = "h", c.start
			if _, err := j.Ingest(context.Background(), []string{s.logs}, nil); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
		whole := newShelf(t)
		whole.put("dmesg.log", c.first+c.second)
		read(whole)
		nights := newShelf(t)
		nights.put("dmesg.log", c.first)
		read(nights)
		nights.put("dmesg.log", c.first+c.second)
		read(nights)
		read(nights) // and nothing new
		got, want := nights.kernelRows(), whole.kernelRows()
		if got != want || !strings.Contains(want, "kernel_medium_error") {
			t.Errorf("%s: two nights give\n%swant\n%s", c.name, got, want)
		}
	}
}
