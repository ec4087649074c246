package local

import (
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
	"github.com/iopathy/iopathy/reports"
)

// incidentTwins is how many past windows a postmortem looks at: fewer than one
// window's page does, since it is asked for in a hurry.
const incidentTwins = 30_000

// findTwins gives each device of an incident the past windows most like its
// worst one. The days before are read once for all of them.
func (j *Job) findTwins(pm *reports.Postmortem, inv reduce.Inventory, rules *cluster.Rules) error {
	last := int64(0)
	for i := range pm.Devices {
		w := &pm.Windows[pm.Devices[i].Worst]
		if i == 0 || w.StartNS > last {
			last = w.StartNS
		}
	}
	windows, err := j.past(last, incidentTwins)
	if err != nil || len(windows) == 0 {
		return err
	}
	for i := range pm.Devices { // one that began long before the last may be beyond what was read
		w := &pm.Windows[pm.Devices[i].Worst]
		if !slices.ContainsFunc(windows, sameWindow(w)) {
			windows = append(windows, *w)
		}
	}
	d, err := j.Relabel(windows, inv, rules)
	if err != nil {
		return err
	}
	for i := range pm.Devices {
		one := &pm.Devices[i]
		at := slices.IndexFunc(d.Windows, sameWindow(&pm.Windows[one.Worst]))
		for _, t := range d.twins(at) {
			one.Twins = append(one.Twins, reports.TwinRow{Diagnosis: t.Diagnosis, Distance: t.Distance})
		}
	}
	return nil
}

// sameWindow says whether a window is that one.
func sameWindow(a *features.Window) func(features.Window) bool {
	return func(b features.Window) bool {
		return a.Key == b.Key && a.StartNS == b.StartNS && a.EndNS == b.EndNS && a.TickNS == b.TickNS
	}
}
