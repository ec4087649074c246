package local

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// TestTwelve makes the 12 features of a lake's events and nothing else: neither
// ticks' files nor profiles, evidence or what the verb keeps beside. It is what the
// program ratios (in ingest/lake/duckcheck) sets against SQL of the same
// extent, and is told by the environment what to read and where to write.
func TestTwelve(t *testing.T) {
	root, out := os.Getenv("IOPATHY_TWELVE_LAKE"), os.Getenv("IOPATHY_TWELVE_OUT")
	if root == "" {
		t.Skip("a measurement of ratios: IOPATHY_TWELVE_LAKE names no lake")
	}
	o := features.DefaultOptions()
	for name, ns := range map[string]*int64{"IOPATHY_TWELVE_WINDOW": &o.WindowNS, "IOPATHY_TWELVE_TICK": &o.TickNS} {
		d, err := time.ParseDuration(os.Getenv(name))
		if err != nil {
			t.Fatal(err)
		}
		*ns = d.Nanoseconds()
	}
	hosts, err := filepath.Glob(filepath.Join(root, "events", "*", "*"))
	if err != nil || len(hosts) == 0 {
		t.Fatal("no events", err)
	}
	byHost := map[string][]string{}
	for _, dir := range hosts {
		parts, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		byHost[filepath.Base(dir)] = append(byHost[filepath.Base(dir)], parts...)
	}
	var text []byte
	var old *features.Fold
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		index, err := lake.NewIndex(byHost[host], "time_ns", "latency_ns")
		if err != nil {
			t.Fatal(err)
		}
		for _, device := range index.Devices() {
			key := features.Key{Host: host, Device: device}
			var names ingest.Names
			var spare [][]ingest.Event
			var streams []source
			ahead := int64(0)
			for _, s := range index.Streams(device, []string{"time_ns", "op", "flags", "offset_bytes", "size_bytes", "latency_ns", "latency_kind"}) {
				s.Pick(func(g lake.Group) bool {
					if longest, ok := g.Max["latency_ns"].(int64); ok {
						ahead = max(ahead, longest)
					} else {
						ahead = max(ahead, ingest.MaxLatencyNS) // devices share the row group
					}
					return true
				})
				streams = append(streams, &eventStream{Stream: s, names: &names, spare: &spare})
			}
			all := slices.Clone(streams)
			fold := features.NewFold(key, o, ahead, nil, func(w *features.Window) {
				text = append(append(append(text, host...), ' '), device...)
				text = strconv.AppendInt(append(text, ' '), w.StartNS, 10)
				for _, v := range w.Vector {
					text = strconv.AppendFloat(append(text, ' '), v, 'g', -1, 64)
				}
				text = append(text, '\n')
			})
			if old != nil {
				fold.Take(old)
			}
			if err := merge(streams, func(e *ingest.Event) error { fold.Add(e); return nil }); err != nil {
				t.Fatal(err)
			}
			fold.Close(0)
			old = fold
			if err := closeStreams(all); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(out, text, 0o666); err != nil {
		t.Fatal(err)
	}
}
