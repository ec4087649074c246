package local

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

func base(path string) string { return filepath.Base(path) }

// mostUses bounds the stretches of a recording that are listed.
const mostUses = 16

// mostNames bounds the inputs of a recording that are named.
const mostNames = 4

// names are the inputs of a recording as the report calls them.
func (t *deviceTask) names(ids []string) []string {
	var out []string
	for _, id := range ids {
		out = append(out, t.facts(id).name)
	}
	slices.Sort(out)
	if n := len(out); n > mostNames {
		out = append(out[:mostNames], fmt.Sprintf("and %d more", n-mostNames))
	}
	return out
}

// sources says which recordings there were of a device, which of them stood
// for it, and what the others hold of the same time.
func (t *deviceTask) sources(o features.Options, recs []recording, plain []features.Recording, plan *features.Plan, groups []sampleGroup, picked [][]ingest.Sample) *reports.DeviceSources {
	out := &reports.DeviceSources{Host: t.key.Host, Device: t.key.Device, Coverage: 1}
	times := plan.Times(len(recs))
	for i := range recs {
		r := &recs[i]
		s := reports.Recording{
			Inputs: t.names(r.inputs), Format: r.format, Rank: r.Rank.String(), Kind: r.Kind.String(),
			UsedNS: times[i], Counters: r.counters,
		}
		s.FromNS, s.ToNS = r.Spans[0].FromNS, r.Spans[0].ToNS
		for _, span := range r.Spans {
			s.FromNS, s.ToNS = min(s.FromNS, span.FromNS), max(s.ToNS, span.ToNS)
		}
		s.Requests, s.Bytes = r.Count.Between(s.FromNS-o.WindowNS, s.ToNS+o.WindowNS)
		for _, x := range plan.Stretches {
			if x.Recording == i {
				s.Stretches++
				if len(s.Used) < mostUses {
					s.Used = append(s.Used, [2]int64{x.FromNS, x.ToNS})
				}
			}
		}
		s.Check = reports.Check(plan.CrossCheck(plain, i, o))
		out.Recordings = append(out.Recordings, s)
	}
	for i := range groups {
		g := &groups[i]
		all := g.all()
		s := reports.Recording{
			Inputs: t.names(g.ids), Format: g.format, Rank: features.RankSamples.String(), Kind: ingest.KindSample.String(),
		}
		for k := range all {
			x := &all[k]
			if k == 0 {
				s.FromNS = x.TimeNS - x.IntervalNS
			}
			s.ToNS = max(s.ToNS, x.TimeNS)
		}
		s.Requests, s.Bytes = features.Counted(all)
		for _, x := range picked[i] {
			s.UsedNS += x.IntervalNS
			if n := len(s.Used); n > 0 && x.TimeNS-x.IntervalNS <= s.Used[n-1][1]+x.IntervalNS/4 {
				s.Used[n-1][1] = x.TimeNS
			} else if s.Stretches++; n < mostUses {
				s.Used = append(s.Used, [2]int64{x.TimeNS - x.IntervalNS, x.TimeNS})
			}
		}
		s.Check = reports.Check(plan.CrossCheckSamples(plain, all))
		out.Recordings = append(out.Recordings, s)
	}
	out.Coverage = plan.Coverage()
	if len(out.Recordings) == 1 && out.Coverage == 1 {
		return nil
	}
	return out
}

// deviceSources reads what Features told of the devices with several
// recordings, of the cells that the job speaks of.
func (j *Job) deviceSources() ([]reports.DeviceSources, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	var out []reports.DeviceSources
	for _, c := range lake.Cells(manifests) {
		if len(c.Devices) == 0 || j.cells != nil && !j.cells[cell{c.Host, c.Date}] {
			continue
		}
		var some []reports.DeviceSources
		if err := json.Unmarshal(c.Devices, &some); err != nil {
			return nil, fmt.Errorf("manifest: devices of %s on %s: %w", c.Host, c.Date, err)
		}
		out = append(out, some...)
	}
	return out, nil
}
