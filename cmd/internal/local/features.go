package local

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// Features makes the windows and ticks of the days and hosts that the given
// inputs have rows of (of all that the lake holds rows of, for nil), where those
// that stand there were made of something else, and stores them in their place.
// All else stays. The windows of these days and hosts come back, by host, device and
// time; ticks is their number. Diagnose, StoreDiagnosis and Write then concern
// them.
func (j *Job) Features(ctx context.Context, inputs []string) (windows *Windows, ticks int64, err error) {
	manifests, err := j.features(ctx, inputs, false)
	if err != nil {
		return nil, 0, err
	}
	_, ticks = j.count(manifests)
	windows, err = j.windowsOfCells(manifests, j.cells)
	return windows, ticks, err
}

// MakeFeatures is Features of all that the lake holds, for one who wants no more than
// the numbers of windows and ticks.
func (j *Job) MakeFeatures(ctx context.Context) (windows, ticks int64, err error) {
	manifests, err := j.features(ctx, nil, false)
	if err != nil {
		return 0, 0, err
	}
	windows, ticks = j.count(manifests)
	return windows, ticks, nil
}

// count counts the windows and ticks of the cells that the job speaks of.
func (j *Job) count(manifests []lake.Manifest) (windows, ticks int64) {
	of := func(table string) (n int64) {
		for _, p := range lake.Parts(manifests, table) {
			if c, err := cellOf(p); err == nil && j.cells[c] {
				n += p.Rows
			}
		}
		return n
	}
	return of(lake.Windows), of(lake.Ticks)
}

// Due gives the dates whose windows are not those that their labels are of: what
// a job that ended between the two leaves to the next.
func (j *Job) Due() (dates []string, err error) {
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	labelled := map[cell]bool{}
	for _, p := range lake.Parts(manifests, lake.Labels) {
		if c, err := cellOf(p); err == nil {
			labelled[c] = true
		}
	}
	windows := map[cell]bool{}
	for _, p := range lake.Parts(manifests, lake.Windows) {
		if c, err := cellOf(p); err == nil {
			windows[c] = true
		}
	}
	judged := lake.JudgedOf(manifests)
	for _, c := range lake.Cells(manifests) {
		of, known := judged[lake.Day{Host: c.Host, Date: c.Date}]
		at := cell{c.Host, c.Date}
		switch {
		case !windows[at] && !labelled[at], c.WindowNS != j.Config.Features.WindowNS, c.TickNS != j.Config.Features.TickNS:
		case known && of != c.Of, !known && !labelled[at]:
			dates = append(dates, c.Date)
		}
	}
	slices.Sort(dates)
	return slices.Compact(dates), nil
}

// FeaturesAnew is Features of all days and hosts whose rows are others than when
// their windows were made, and of no others: not of those whose windows were
// made with another length or tick. It gives their dates.
func (j *Job) FeaturesAnew(ctx context.Context) (dates []string, err error) {
	if _, err := j.features(ctx, nil, true); err != nil {
		return nil, err
	}
	for c := range j.cells {
		dates = append(dates, c.date)
	}
	slices.Sort(dates)
	return slices.Compact(dates), nil
}

// features makes what is to be made, says by concern of which cells, and gives
// the manifests as they then are.
func (j *Job) features(ctx context.Context, inputs []string, anew bool) ([]lake.Manifest, error) {
	lock, err := lake.NewLock(j.Lake)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	p, err := j.foldPlan(inputs, anew)
	if err != nil {
		return nil, err
	}
	keep := newKeeping(j, p.manifests)
	defer keep.drop()
	if len(p.records) > 0 {
		if err := keep.begin(lock, lake.Windows, lake.Ticks, lake.Profiles); err != nil {
			return nil, err
		}
	}
	if err := j.foldCells(ctx, p, keep); err != nil {
		return nil, err
	}
	// A day beside them is judged again only if it is another than before.
	for c := range p.records {
		if !p.concerned[c] && keep.changed[c] {
			p.concerned[c] = true
		}
	}
	var replaced []lake.Cell
	for _, c := range slices.SortedFunc(maps.Keys(p.records), compareCells) {
		replaced = append(replaced, p.records[c])
	}
	manifests := p.manifests
	if len(replaced) > 0 {
		if manifests, err = keep.store(lock, replaced, lake.Windows, lake.Ticks, lake.Profiles); err != nil {
			return nil, err
		}
	}
	j.concern(p.stock, p.concerned)
	return manifests, nil
}

