package local

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// stack says which devices of a host carry the I/O of which: by remap records
// of block traces, by lsblk, and by the kernel's names of partitions.
type stack map[string][]string // names of the devices beneath

func (s stack) add(upper, lower string) {
	if upper != lower && !slices.Contains(s[upper], lower) {
		s[upper] = append(s[upper], lower)
	}
}

// partitionName is how the kernel names partitions: sda1 is of sda, nvme0n1p2
// of nvme0n1.
var partitionName = regexp.MustCompile(`^(?:((?:sd|hd|vd|xvd)[a-z]+)[0-9]+|((?:nvme[0-9]+n|mmcblk|loop|nbd|md)[0-9]+)p[0-9]+)$`)

// diskOf is the disk of a partition, "" for what is no partition.
func diskOf(device string) string {
	m := partitionName.FindStringSubmatch(device)
	if m == nil {
		return ""
	}
	return cmp.Or(m[1], m[2])
}

// stacksOf gives the hosts what files beside the inputs told of their devices.
func stacksOf(manifests []lake.Manifest, hosts []*hostTask) {
	below := map[string]stack{} // by input
	for _, m := range manifests {
		for _, in := range m.Inputs {
			if len(in.Below) > 0 {
				below[in.ID] = in.Below
			}
		}
	}
	if len(below) == 0 {
		return
	}
	for _, h := range hosts {
		for _, path := range slices.Concat(h.events, h.samples) {
			for upper, lowers := range below[inputOf(path)] {
				for _, lower := range lowers {
					h.stack.add(upper, lower)
				}
			}
		}
	}
}

// stand adds to what is told of a device what it stands on.
func (r *deviceResult) stand(told *reports.DeviceSources) {
	if r.sources == nil {
		r.sources = told
		return
	}
	r.sources.Beneath, r.sources.LeftOut, r.sources.Note = told.Beneath, told.LeftOut, told.Note
}

// leaves are the lowest devices beneath one that have rows, in order.
func (s stack) leaves(device string, rows map[string]*deviceTask) []string {
	var out []string
	seen := map[string]bool{device: true}
	var down func(string) bool
	down = func(d string) (any bool) {
		for _, lower := range s[d] {
			if seen[lower] {
				continue
			}
			seen[lower] = true
			if down(lower) {
				any = true
			} else if rows[lower] != nil {
				out = append(out, lower)
				any = true
			}
		}
		return any
	}
	down(device)
	slices.Sort(out)
	return out
}

// carried is the share of a device's bytes that those beneath it must hold for
// it to be left out: else not all that is beneath was recorded.
const carried = 0.9

// unstack finds the devices whose I/O others of the host carry, and hold: they
// get no windows, so that an I/O counts once. What is told of the rest of
// the stacked ones stands in their results.
func (h *hostTask) unstack(tasks map[string]*deviceTask, o features.Options) (left map[string]*reports.DeviceSources, err error) {
	for _, d := range sortedKeys(tasks) {
		if disk := diskOf(d); disk != "" && tasks[disk] != nil {
			h.stack.add(d, disk)
		}
	}
	left = map[string]*reports.DeviceSources{}
	read := map[string]deviceBytes{}
	bytes := func(d string) (deviceBytes, error) {
		if b, ok := read[d]; ok {
			return b, nil
		}
		b, err := tasks[d].bytes(o)
		read[d] = b
		return b, err
	}
	for _, d := range sortedKeys(h.stack) {
		leaves := h.stack.leaves(d, tasks)
		if tasks[d] == nil || len(leaves) == 0 {
			continue
		}
		upper, err := bytes(d)
		if err != nil {
			return nil, err
		}
		var below int64
		for _, l := range leaves {
			lower, err := bytes(l)
			if err != nil {
				return nil, err
			}
			_, n := lower.series.Between(upper.from-o.WindowNS, upper.to+o.WindowNS)
			below += n
		}
		_, own := upper.series.Between(math.MinInt64/2, math.MaxInt64/2)
		told := &reports.DeviceSources{Host: h.host, Device: d, Beneath: leaves, Coverage: 1}
		if float64(below) >= carried*float64(own) {
			told.LeftOut = true
			told.Note = fmt.Sprintf("its I/O is that of %s, which stand for it: it has no windows of its own", strings.Join(leaves, ", "))
		} else {
			told.Note = fmt.Sprintf("it stands on %s, which hold %d of its %d bytes: it is kept, and what both hold counts twice", strings.Join(leaves, ", "), below, own)
		}
		left[d] = told
	}
	return left, nil
}

// deviceBytes is the bytes of a device over time, of the tool that saw most.
type deviceBytes struct {
	series   *features.Series
	from, to int64
}

