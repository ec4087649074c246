package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
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
	var closed sync.Pool
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(j.workers())
	for n, h := range hosts {
		tasks, err := h.tasks()
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
				lane := writer.lane(i, t.key)
				if err := t.fold(j.Config.Features, res, lane.add, &closed); err != nil {
					writer.abort()
					return fmt.Errorf("features: %s/%s: %w", t.key.Host, t.key.Device, err)
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
	return windows, ticks, j.replaceTables(lock, manifests, append(parts, wparts...), lake.Windows, lake.Ticks)
}

// hostTask is a host and where the rows of its devices are.
type hostTask struct {
	host            string
	events, samples []string // files
	open            map[string]openIO
}

// openIO is the I/Os of a device that never completed.
type openIO struct {
	starts []int64
	endNS  int64 // end of the inputs that they stand in
}

// hosts lists the hosts that have rows of the inputs, by name.
func (j *Job) hosts(manifests []lake.Manifest, inputs []string) ([]*hostTask, error) {
	set := map[string]bool{}
	for _, in := range inputs {
		set[in] = true
	}
	use := func(input string) bool { return inputs == nil || set[input] }
	hosts := map[string]*hostTask{}
	host := func(name string) *hostTask {
		if hosts[name] == nil {
			hosts[name] = &hostTask{host: name, open: map[string]openIO{}}
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
	if err := j.openIO(manifests, use, host); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(hosts), func(a, b *hostTask) int { return strings.Compare(a.host, b.host) }), nil
}

// tasks lists the host's devices by name.
func (h *hostTask) tasks() ([]*deviceTask, error) {
	tasks := map[string]*deviceTask{}
	task := func(device string) *deviceTask {
		if tasks[device] == nil {
			tasks[device] = &deviceTask{key: features.Key{Host: h.host, Device: device}}
		}
		return tasks[device]
	}
	if len(h.events) > 0 {
		index, err := lake.NewIndex(h.events, "latency_ns", "latency_kind")
		if err != nil {
			return nil, err
		}
		for _, d := range index.Devices() {
			task(d).events = index
		}
	}
	if len(h.samples) > 0 {
		index, err := lake.NewIndex(h.samples)
		if err != nil {
			return nil, err
		}
		for _, d := range index.Devices() {
			task(d).samples = index
		}
	}
	for d, o := range h.open {
		t := task(d)
		t.open, t.endNS = o.starts, o.endNS
	}
	return slices.SortedFunc(maps.Values(tasks), func(a, b *deviceTask) int { return strings.Compare(a.key.Device, b.key.Device) }), nil
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

// openIO gives the devices the I/Os that never completed: they keep a device
// busy to the end of their input.
func (j *Job) openIO(manifests []lake.Manifest, use func(string) bool, host func(string) *hostTask) error {
	ends := map[string]int64{}
	for _, m := range manifests {
		for _, in := range m.Inputs {
			ends[in.ID] = max(ends[in.ID], in.LastNS)
		}
	}
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
			end := ends[inputOf(path)]
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
				for _, f := range facts {
					if names.String(f.Name) != "open_io" {
						continue
					}
					device := names.String(f.Device)
					o := host(name).open[device]
					o.starts, o.endNS = append(o.starts, f.TimeNS), max(o.endNS, end)
					host(name).open[device] = o
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
	for _, table := range []string{lake.Events, lake.Samples, lake.Evidence, lake.Ticks, lake.Windows, lake.Labels} {
		if i := strings.LastIndex(p, "/"+table+"/date="); i >= 0 {
			return p[i+1:]
		}
	}
	return p
}
