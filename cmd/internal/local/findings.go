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

// nearNS is how long before and behind a device's windows what other logs tell of
// it still belongs to them.
const nearNS = int64(900e9)

// findings holds what the evidence alone tells of devices: of those whose I/O
// nobody recorded, and of recorded ones, whose I/O may show nothing of it, at
// about the time of their windows.
func (j *Job) findings(windows *Windows, hosts map[string][]string, rules *cluster.Rules) ([]cluster.Finding, error) {
	recorded := map[features.Key]features.Span{} // by the names under which devices with windows are spoken of
	for i := 0; i < windows.Len(); {
		w := windows.At(i)
		key, span := w.Key, features.Span{StartNS: w.StartNS}
		for ; i < windows.Len(); i++ {
			if w = windows.At(i); w.Key != key {
				break
			}
			span.EndNS = w.EndNS
		}
		for _, name := range features.EvidenceOf(key.Device) {
			k := features.Key{Host: key.Host, Device: name}
			s, ok := recorded[k]
			if !ok {
				s = span
			}
			recorded[k] = features.Span{StartNS: min(s.StartNS, span.StartNS), EndNS: max(s.EndNS, span.EndNS)}
		}
	}
	parts := maps.Clone(hosts) // those that speak of the one recorded host are its
	if windows.Len() > 0 && only(windows) {
		of := windows.At(0).Host
		theirs := unplaced(of, hosts)
		maps.DeleteFunc(parts, func(host string, list []string) bool { return host != of && slices.Contains(theirs, list[0]) })
		if all := slices.Concat(hosts[of], theirs); len(all) > 0 {
			slices.Sort(all)
			parts[of] = all
		}
	}
	var alone []features.Window
	for _, host := range slices.Sorted(maps.Keys(parts)) {
		index, err := j.opener().Index(parts[host])
		if err != nil {
			return nil, err
		}
		for _, device := range index.Devices() {
			key := features.Key{Host: host, Device: device}
			span, seen := recorded[key]
			w, err := incidents(index, device, key, rules)
			if err != nil {
				return nil, err
			}
			if seen {
				w = slices.DeleteFunc(w, func(w features.Window) bool {
					return w.StartNS != untimed && (w.EndNS < span.StartNS-nearNS || w.StartNS > span.EndNS+nearNS)
				})
			}
			alone = append(alone, w...)
		}
	}
	found := rules.Findings(alone)
	for i := range found {
		f := &found[i]
		_, f.Recorded = recorded[f.Key]
		if f.FromNS == untimed {
			f.FromNS, f.ToNS = 0, 0
			for k := range f.Readings {
				f.Readings[k].TimeNS = 0
			}
		}
	}
	return found, nil
}

// untold leaves the findings that no episode of their device rests on already.
func untold(found []cluster.Finding, episodes []cluster.Episode) []cluster.Finding {
	return slices.DeleteFunc(slices.Clone(found), func(f cluster.Finding) bool {
		return f.Recorded && slices.ContainsFunc(episodes, func(e cluster.Episode) bool {
			if e.Host != f.Host || !slices.Contains(features.EvidenceOf(e.Device), f.Device) {
				return false
			}
			if f.FromNS != 0 && (f.ToNS < e.FromNS-nearNS || f.FromNS > e.ToNS+nearNS) {
				return false
			}
			return slices.ContainsFunc(e.Readings, func(r cluster.Reading) bool {
				return slices.ContainsFunc(f.Readings, func(x cluster.Reading) bool { return x.Query == r.Query })
			})
		})
	})
}

// incidents makes a window of each burst of a device's rows that can be the
// ground of a finding, with what the evidence answers.
func incidents(index *lake.Index, device string, key features.Key, rules *cluster.Rules) ([]features.Window, error) {
	asks := features.NewEvidenceFold(rules.AskedAlone(), nil)
	var spans []features.Span
	timed := func(ns int64) int64 { return max(ns, untimed) }
	err := eachEvidence(index, device, func(name string, ns int64, _ float64, _ string) {
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
	err = eachEvidence(index, device, func(name string, ns int64, value float64, text string) {
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
