package reports

import (
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// TestApplicationsAbove: what an application did to a disk that was recorded in the same time
// is not added to what the disk did.
func TestApplicationsAbove(t *testing.T) {
	window := func(host, device string, kind ingest.LatencyKind, from int64) features.Window {
		return features.Window{Key: features.Key{Host: host, Device: device}, Kind: kind, StartNS: from * 1e9, EndNS: (from + 10) * 1e9}
	}
	windows := []features.Window{
		window("h", "sda", ingest.KindQ2C, 100), window("h", "fio:a", ingest.KindApp, 100),
		window("h", "strace", ingest.KindSyscall, 105), window("h", "fio:late", ingest.KindApp, 900),
		window("other", "fio:a", ingest.KindApp, 100),
		window("mixed", "sda", ingest.KindSyscall, 100), window("mixed", "sda", ingest.KindD2C, 110), // calls on the disk itself
	}
	got := applicationsAbove(windows)
	for _, w := range windows {
		want := w.Host == "h" && (w.Device == "fio:a" || w.Device == "strace")
		if got[w.Key] != want {
			t.Errorf("%s/%s: above is %v, want %v", w.Host, w.Device, got[w.Key], want)
		}
	}
	in := &Input{Windows: windows, Result: cluster.Result{Diagnoses: make([]cluster.Diagnosis, len(windows))}}
	for i := range windows {
		in.Result.Episodes = append(in.Result.Episodes, cluster.Episode{Key: windows[i].Key, DelayedBytes: 1, SickSeconds: 10})
	}
	if f := gather(in); f.delayedBytes != 5 || f.sickSeconds != 50 {
		t.Errorf("%g bytes and %g s, want those of five of the seven episodes", f.delayedBytes, f.sickSeconds)
	}
}
