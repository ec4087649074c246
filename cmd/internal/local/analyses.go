package local

import (
	"cmp"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
)

// analysedDevices bounds the devices of a report that are analysed: the worst.
const analysedDevices = 60

// Analyses answers the single questions of package cluster/analysis for the
// worst of the sick devices, by host and device.
func (j *Job) Analyses(d *Diagnosed) ([]analysis.Finding, error) {
	return j.analyse(worstDevices(d))
}

// AnalysesOf answers them for one device.
func (j *Job) AnalysesOf(k features.Key) ([]analysis.Finding, error) {
	return j.analyse([]features.Key{k})
}

// worstDevices lists the sick devices that are analysed, by their worst
// episode or window.
func worstDevices(d *Diagnosed) []features.Key {
	worst := map[features.Key]float64{}
	for i := range d.Result.Diagnoses {
		if x := &d.Result.Diagnoses[i]; x.Verdict == cluster.Sick {
			worst[x.Key] = max(worst[x.Key], x.Severity)
		}
	}
	for i := range d.Result.Episodes {
		e := &d.Result.Episodes[i]
		worst[e.Key] = max(worst[e.Key], 10+e.Severity) // an episode before windows alone
	}
	keys := make([]features.Key, 0, len(worst))
	for k := range worst {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b features.Key) int { return cmp.Or(cmp.Compare(worst[b], worst[a]), byKey(a, b)) })
	return keys[:min(len(keys), analysedDevices)]
}

func byKey(a, b features.Key) int {
	return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Device, b.Device))
}

func (j *Job) analyse(keys []features.Key) ([]analysis.Finding, error) {
	profiles, err := j.profiles(func(k features.Key) bool { return slices.Contains(keys, k) })
	if err != nil {
		return nil, err
	}
	keys = slices.Clone(keys)
	slices.SortFunc(keys, byKey)
	var all []analysis.Finding
	for _, k := range keys {
		p := profiles[k]
		if p == nil {
			continue // of an earlier version's lake
		}
		full := analysis.Saturation(k, p)
		all = append(all, full, analysis.Conflict(p, &full))
	}
	return all, nil
}
