package local

import (
	"slices"

	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// callers are what applications tell of on a host whose disks were recorded in the
// same time, with the kind of their latencies.
func (d *Diagnosed) callers(host string) map[features.Key]ingest.LatencyKind {
	var above map[features.Key]bool
	if d.digest != nil {
		above = d.digest.ApplicationsAbove()
	} else {
		above = reports.ApplicationsAbove(d.Windows)
	}
	all := map[features.Key]ingest.LatencyKind{}
	for i := 0; i < d.Windows.Len() && len(above) > 0; i++ {
		if k := d.key(i); k.Host == host && above[k] && all[k] == ingest.KindNone {
			all[k] = d.kind(i)
		}
	}
	return all
}

// withCalls adds the files that applications read and wrote most on the host in the time
// of the episodes of a device, where its own requests name none: the block layer knows
// no files, and calls tell no disk.
func (j *Job) withCalls(manifests []lake.Manifest, d *Diagnosed, of []reports.EpisodeCulprits) error {
	if len(of) == 0 {
		return nil
	}
	callers := d.callers(of[0].Host)
	keys := make([]features.Key, 0, len(callers))
	for k := range callers {
		if k != of[0].Key {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, byKey)
	file := features.ByFile.String()
	for i := range of {
		x := &of[i]
		if len(keys) == 0 || slices.ContainsFunc(x.List, func(c analysis.Culprit) bool { return c.By == file }) {
			continue
		}
		var names ingest.Names
		fold := features.NewIncident(x.FromNS, x.ToNS, marginOf(x.FromNS, x.ToNS), callers[keys[0]], &names)
		for _, k := range keys {
			if err := j.foldIncident(manifests, k, callers[k], fold, &names, &reports.IncidentDevice{}); err != nil {
				return err
			}
		}
		x.List = append(x.List, analysis.Culprits(file, analysis.Calls, fold.Actors(features.ByFile))...)
	}
	return nil
}