func (t *deviceTask) bytes(o features.Options) (deviceBytes, error) {
	b := deviceBytes{from: math.MaxInt64, to: math.MinInt64}
	var streams []*lake.Stream
	if t.events != nil {
		streams = t.events.Streams(t.key.Device, []string{"time_ns", "op", "size_bytes"})
	}
	for _, s := range streams {
		b.from, b.to = min(b.from, s.MinTime), max(b.to, s.MaxTime)
	}
	groups, err := t.sampleGroups()
	if err != nil {
		return b, err
	}
	var samples []ingest.Sample
	if len(groups) > 0 {
		samples = groups[0].all()
	}
	for i := range samples {
		b.from, b.to = min(b.from, samples[i].TimeNS-samples[i].IntervalNS), max(b.to, samples[i].TimeNS)
	}
	if b.from > b.to {
		b.from, b.to = 0, 0
	}
	b.series = features.NewSeries(b.from, b.to, o)
	most := int64(0)
	for i := range samples {
		n, bytes := features.Counted(samples[i : i+1])
		b.series.Add(samples[i].TimeNS, n, bytes)
		most += bytes
	}
	byFormat := map[string]*features.Series{}
	for _, s := range streams {
		f := t.facts(inputOf(s.Path)).format
		if byFormat[f] == nil {
			byFormat[f] = features.NewSeries(b.from, b.to, o)
		}
		if err := addTo(byFormat[f], s); err != nil {
			return b, err
		}
	}
	for _, f := range sortedKeys(byFormat) {
		if _, n := byFormat[f].Between(math.MinInt64/2, math.MaxInt64/2); n > most {
			most, b.series = n, byFormat[f]
		}
	}
	return b, nil
}

// What two devices must have in common to be taken for one that stands on the
// other: so many windows and bytes, all but a fiftieth of which agree.
const (
	equalWindows = 3
	equalBytes   = 1 << 20
	equalShare   = 0.02
	equalNear    = 4     // devices of nearly the same sum that one is compared with
	equalExact   = 0.001 // what may differ where the load is too even for agreement to tell anything
)

// equals finds devices of a host that have the same bytes in every window: if
// one stands on the other, each I/O counts twice.
func equals(results []*deviceResult) []reports.DeviceSources {
	type total struct {
		res *deviceResult
		sum float64
	}
	byHost := map[string][]total{}
	for _, r := range results {
		sum, windows := 0.0, 0
		for _, w := range r.bytes {
			if w.bytes > 0 {
				sum += w.bytes
				windows++
			}
		}
		if sum >= equalBytes && windows >= equalWindows {
			byHost[r.key.Host] = append(byHost[r.key.Host], total{r, sum})
		}
	}
	var out []reports.DeviceSources
	for _, host := range sortedKeys(byHost) {
		all := byHost[host]
		slices.SortStableFunc(all, func(a, b total) int { return cmp.Compare(a.sum, b.sum) })
		for i, a := range all {
			for _, b := range all[i+1 : min(i+1+equalNear, len(all))] {
				if b.sum > a.sum*(1+equalShare) {
					break
				}
				if !sameBytes(a.res.bytes, b.res.bytes, a.sum) {
					continue
				}
				one, other := a.res.key.Device, b.res.key.Device
				if one > other {
					one, other = other, one
				}
				out = append(out, reports.DeviceSources{Host: host, Device: one, Coverage: 1, Note: fmt.Sprintf(
					"it has the bytes of %s in every window: if one stands on the other, or both mirror the same data, each I/O counts twice (a list of lsblk beside the logs tells)", other)})
			}
		}
	}
	return out
}

// windowBytes is what went through a device in a window.
type windowBytes struct {
	startNS int64
	bytes   float64
}

func bytesOf(w *features.Window) float64 {
	n := w.Context[features.CtxBytesPerS] * float64(w.CoveredTicks) * float64(w.TickNS) / 1e9
	if math.IsNaN(n) {
		return 0
	}
	return n
}

// sameBytes compares two courses of windows, both by time.
func sameBytes(a, b []windowBytes, sum float64) bool {
	even, differ := !varies(a, sum), 0.0
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].startNS < b[0].startNS:
			differ += a[0].bytes
			a = a[1:]
		case len(a) == 0 || b[0].startNS < a[0].startNS:
			differ += b[0].bytes
			b = b[1:]
		default:
			differ += math.Abs(a[0].bytes - b[0].bytes)
			a, b = a[1:], b[1:]
		}
	}
	if even {
		return differ <= equalExact*sum
	}
	return differ <= equalShare*sum
}

// varies says that a course moves by more than what may differ between two: two
// members of an array under a steady load agree in their sums, and are two all
// the same.
func varies(a []windowBytes, sum float64) bool {
	mean, off := sum/float64(max(len(a), 1)), 0.0
	for _, w := range a {
		off += math.Abs(w.bytes - mean)
	}
	return off > 3*equalShare*sum
}
