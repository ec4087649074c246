package local

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

// vectorColumns are those that the folds need for vectors alone.
var vectorColumns = []string{"time_ns", "op", "flags", "offset_bytes", "size_bytes", "latency_ns", "latency_kind", "source_offset"}

// vectorTasks bounds how many devices' text waits to be written, for each worker.
const vectorTasks = 8

// Vectors writes the 12 features of all windows of the lake's rows as CSV, and
// nothing else: what MakeFeatures stores of them, bit for bit, without ticks,
// profiles and facts. It takes a fraction of the time, reads the lake alone and
// changes nothing in it. Rows come by host, date, device and time; what is
// unknown is empty. It gives their number.
func (j *Job) Vectors(ctx context.Context, w io.Writer) (windows int64, err error) {
	manifests, err := lake.Manifests(j.Lake)
	if err != nil {
		return 0, err
	}
	stock, err := newStock(manifests)
	if err != nil {
		return 0, err
	}
	var feeds []*feed
	for _, c := range slices.SortedFunc(maps.Keys(stock.of(func(string) bool { return true })), compareCells) {
		f, err := stock.feed(c, j.Config.Features)
		if err != nil {
			return 0, err
		}
		feeds = append(feeds, f)
	}
	hosts, err := j.hosts(manifests, stock, feeds)
	if err != nil {
		return 0, err
	}
	if _, err := io.WriteString(w, vectorHeader()); err != nil {
		return 0, err
	}
	var closed sync.Pool
	var some []*deviceTask
	flush := func() error {
		n, err := j.writeVectors(ctx, w, some, &closed)
		windows += n
		some = some[:0]
		return err
	}
	for i, h := range hosts {
		hosts[i] = nil
		h.vectors = true
		tasks, told, err := h.tasks(j.Config.Features)
		if err != nil {
			return windows, err
		}
		for _, t := range tasks {
			if stacked := told[t.key.Device]; stacked != nil && stacked.LeftOut {
				continue
			}
			if some = append(some, t); len(some) == j.workers()*vectorTasks {
				if err := flush(); err != nil {
					return windows, err
				}
			}
		}
		j.progress("features", int64(i+1), int64(len(hosts)))
	}
	return windows, flush()
}

func vectorHeader() string {
	text := "host,device,window_start_ns,window_end_ns"
	for _, f := range features.Features {
		text += "," + f.Name
	}
	return text + "\n"
}

// writeVectors writes those of some devices, in their order.
func (j *Job) writeVectors(ctx context.Context, w io.Writer, tasks []*deviceTask, closed *sync.Pool) (windows int64, err error) {
	texts := make([][]byte, len(tasks))
	counts := make([]int64, len(tasks))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(j.workers())
	for i, t := range tasks {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			all, err := t.vectorsOf(j.Config.Features, closed)
			if err != nil {
				return fmt.Errorf("features: %s/%s: %w", t.key.Host, t.key.Device, err)
			}
			counts[i] = int64(len(all))
			texts[i], err = vectorRows(t.key, all)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	for i, text := range texts {
		if _, err := w.Write(text); err != nil {
			return windows, err
		}
		windows += counts[i]
	}
	return windows, nil
}

// vectorRow is what Vectors tells of a window.
type vectorRow struct {
	startNS, endNS int64
	vector         features.Vector
	missing        features.Mask
}

// vectorsOf is fold for vectors alone.
func (t *deviceTask) vectorsOf(o features.Options, closed *sync.Pool) (all []vectorRow, err error) {
	var res deviceResult
	f := folding{o: o, closed: closed}
	f.fromNS, f.toNS = t.span()
	f.addTick = func(*features.Tick) {}
	f.addWindow = func(w *features.Window) {
		if w.StartNS >= f.fromNS && w.StartNS < f.toNS {
			all = append(all, vectorRow{w.StartNS, w.EndNS, w.Vector, w.Missing})
		}
	}
	err = t.foldInto(&f, &res)
	slices.SortStableFunc(all, func(a, b vectorRow) int { return int(min(max(a.startNS-b.startNS, -1), 1)) })
	return all, err
}

// vectorRows writes the lines of one device.
func vectorRows(key features.Key, all []vectorRow) ([]byte, error) {
	var head bytes.Buffer
	names := csv.NewWriter(&head)
	if err := names.Write([]string{key.Host, key.Device}); err != nil {
		return nil, err
	}
	names.Flush()
	device := bytes.TrimSuffix(head.Bytes(), []byte("\n"))
	var text []byte
	for i := range all {
		r := &all[i]
		text = append(append(text, device...), ',')
		text = strconv.AppendInt(text, r.startNS, 10)
		text = strconv.AppendInt(append(text, ','), r.endNS, 10)
		for k, v := range r.vector {
			text = append(text, ',')
			if !r.missing.Has(k) || math.IsNaN(v) {
				continue
			}
			text = strconv.AppendFloat(text, v, 'g', -1, 64)
		}
		text = append(text, '\n')
	}
	return text, nil
}
