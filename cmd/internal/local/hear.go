package local

import (
	"errors"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

func (j *Job) partsByHost(manifests []lake.Manifest, table string, use func(string) bool) (map[string][]string, error) {
	hosts := map[string][]string{}
	for _, p := range lake.Parts(manifests, table) {
		name, err := lake.ParsePart(p.Path)
		if err != nil {
			return nil, err
		}
		if use(name.Input) {
			path := j.at(p.Path)
			hosts[name.Host] = append(hosts[name.Host], path)
		}
	}
	return hosts, nil
}

// evidence reads what counts for the folds: the I/Os that never completed,
// which keep a device busy to the end of their input, and notices of records
// that were lost.
func (j *Job) evidence(manifests []lake.Manifest, inPlay map[string]bool, inputs map[string]*inputFacts, byHost map[string][]*hostTask) error {
	hosts, err := j.partsByHost(manifests, lake.Evidence, func(in string) bool { return inPlay[in] })
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		for _, path := range hosts[name] {
			r, err := j.opener().Open(path, nil)
			if err != nil {
				return err
			}
			id := inputOf(path)
			in := inputs[id]
			for {
				cols, _, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				var names ingest.Names
				var facts []ingest.Evidence
				if err == nil {
					facts, err = ingest.EvidenceFromColumns(cols, &names, nil)
				}
				if err != nil {
					r.Close()
					return err
				}
				for i := range facts {
					f := &facts[i]
					for _, h := range byHost[name] {
						if h.feed.inputs[id] {
							h.hear(f, &names, id, in.lastNS)
						}
					}
					switch names.String(f.Name) {
					case "lost_records", "lost_events":
						l := loss{atNS: f.TimeNS, nextNS: math.MaxInt64, n: f.Value}
						if names.String(f.Text) == wholeLoss {
							l.atNS = math.MinInt64
						}
						in.lost = append(in.lost, l)
					}
				}
			}
			if err := r.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// hear takes a fact of an input that ends at lastNS, as far as it is of the day.
func (h *hostTask) hear(f *ingest.Evidence, names *ingest.Names, input string, lastNS int64) {
	from, to := h.feed.fromNS, h.feed.dayNS+dayNS+edgeNS
	device := names.String(f.Device)
	switch names.String(f.Name) {
	case "open_io":
		if f.TimeNS < to && lastNS >= from {
			h.open[device] = append(h.open[device], openIO{max(f.TimeNS, from), min(lastNS, to), input})
		}
	case latencyBucketFact:
		if f.TimeNS >= from-dayNS && f.TimeNS < to+dayNS {
			h.latencies.add(device, input, f.TimeNS, names.String(f.Text), f.Value)
		}
	case "remap":
		if f.TimeNS < to+dayNS {
			h.stack.add(names.String(f.Text), device)
		}
	}
}
