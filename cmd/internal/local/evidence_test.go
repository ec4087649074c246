package local

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

// heard folds all logs of a shelf and gives each device's answers in its
// windows of 10 s as text, - where nothing is known.
func (s *shelf) heard(asked []features.Query) map[string]string {
	s.t.Helper()
	j := s.job()
	if _, err := j.Ingest(context.Background(), []string{s.logs}, nil); err != nil {
		s.t.Fatal(err)
	}
	windows, _, err := j.Features(context.Background(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	manifests, err := lake.Manifests(j.Lake)
	if err != nil {
		s.t.Fatal(err)
	}
	hosts, err := j.partsByHost(manifests, lake.Evidence, func(string) bool { return true })
	if err != nil {
		s.t.Fatal(err)
	}
	if err := placeEvidence(nil, windows, hosts, asked, only(windows)); err != nil {
		s.t.Fatal(err)
	}
	all := map[string]string{}
	for i := range windows.Len() {
		w := windows.At(i)
		for q := range asked {
			word := "-"
			if r, ok := w.Reading(q); ok {
				word = fmt.Sprintf("%g", r.Value)
			}
			all[w.Host+"/"+w.Device] += word + " "
		}
	}
	return all
}

// Rows of a host speak of all its devices, those of a controller of its
// namespaces, the closest first; those of another host of none; the files may
// come in any order and be cut into any chunks.
func TestEvidenceReachesTheWindows(t *testing.T) {
	counters := func(host string, rows ...string) string {
		return "time,host,device,name,value\n" + strings.ReplaceAll(strings.Join(rows, "\n"), "H", host) + "\n"
	}
	asked := []features.Query{
		{Kind: features.EvidenceRate, Name: "pgmajfault"},
		{Kind: features.EvidenceLatest, Name: "media_errors"},
		{Kind: features.EvidenceSeen, Name: "reset"},
		{Kind: features.EvidenceLevel, Name: "nobody_tells"},
	}
	// 1700000000 is the start of a window; 100 faults a second.
	faults := []string{"1699999990,H,,pgmajfault,5000", "1700000000,H,,pgmajfault,6000", "1700000010,H,,pgmajfault,7000"}
	own := []string{"1690000000,H,nvme0,media_errors,3", "1690000000,H,sda,media_errors,1", "1690000001,H,sda,media_errors,2", "1700000003,H,sda,reset,1"}
	var first string
	for _, chunk := range []int64{64 << 20, 64 << 10} {
		s := newShelf(t)
		s.chunk = chunk
		s.put("a.csv", csvHeader+csvRows("sda", 1, 9001))
		s.put("b.csv", csvHeader+csvRows("nvme0n1", 1, 9001))
		s.put("c.csv", csvHeader+strings.ReplaceAll(csvRows("sda", 1, 9001), ",h1,", ",h2,"))
		s.put("vm1.csv", counters("h1", faults[:2]...))
		s.put("vm2.csv", counters("h1", faults[2:]...))
		s.put("vm3.csv", counters("h3", strings.ReplaceAll(faults[0], "5000", "1"), faults[2]))
		s.put("own.csv", counters("h1", own...))
		got := s.heard(asked)
		want := map[string]string{"h1/sda": "100 2 1 - ", "h1/nvme0n1": "100 3 - - ", "h2/sda": "- - - - "}
		for d, w := range want {
			if got[d] != w {
				t.Errorf("chunks of %d: %s is told %q, want %q", chunk, d, got[d], w)
			}
		}
		if text := fmt.Sprint(got); first == "" {
			first = text
		} else if text != first {
			t.Errorf("chunks of %d: %s, want %s", chunk, text, first)
		}
	}
}

// Rows whose source names no host speak of the only host that there is.
func TestEvidenceOfAnUnnamedHost(t *testing.T) {
	asked := []features.Query{{Kind: features.EvidenceLevel, Name: "temperature"}}
	rows := "time,device,name,value\n1700000002,sda,temperature,60\n1700000004,sda,temperature,62\n"
	s := newShelf(t)
	s.put("a.csv", csvHeader+csvRows("sda", 1, 9001))
	s.put("temperature.csv", rows)
	if got := s.heard(asked); got["h1/sda"] != "61 " {
		t.Errorf("one host: got %q", got)
	}
	s.put("b.csv", csvHeader+strings.ReplaceAll(csvRows("sda", 1, 9001), ",h1,", ",h2,"))
	if got := s.heard(asked); got["h1/sda"] != "- " || got["h2/sda"] != "- " {
		t.Errorf("two hosts: got %q", got)
	}
}
