package generate

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cmd/internal/score"
	"github.com/iopathy/iopathy/ingest"
)

// planted gives devices with a fault of a label, and what they did before it and
// in it.
func planted(t *testing.T, label string, devices int, hours float64) (all []*Disk, before, during [][]Request) {
	t.Helper()
	o := DefaultOptions()
	o.Devices, o.Hours, o.Seed, o.Rate, o.Sick, o.Pathologies = devices, hours, 11, 40, 1, []string{label}
	f, err := NewFleet(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range devices {
		v := f.Disk(i)
		from, to := v.Fault.FromNS, v.Fault.ToNS
		p := &phases{from: from, to: to}
		v.play(p, false, Completed)
		b, d := p.before, p.during
		if len(d) == 0 || v.Fault.ToNS < to {
			t.Fatalf("%s: %d requests in a fault of %d to %d", v.Run, len(d), v.Fault.FromNS, v.Fault.ToNS)
		}
		all, before, during = append(all, v), append(before, b), append(during, d)
	}
	return all, before, during
}

// phases keeps the first requests that came before a fault and in it.
type phases struct {
	from, to       int64
	before, during []Request
}

func (p *phases) Stage(_ Stage, r *Request) {
	const most = 15000
	switch at := r.At[Queued]; {
	case at < p.from && len(p.before) < most:
		p.before = append(p.before, *r)
	case at >= p.from && at < p.to && len(p.during) < most:
		p.during = append(p.during, *r)
	}
}

// mean of what each request tells.
func mean(rows []Request, of func(r *Request) float64) float64 {
	var sum float64
	for i := range rows {
		sum += of(&rows[i])
	}
	return sum / float64(max(len(rows), 1))
}

// ways counts how a fault was done.
func ways(all []*Disk, note string) map[string]int {
	n := map[string]int{}
	for _, v := range all {
		n[fmt.Sprint(v.Fault.Notes[note])]++
	}
	return n
}

// TestFaults holds each pathology to what it is by definition, in physical terms,
// and wants several ways for each.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has TestSame")
	}
	const devices = 8
	several := func(t *testing.T, all []*Disk, note string) {
		t.Helper()
		if n := ways(all, note); len(n) < 2 {
			t.Errorf("only one way: %v", n)
		}
	}
	served := func(r *Request) float64 { return float64(r.ServedNS()) }
	t.Run("queue-saturation", func(t *testing.T) {
		all, _, during := planted(t, "queue-saturation", devices, 0.012)
		several(t, all, "mode")
		for i, v := range all {
			if depth := mean(during[i], func(r *Request) float64 { return float64(r.depth) }); depth < 16 {
				t.Errorf("%s: %g in flight on arrival, %v", v.Run, depth, v.Fault.Notes)
			}
		}
	})
	t.Run("burst-congestion", func(t *testing.T) {
		all, _, during := planted(t, "burst-congestion", devices, 0.012)
		several(t, all, "procs")
		for i, v := range all {
			var busy, last int64
			for _, r := range during[i] {
				busy += max(0, r.At[Completed]-max(last, r.At[Queued]))
				last = max(last, r.At[Completed])
			}
			span := during[i][len(during[i])-1].At[Completed] - during[i][0].At[Queued]
			deepest := slices.MaxFunc(during[i], func(a, b Request) int { return int(a.depth - b.depth) }).depth
			if use := float64(busy) / float64(span); use > 0.75 || deepest < 20 {
				t.Errorf("%s: busy %g of the time, at most %d in flight: %v", v.Run, use, deepest, v.Fault.Notes)
			}
		}
	})
	t.Run("media-degradation", func(t *testing.T) {
		all, before, during := planted(t, "media-degradation", devices, 0.012)
		several(t, all, "variant")
		slower := 0
		for i, v := range all {
			if mean(during[i], served) > 1.3*mean(before[i], served) {
				slower++
			}
			if depth := mean(during[i], func(r *Request) float64 { return float64(r.depth) }); depth > 8 {
				t.Errorf("%s: %g in flight: %v", v.Run, depth, v.Fault.Notes)
			}
		}
		if slower < devices*3/4 {
			t.Errorf("%d of %d devices are slower in their fault", slower, devices)
		}
	})
	t.Run("bandwidth-saturation", func(t *testing.T) {
		all, _, during := planted(t, "bandwidth-saturation", devices, 0.012)
		several(t, all, "variant")
		for i, v := range all {
			limit, ok := v.Fault.Notes["cap_mbs"].(float64)
			if !ok {
				limit = v.Fault.Notes["throttle_mbs"].(float64)
			}
			var size int64
			for _, r := range during[i] {
				size += r.Size
			}
			span := during[i][len(during[i])-1].At[Completed] - v.Fault.FromNS
			if got := float64(size) / 1e6 / (float64(span) / 1e9); got > 1.1*limit+2 || got < 0.6*limit {
				t.Errorf("%s: %g MB/s under a limit of %g: %v", v.Run, got, limit, v.Fault.Notes)
			}
		}
	})
	t.Run("metadata-storm", func(t *testing.T) {
		all, before, during := planted(t, "metadata-storm", devices, 0.012)
		several(t, all, "variant")
		meta := func(r *Request) float64 {
			if r.Op == ingest.OpFlush || r.Flags&ingest.FlagMeta != 0 {
				return 1
			}
			return 0
		}
		for i, v := range all {
			if share := mean(during[i], meta); share < 0.4 || share < mean(before[i], meta) {
				t.Errorf("%s: %g of the requests are metadata, %g before: %v", v.Run, share, mean(before[i], meta), v.Fault.Notes)
			}
		}
	})
	t.Run("cache-thrash", func(t *testing.T) {
		all, _, during := planted(t, "cache-thrash", devices, 0.03)
		several(t, all, "how")
		for i, v := range all {
			seen := map[int64]int64{}
			again, reads := 0, 0
			for _, r := range during[i] {
				if r.Op != ingest.OpRead {
					continue
				}
				if r.At[Queued] > v.Fault.FromNS+13e9 { // the set was read once
					reads++
					if last, ok := seen[r.Offset]; ok && r.At[Queued]-last < 30e9 {
						again++
					}
				}
				seen[r.Offset] = r.At[Queued]
			}
			if reads > 1000 && again < reads/4 {
				t.Errorf("%s: %d of %d reads were read before: %v", v.Run, again, reads, v.Fault.Notes)
			}
		}
	})
	t.Run("sudden-stall", func(t *testing.T) {
		all, _, during := planted(t, "sudden-stall", devices, 0.012)
		several(t, all, "how")
		for i, v := range all {
			for _, s := range v.Fault.Stalls {
				for _, r := range during[i] {
					at := r.At[Completed]
					if v.Fault.Notes["how"] == "dispatch" {
						at = r.At[Issued]
					}
					if at > s[0] && at < s[1] {
						t.Errorf("%s: a request gets on at %d, in a stall of %v", v.Run, at, s)
						break
					}
				}
			}
			if len(v.Fault.Stalls) == 0 {
				t.Errorf("%s: no stall", v.Run)
			}
		}
	})
	t.Run("writeback-stall", func(t *testing.T) {
		all, before, during := planted(t, "writeback-stall", devices, 0.012)
		several(t, all, "how")
		wrote := func(r *Request) float64 {
			if r.Op == ingest.OpWrite {
				return float64(r.Size)
			}
			return 0
		}
		for i, v := range all {
			if mean(during[i], wrote) < 4*mean(before[i], wrote) {
				t.Errorf("%s: %g bytes written a request, %g before: %v", v.Run, mean(during[i], wrote), mean(before[i], wrote), v.Fault.Notes)
			}
		}
	})
}

