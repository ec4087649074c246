package reports

import (
	"strings"
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
	got := ApplicationsAbove(features.List(windows))
	for _, w := range windows {
		want := w.Host == "h" && (w.Device == "fio:a" || w.Device == "strace")
		if got[w.Key] != want {
			t.Errorf("%s/%s: above is %v, want %v", w.Host, w.Device, got[w.Key], want)
		}
	}
	in := &Input{Windows: features.List(windows), Result: cluster.Result{Diagnoses: features.List(make([]cluster.Diagnosis, len(windows)))}}
	for i := range windows {
		in.Result.Episodes = append(in.Result.Episodes, cluster.Episode{Key: windows[i].Key, DelayedBytes: 1, SickSeconds: 10})
	}
	for i := range windows {
		d := in.Result.Diagnoses.At(i)
		d.Key, d.StartNS, d.Verdict = windows[i].Key, windows[i].StartNS, cluster.Sick
	}
	f := gathered(t, in)
	if f.disks() != 4 || f.windows() != 5 || f.sickDevices != 4 || f.verdicts[cluster.Sick] != 5 {
		t.Errorf("%d devices, %d sick, %d windows, %d sick: want 4, 4, 5, 5", f.disks(), f.sickDevices, f.windows(), f.verdicts[cluster.Sick])
	}
	if want := (applications{Devices: 2, SickDevices: 2, Windows: 2, Sick: 2}); f.apps != want {
		t.Errorf("applications are %+v, want %+v", f.apps, want)
	}
	if head := f.headline(); !strings.Contains(head, "4 of 4 devices") || !strings.Contains(head, "2 of 2 devices") && !strings.Contains(head, "2 devices") {
		t.Errorf("headline %q", head)
	}
	if f.delayedBytes != 5 || f.sickSeconds != 50 {
		t.Errorf("%g bytes and %g s, want those of five of the seven episodes", f.delayedBytes, f.sickSeconds)
	}
}
