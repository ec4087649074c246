package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// Features folds the rows of the given inputs (of all, for nil) into windows
// and stores windows and ticks, in place of those that an earlier call made.
// The windows come by host, device and time; ticks is their number. Diagnose
// then hears the evidence of the same inputs.
func (j *Job) Features(ctx context.Context, inputs []string) (windows []features.Window, ticks int64, err error) {
	j.inputs = inputs
	lock, err := lake.NewLock(j.Lake)
	if err != nil {
		return nil, 0, err
	}
	defer lock.Close()
	manifests, err := lake.Manifests(j.Lake)
	if err != nil {
		return nil, 0, err
	}
	hosts, err := j.hosts(manifests, inputs)
	if err != nil {
		return nil, 0, err
	}
	var results []*deviceResult
	writer := newTickWriter(j.Lake)
	var done atomic.Int64
	var closed, profiles sync.Pool
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(j.workers())
	for n, h := range hosts {
		tasks, told, err := h.tasks(j.Config.Features)
		if err != nil {
			g.Go(func() error { return err })
			break
		}
		var left atomic.Int64
		left.Store(int64(len(tasks)))
		for _, t := range tasks {
			if gctx.Err() != nil {
				break
			}
			i, res := len(results), &deviceResult{}
			results = append(results, res)
			// Go waits for a worker: no more hosts are open than workers.
			g.Go(func() error {
				if err := gctx.Err(); err != nil {
					writer.abort() // nobody waits for this one's turn
					return err
				}
				stacked := told[t.key.Device]
				lane := writer.lane(i, t.key)
				if stacked == nil || !stacked.LeftOut {
					if err := t.fold(j.Config.Features, res, lane.add, &closed, &profiles); err != nil {
						writer.abort()
						return fmt.Errorf("features: %s/%s: %w", t.key.Host, t.key.Device, err)
					}
				}
				if stacked != nil {
					res.stand(stacked)
				}
				if left.Add(-1) == 0 {
					j.progress("features", done.Add(1), int64(len(hosts)))
				}
				return lane.close()
			})
		}
		hosts[n] = nil
	}
	if err := g.Wait(); err != nil {
		writer.abort()
		return nil, 0, err
	}
	parts, ticks, err := writer.close()
	if err != nil {
		return nil, 0, err
	}
	equal := equals(results)
	count := 0
	for _, r := range results {
		count += len(r.windows)
	}
	windows = make([]features.Window, 0, count)
	for _, r := range results {
		windows = append(windows, r.windows...)
		r.windows = nil
	}
	wparts, err := j.storeWindows(windows)
	if err != nil {
		return nil, 0, err
	}
	pparts, err := j.storeProfiles(results)
	if err != nil {
		return nil, 0, err
	}
	devices := []reports.DeviceSources{}
	for _, r := range results {
		if r.sources != nil {
			devices = append(devices, *r.sources)
		}
	}
	told, err := json.Marshal(append(devices, equal...)) // [] if there is nothing to tell
	if err != nil {
		return nil, 0, err
	}
	return windows, ticks, j.replaceTablesOf(lock, manifests, slices.Concat(parts, wparts, pparts), told, lake.Windows, lake.Ticks, lake.Profiles)
}

// hostTask is a host and where the rows of its devices are.
type hostTask struct {
	host            string
	events, samples []string // files
	open            map[string][]openIO
	inputs          map[string]*inputFacts // of the lake
	stack           stack
	latencies       latencies
}

// openIO is an I/O that never completed.
type openIO struct {
	startNS int64
	endNS   int64 // end of the input that it stands in
	input   string
}

