package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// Features folds the rows of the given inputs (of all, for nil) into windows
// and stores windows and ticks, in place of those that an earlier call made.
// The windows come by host, device and time; ticks is their number.
func (j *Job) Features(ctx context.Context, inputs []string) (windows []features.Window, ticks int64, err error) {
	lock, err := lake.NewLock(j.Lake)
	if err != nil {
		return nil, 0, err
	}
	defer lock.Close()
	manifests, err := lake.Manifests(j.Lake)
	if err != nil {
		return nil, 0, err
	}
	tasks, err := j.tasks(manifests, inputs)
	if err != nil {
		return nil, 0, err
	}
	results := make([]*deviceResult, len(tasks))
	writer := newTickWriter(j.Lake)
	var done atomic.Int64
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(j.workers())
	for i := range tasks {
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			res, err := tasks[i].fold(j.Config.Features)
			if err != nil {
				return fmt.Errorf("features: %s/%s: %w", tasks[i].key.Host, tasks[i].key.Device, err)
			}
			results[i] = res
			if err := writer.put(i, tasks[i].key, res); err != nil {
				return err
			}
			j.progress("features", done.Add(1), int64(len(tasks)))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		writer.abort()
		return nil, 0, err
	}
	parts, ticks, err := writer.close()
	if err != nil {
		return nil, 0, err
	}
	for _, r := range results {
		windows = append(windows, r.windows...)
	}
	wparts, err := j.storeWindows(windows)
	if err != nil {
		return nil, 0, err
	}
	return windows, ticks, j.replaceTables(lock, manifests, append(parts, wparts...), lake.Windows, lake.Ticks)
}

// tasks lists the devices with the parts that hold their rows, by host and
// device.
func (j *Job) tasks(manifests []lake.Manifest, inputs []string) ([]*deviceTask, error) {
	use := func(input string) bool { return inputs == nil || slices.Contains(inputs, input) }
	if len(inputs) > 8 {
		set := map[string]bool{}
		for _, in := range inputs {
			set[in] = true
		}
		use = func(input string) bool { return set[input] }
	}
	tasks := map[features.Key]*deviceTask{}
	task := func(host, device string) *deviceTask {
		k := features.Key{Host: host, Device: device}
		if tasks[k] == nil {
			tasks[k] = &deviceTask{key: k}
		}
		return tasks[k]
	}
	for _, table := range []string{lake.Events, lake.Samples} {
		hosts, err := j.partsByHost(manifests, table, use)
		if err != nil {
			return nil, err
		}
		for _, host := range slices.Sorted(maps.Keys(hosts)) {
			index, err := lake.NewIndex(hosts[host])
			if err != nil {
				return nil, err
			}
			for _, device := range index.Devices() {
				if t := task(host, device); table == lake.Events {
					t.events = index
				} else {
					t.samples = index
				}
			}
		}
	}
	if err := j.openIO(manifests, use, task); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(tasks), func(a, b *deviceTask) int {
		return cmp.Or(strings.Compare(a.key.Host, b.key.Host), strings.Compare(a.key.Device, b.key.Device))
	}), nil
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
func (j *Job) openIO(manifests []lake.Manifest, use func(string) bool, task func(host, device string) *deviceTask) error {
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
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		for _, path := range hosts[host] {
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
					t := task(host, names.String(f.Device))
					t.open = append(t.open, f.TimeNS)
					t.endNS = max(t.endNS, end)
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