// tell puts what is to be told of the devices into the records of their cells.
func tell(results []*deviceResult, records map[cell]lake.Cell) error {
	byCell := map[cell][]*deviceResult{}
	for _, r := range results {
		byCell[r.cell] = append(byCell[r.cell], r)
	}
	for c, all := range byCell {
		var devices []reports.DeviceSources
		for _, r := range all {
			if r.sources != nil {
				devices = append(devices, *r.sources)
			}
		}
		if devices = append(devices, equals(all)...); len(devices) == 0 {
			continue
		}
		told, err := json.Marshal(devices)
		if err != nil {
			return err
		}
		record := records[c]
		record.Devices = told
		records[c] = record
	}
	return nil
}

// hostTask is a day of a host and where the rows of its devices are.
type hostTask struct {
	host            string
	feed            *feed
	events, samples []string // files
	open            map[string][]openIO
	inputs          map[string]*inputFacts // of the lake
	stack           stack
	latencies       latencies
	sliceRows       int64 // events that a slice of a device holds at least

	vectors bool         // nothing else is wanted of its devices
	memory  *lake.Memory // of the columns that are read

	own    func(unit int) bool // which of the tasks are folded here; nil: all
	listed []*deviceTask       // once they are known
	told   map[string]*reports.DeviceSources
}

// openIO is an I/O that never completed.
type openIO struct {
	startNS int64
	endNS   int64 // end of the input that it stands in
	input   string
}

// hosts makes the tasks of the cells, in their order.
func (j *Job) hosts(manifests []lake.Manifest, s *stock, feeds []*feed) ([]*hostTask, error) {
	facts, err := j.factsOfInputs(manifests)
	if err != nil {
		return nil, err
	}
	all := make([]*hostTask, len(feeds))
	byHost := map[string][]*hostTask{}
	inPlay := map[string]bool{}
	memory := new(lake.Memory)
	for i, f := range feeds {
		events, err := j.files(f.events)
		if err != nil {
			return nil, err
		}
		samples, err := j.files(f.samples)
		if err != nil {
			return nil, err
		}
		all[i] = &hostTask{host: f.host, feed: f, events: events, samples: samples, open: map[string][]openIO{}, inputs: facts, stack: stack{}, sliceRows: cmp.Or(j.sliceRows, sliceRows), memory: memory}
		byHost[f.host] = append(byHost[f.host], all[i])
		maps.Copy(inPlay, f.inputs)
	}
	if len(all) == 0 {
		return nil, nil
	}
	if err := j.evidence(manifests, inPlay, facts, byHost); err != nil {
		return nil, err
	}
	stacksOf(manifests, all)
	var parts []string
	for _, p := range lake.Parts(manifests, lake.Events) {
		if inPlay[inputOf(p.Path)] {
			if err := j.Fetch(p.Path); err != nil {
				return nil, err
			}
			parts = append(parts, j.at(p.Path))
		}
	}
	return all, j.weigh(facts, parts)
}

// tasks lists the host's devices by name, and what is to be told of those that
// stand on others.
func (h *hostTask) tasks(o features.Options) ([]*deviceTask, map[string]*reports.DeviceSources, error) {
	if h.listed != nil {
		return h.listed, h.told, nil
	}
	tasks := map[string]*deviceTask{}
	task := func(device string) *deviceTask {
		if tasks[device] == nil {
			tasks[device] = &deviceTask{key: features.Key{Host: h.host, Device: device}, feed: h.feed, inputs: h.inputs, vectors: h.vectors}
		}
		return tasks[device]
	}
	if len(h.events) > 0 {
		index, err := lake.NewIndex(h.events, "time_ns", "latency_ns", "latency_kind")
		if err != nil {
			return nil, nil, err
		}
		index.Use(h.memory)
		index.Between(h.feed.fromNS, h.feed.toNS)
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
	var out []*deviceTask
	for _, d := range sortedKeys(tasks) {
		some := []*deviceTask{tasks[d]}
		if told[d] == nil || !told[d].LeftOut {
			if some, err = tasks[d].sliced(o, h.sliceRows); err != nil {
				return nil, nil, err
			}
		}
		out = append(out, some...)
	}
	h.listed, h.told = out, told
	return out, told, nil
}

// tail is the part of a path from its table on.
func tail(path string) string {
	p := filepath.ToSlash(path)
	for _, table := range []string{lake.Events, lake.Samples, lake.Evidence, lake.Ticks, lake.Windows, lake.Profiles, lake.Labels, lake.Baselines} {
		if i := strings.LastIndex(p, "/"+table+"/date="); i >= 0 {
			return p[i+1:]
		}
	}
	return p
}