// hosts lists the hosts that have rows of the inputs, by name.
func (j *Job) hosts(manifests []lake.Manifest, inputs []string) ([]*hostTask, error) {
	set := map[string]bool{}
	for _, in := range inputs {
		set[in] = true
	}
	use := func(input string) bool { return inputs == nil || set[input] }
	facts, err := j.factsOfInputs(manifests)
	if err != nil {
		return nil, err
	}
	hosts := map[string]*hostTask{}
	host := func(name string) *hostTask {
		if hosts[name] == nil {
			hosts[name] = &hostTask{host: name, open: map[string][]openIO{}, inputs: facts, stack: stack{}}
		}
		return hosts[name]
	}
	events, err := j.partsByHost(manifests, lake.Events, use)
	if err != nil {
		return nil, err
	}
	for name, parts := range events {
		host(name).events = parts
	}
	samples, err := j.partsByHost(manifests, lake.Samples, use)
	if err != nil {
		return nil, err
	}
	for name, parts := range samples {
		host(name).samples = parts
	}
	if err := j.evidence(manifests, use, facts, host); err != nil {
		return nil, err
	}
	stacksOf(manifests, hosts)
	var parts []string
	for _, name := range sortedKeys(events) {
		parts = append(parts, events[name]...)
	}
	if err := j.weigh(facts, parts); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(hosts), func(a, b *hostTask) int { return strings.Compare(a.host, b.host) }), nil
}

// tasks lists the host's devices by name, and what is to be told of those that
// stand on others.
func (h *hostTask) tasks(o features.Options) ([]*deviceTask, map[string]*reports.DeviceSources, error) {
	tasks := map[string]*deviceTask{}
	task := func(device string) *deviceTask {
		if tasks[device] == nil {
			tasks[device] = &deviceTask{key: features.Key{Host: h.host, Device: device}, inputs: h.inputs}
		}
		return tasks[device]
	}
	if len(h.events) > 0 {
		index, err := lake.NewIndex(h.events, "latency_ns", "latency_kind")
		if err != nil {
			return nil, nil, err
		}
		for _, d := range index.Devices() {
			task(d).events = index
		}
	}
	if len(h.samples) > 0 {
		index, err := lake.NewIndex(h.samples)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range index.Devices() {
			task(d).samples = index
		}
	}
	for d, o := range h.open {
		task(d).open = o
	}
	for _, d := range sortedKeys(h.latencies.devices) {
		if t := tasks[d]; (t == nil || t.events == nil && t.samples == nil) && (d != allDisks || len(tasks) == 0) {
			task(d).histograms = h.latencies.of(d)
		}
	}
	told, err := h.unstack(tasks, o)
	if err != nil {
		return nil, nil, err
	}
	return slices.SortedFunc(maps.Values(tasks), func(a, b *deviceTask) int { return strings.Compare(a.key.Device, b.key.Device) }), told, nil
}

func (j *Job) partsByHost(manifests []lake.Manifest, table string, use func(string) bool) (map[string][]string, error) {
	hosts := map[string][]string{}
	for _, p := range lake.Parts(manifests, table) {
		name, err := lake.ParsePart(p.Path)
		if err != nil {
			return nil, err
		}
		if use(name.Input) {
			hosts[name.Host] = append(hosts[name.Host], filepath.Join(j.Lake, filepath.FromSlash(p.Path)))
		}
	}
	return hosts, nil
}

// evidence reads what counts for the folds: the I/Os that never completed,
// which keep a device busy to the end of their input, and notices of records
// that were lost.
func (j *Job) evidence(manifests []lake.Manifest, use func(string) bool, inputs map[string]*inputFacts, host func(string) *hostTask) error {
	hosts, err := j.partsByHost(manifests, lake.Evidence, use)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		for _, path := range hosts[name] {
			r, err := lake.Open(path, nil)
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
					switch names.String(f.Name) {
					case "open_io":
						device := names.String(f.Device)
						host(name).open[device] = append(host(name).open[device], openIO{f.TimeNS, in.lastNS, id})
					case latencyBucketFact:
						host(name).latencies.add(names.String(f.Device), id, f.TimeNS, names.String(f.Text), f.Value)
					case "remap":
						host(name).stack.add(names.String(f.Text), names.String(f.Device))
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

// tail is the part of a path from its table on.
func tail(path string) string {
	p := filepath.ToSlash(path)
	for _, table := range []string{lake.Events, lake.Samples, lake.Evidence, lake.Ticks, lake.Windows, lake.Profiles, lake.Labels} {
		if i := strings.LastIndex(p, "/"+table+"/date="); i >= 0 {
			return p[i+1:]
		}
	}
	return p
}