// TestSame wants the same bytes from one worker and from several, others from
// another seed, and a truth that evaluate reads in both of its forms.
func TestSame(t *testing.T) {
	o := lawOptions("event-csv")
	make := func(workers int, seed uint64) map[string][]byte {
		dir := t.TempDir()
		o.Workers, o.Seed = workers, seed
		if _, err := Write(context.Background(), dir, o); err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		if err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files[strings.TrimPrefix(p, dir)], err = os.ReadFile(p)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return files
	}
	one, many, other := make(1, 5), make(3, 5), make(1, 6)
	if len(one) != o.Devices+2 {
		t.Errorf("%d files of %d devices", len(one), o.Devices)
	}
	same := 0
	for name, data := range one {
		if !bytes.Equal(data, many[name]) {
			t.Errorf("%s differs with three workers", name)
		}
		if bytes.Equal(data, other[name]) {
			same++
		}
	}
	if same > 0 {
		t.Errorf("%d files are the same with another seed", same)
	}
	truth := one[string(filepath.Separator)+"labels.csv"]
	runs, err := score.ReadTruth(bytes.NewReader(truth))
	if err != nil || len(runs) != o.Devices {
		t.Fatalf("as a corpus: %d runs: %v", len(runs), err)
	}
	devices, err := score.ReadFaults(bytes.NewReader(truth))
	if err != nil || len(devices) != o.Devices {
		t.Fatalf("as faults: %d devices: %v", len(devices), err)
	}
	sick := 0
	for i := range devices {
		if len(devices[i].Faults) != len(runs[i].Faults) {
			t.Errorf("%v has %d faults, its run %d", devices[i].Key, len(devices[i].Faults), len(runs[i].Faults))
		}
		sick += len(devices[i].Faults)
	}
	if want := int(o.Sick * float64(o.Devices)); sick != want {
		t.Errorf("%d devices are sick, want %d", sick, want)
	}
}

func TestOptions(t *testing.T) {
	check := func(change func(o *Options), want string) {
		t.Helper()
		o := DefaultOptions()
		change(&o)
		if _, err := NewFleet(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	check(func(o *Options) { o.Devices = 0 }, "devices: 0")
	check(func(o *Options) { o.Hours = -1 }, "hours: -1")
	check(func(o *Options) { o.Rate = 0 }, "rate: 0")
	check(func(o *Options) { o.Sick = 1.5 }, "sick: 1.5")
	check(func(o *Options) { o.Hosts = 100 }, "hosts: 100 for 8")
	check(func(o *Options) { o.Format = "iostat" }, `format "iostat" can't be written`)
	check(func(o *Options) { o.Pathologies = []string{"flu"} }, `pathology "flu"`)
}
