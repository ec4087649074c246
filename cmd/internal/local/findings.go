package local

import (
	"cmp"
	"maps"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

// burstNS is how far apart two rows of evidence of one incident may be.
const burstNS = int64(600e9)

// mostBursts bounds the incidents of a device.
const mostBursts = 256

// untimed is the time of rows that have none, among themselves.
const untimed = int64(1)

// findings holds what the evidence alone tells of devices that have no
// windows: those whose I/O nobody recorded.
func (j *Job) findings(windows []features.Window, hosts map[string][]string, rules *cluster.Rules) ([]cluster.Finding, error) {
	seen := map[string]map[string]bool{} // names under which devices with windows are spoken of, by host
	for i := range windows {
		w := &windows[i]
		if seen[w.Host] == nil {
			seen[w.Host] = map[string]bool{}
		}
		if !seen[w.Host][w.Device] {
			for _, name := range features.EvidenceOf(w.Device) {
				seen[w.Host][name] = true
			}
		}
	}
	placed := map[string]bool{}
	if len(windows) > 0 && only(windows) {
		for _, part := range unplaced(windows[0].Host, hosts) {
			placed[part] = true
		}
	}
	var alone []features.Window
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		if placed[hosts[host][0]] {
			continue
		}
		index, err := lake.NewIndex(hosts[host])
		if err != nil {
			return nil, err
		}
		for _, device := range index.Devices() {
			if seen[host][device] {
				continue
			}
			w, err := incidents(index, features.Key{Host: host, Device: device}, rules)
			if err != nil {
				return nil, err
			}
			alone = append(alone, w...)
		}
	}
	found := rules.Findings(alone)
	for i := range found {
		if f := &found[i]; f.FromNS == untimed {
			f.FromNS, f.ToNS = 0, 0
			for k := range f.Readings {
				f.Readings[k].TimeNS = 0
			}
		}
	}
	return found, nil
}

// incidents makes a window of each burst of a device's rows that can be the
// ground of a finding, with what the evidence answers.
func incidents(index *lake.Index, key features.Key, rules *cluster.Rules) ([]features.Window, error) {
	asks := features.NewEvidenceFold(rules.AskedAlone(), nil)
	var spans []features.Span
	timed := func(ns int64) int64 { return max(ns, untimed) }
	err := eachEvidence(index, key.Device, func(name string, ns int64, _ float64, _ string) {
		if !asks.Asks(name) {
			return
		}
		ns = timed(ns)
		if n := len(spans); n > 0 && (ns-spans[n-1].EndNS <= burstNS || n == mostBursts) && (spans[n-1].StartNS == untimed) == (ns == untimed) {
			spans[n-1].EndNS = max(spans[n-1].EndNS, ns+1)
			return
		}
		spans = append(spans, features.Span{StartNS: ns, EndNS: ns + 1})
	})
	if err != nil || len(spans) == 0 {
		return nil, err
	}
	fold := features.NewEvidenceFold(rules.Asked(), spans)
	err = eachEvidence(index, key.Device, func(name string, ns int64, value float64, text string) {
		fold.Add(name, timed(ns), value, text)
	})
	if err != nil {
		return nil, err
	}
	windows := make([]features.Window, len(spans))
	for i, answers := range fold.Close() {
		windows[i] = features.Window{Key: key, StartNS: spans[i].StartNS, EndNS: spans[i].EndNS, Idle: true, Evidence: answers}
	}
	slices.SortStableFunc(windows, func(a, b features.Window) int { return cmp.Compare(a.StartNS, b.StartNS) })
	return windows, nil
}
