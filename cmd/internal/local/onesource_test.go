package local

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// One workload on one device, seen by several tools: an I/O every 10 ms for 60
// s, 4 KiB, three of four reads; it waits 50 us and takes 300 us in the device,
// and ten times as much in each tenth second.
const (
	workStart = int64(1_700_000_000e9)
	workIOs   = 6000
)

type workIO struct {
	op                   byte
	queued, issued, done int64 // ns since the start
	sector               int64
}

func work() []workIO {
	var all []workIO
	for i := range int64(workIOs) {
		io := workIO{op: 'R', queued: i * 10e6, sector: i * 7919 % 100000 * 8}
		if i%4 == 3 {
			io.op = 'W'
		}
		took := int64(300e3)
		if io.queued/1e9%10 == 9 {
			took *= 10
		}
		io.issued = io.queued + 50e3
		io.done = io.issued + took
		all = append(all, io)
	}
	return all
}

// during is the I/Os that complete in [from, to) seconds.
func during(all []workIO, from, to int64) (out []workIO) {
	for _, io := range all {
		if io.done >= from*1e9 && io.done < to*1e9 {
			out = append(out, io)
		}
	}
	return out
}

func seconds(ns int64) string { return fmt.Sprintf("%d.%09d", ns/1e9, ns%1e9) }

// asBlkparse writes the text of a block trace of device 8,0.
func asBlkparse(all []workIO) string {
	var b strings.Builder
	n := 0
	line := func(ns int64, action string, io workIO, tail string) {
		n++
		fmt.Fprintf(&b, "  8,0 0 %d %s 7 %s %c %d + 8 [%s]\n", n, seconds(ns), action, io.op, io.sector, tail)
	}
	for _, io := range all {
		line(io.queued, "Q", io, "app")
		line(io.issued, "D", io, "app")
		line(io.done, "C", io, "0")
	}
	return b.String()
}

// asBiosnoop writes what biosnoop shows: from the device's driver on. After an
// I/O number that is in lost it says that so many were lost.
func asBiosnoop(all []workIO, lost map[int]int) string {
	var b strings.Builder
	b.WriteString("TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n")
	for i, io := range all {
		fmt.Fprintf(&b, "%d.%06d app 7 sda %c %d 4096 %d.%02d\n", io.done/1e9, io.done%1e9/1e3, io.op, io.sector, (io.done-io.issued)/1e6, (io.done-io.issued)%1e6/1e4)
		if n := lost[i]; n > 0 {
			fmt.Fprintf(&b, "Possibly lost %d samples\n", n)
		}
	}
	return b.String()
}

// asEvents writes event CSV of a device.
func asEvents(device string, all []workIO) string {
	var b strings.Builder
	b.WriteString(csvHeader)
	for _, io := range all {
		fmt.Fprintf(&b, "%d,h1,%s,7,app,%c,,%d,4096,50000,%d,0\n", workStart+io.done, device, io.op, io.sector*512, io.done-io.queued)
	}
	return b.String()
}

// asDiskstats writes the counters of devices each second, from before the work
// until after it.
func asDiskstats(all []workIO, devices ...string) string {
	var b strings.Builder
	at, busy := 0, int64(0)
	var n, sectors, ms [2]int64
	for s := int64(-3); s <= 64; s++ {
		for ; at < len(all) && all[at].done <= s*1e9; at++ {
			k := 0
			if all[at].op == 'W' {
				k = 1
			}
			n[k]++
			sectors[k] += 8
			ms[k]++
			busy++
		}
		fmt.Fprintf(&b, "# %d\n", workStart+s*1e9)
		for i, d := range devices {
			fmt.Fprintf(&b, "   8 %d %s %d 0 %d %d %d 0 %d %d 0 %d %d\n", i, d, n[0], sectors[0], ms[0], n[1], sectors[1], ms[1], busy, busy)
		}
	}
	return b.String()
}

const partitionList = "major minor  #blocks  name\n\n   8 0 50000 sda\n"

// described is what Features says of a directory of logs.
type described struct {
	windows []features.Window
	ticks   int64
	job     *Job
}

func describe(t *testing.T, workers int, logs map[string]string) described {
	t.Helper()
	s := newShelf(t)
	for name, text := range logs {
		s.put(name, text)
	}
	j := s.job()
	j.Config.Workers, j.Config.Ingest.Host, j.Config.Ingest.StartNS = workers, "h1", workStart
	in, err := j.Ingest(context.Background(), []string{s.logs}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := described{job: j}
	if d.windows, d.ticks, err = listed(j.Features(context.Background(), in.IDs)); err != nil {
		t.Fatal(err)
	}
	checkVectors(t, j, d.windows)
	return d
}

// requests sums the requests of a device's windows; coverage is by window.
func (d *described) requests(device string) (n int64, coverage []float64) {
	for i := range d.windows {
		if w := &d.windows[i]; w.Device == device {
			n += w.Requests
			coverage = append(coverage, math.Round(100*w.Coverage)/100)
		}
	}
	return n, coverage
}

// same wants two descriptions to be equal in every bit of their windows.
func same(t *testing.T, what string, got, want described) {
	t.Helper()
	if fmt.Sprint(got.windows) != fmt.Sprint(want.windows) || got.ticks != want.ticks {
		t.Errorf("%s: %d windows, %d ticks, want those of the block trace alone: %d, %d\n got %.600v\nwant %.600v",
			what, len(got.windows), got.ticks, len(want.windows), want.ticks, got.windows, want.windows)
	}
}

func TestOneSource(t *testing.T) {
	all := work()
	trace, snoop, stats := asBlkparse(all), asBiosnoop(all, nil), asDiskstats(all, "sda")
	alone := describe(t, 1, map[string]string{"a.blkparse": trace, "partitions": partitionList})
	if n, cover := alone.requests("sda"); n != workIOs || len(cover) != 6 {
		t.Fatalf("alone: %d requests in %d windows", n, len(cover))
	}
	together := describe(t, 2, map[string]string{"x.blkparse": trace, "b.biosnoop": snoop, "c.diskstats": stats, "partitions": partitionList})
	same(t, "together", together, alone)
	same(t, "in another order, by one worker", describe(t, 1, map[string]string{"a.biosnoop": snoop, "0.diskstats": stats, "z.blkparse": trace, "partitions": partitionList}), alone)

	// Another trace, whose clock is decades off, takes nothing from them.
	far := describe(t, 2, map[string]string{"x.blkparse": trace, "b.csv": strings.ReplaceAll(asEvents("sda", all), "\n1700000", "\n100"), "c.diskstats": stats, "partitions": partitionList})
	if n, cover := far.requests("sda"); n != 2*workIOs || !reflect.DeepEqual(cover, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}) {
		t.Errorf("with one from 1970: %d requests, coverage %v", n, cover)
	}

	// What is told of them.
	sources, err := together.job.deviceSources()
	if err != nil || len(sources) != 1 || len(sources[0].Recordings) != 3 {
		t.Fatalf("sources %+v, %v", sources, err)
	}
	for _, r := range sources[0].Recordings {
		used := r.Format == "blkparse"
		if (r.UsedNS > 0) != used || r.Requests != workIOs || r.Bytes != workIOs*4096 {
			t.Errorf("%s: used %d ns, %d requests, %d bytes", r.Format, r.UsedNS, r.Requests, r.Bytes)
		}
		if !used && (r.Check.Requests < workIOs*95/100 || r.Check.Requests != r.Check.UsedRequests || r.Check.Bytes != r.Check.UsedBytes) {
			t.Errorf("%s: cross-check %+v", r.Format, r.Check)
		}
	}

	// Each by itself gives the same counts; latencies differ by the queueing.
	for name, text := range map[string]string{"a.biosnoop": snoop, "b.csv": asEvents("sda", all)} {
		d := describe(t, 2, map[string]string{name: text})
		if n, _ := d.requests("sda"); n != workIOs {
			t.Errorf("%s: %d requests", name, n)
		}
		kind, queue := ingest.KindQ2C, 0.0
		if name == "a.biosnoop" {
			kind, queue = ingest.KindD2C, 0.05
		}
		for i := range d.windows {
			got, want := d.windows[i].Context[features.CtxLatencyMean], alone.windows[i].Context[features.CtxLatencyMean]
			if d.windows[i].Kind != kind || math.Abs(want-got-queue) > 1e-3 {
				t.Errorf("%s: window %d: latencies of kind %v, mean %v ms, want %v less %v", name, i, d.windows[i].Kind, got, want, queue)
			}
		}
	}
}

// TestOneSourceNamed has no list of devices: that 8,0 is sda is told by the I/Os, in
// the first reading and in what is added to a log later.
func TestOneSourceNamed(t *testing.T) {
	all := work()
	trace, snoop := asBlkparse(all), asBiosnoop(all, nil)
	alone := describe(t, 1, map[string]string{"a.blkparse": trace, "partitions": partitionList})
	same(t, "without a list", describe(t, 2, map[string]string{"x.blkparse": trace, "b.biosnoop": snoop}), alone)

	// Another disk's name, or I/Os of another, teach nothing.
	for name, log := range map[string]string{
		"another name":  strings.ReplaceAll(snoop, " sda ", " sdb "),
		"another's I/O": asBiosnoop(all[:10], nil),
	} {
		d := describe(t, 2, map[string]string{"x.blkparse": trace, "b.biosnoop": log})
		if n, _ := d.requests("dev:8:0"); n != workIOs {
			t.Errorf("%s: %d requests of dev:8:0", name, n)
		}
	}

	// A log that has grown keeps what was learned of it.
	s := newShelf(t)
	half := trace[:strings.LastIndex(trace[:len(trace)/2], " Q ")] // nothing is in flight there
	half = half[:strings.LastIndexByte(half, '\n')+1]
	s.put("b.biosnoop", snoop)
	for _, text := range []string{half, trace} {
		s.put("x.blkparse", text)
		j := s.job()
		j.Config.Ingest.Host, j.Config.Ingest.StartNS = "h1", workStart
		if _, err := j.Ingest(context.Background(), []string{s.logs}, nil); err != nil {
			t.Fatal(err)
		}
		s.holds("as it grows", map[string]int{"sda": strings.Count(text, " C ") + workIOs})
	}
}

// TestOneSourceKinds has a block trace begin within a driver trace: windows
// have one kind, and each I/O counts once.
func TestOneSourceKinds(t *testing.T) {
	all := work()
	d := describe(t, 2, map[string]string{"a.blkparse": asBlkparse(during(all, 24, 60)), "b.biosnoop": asBiosnoop(all, nil), "partitions": partitionList})
	n, _ := d.requests("sda")
	kinds := ""
	for i := range d.windows {
		kinds += d.windows[i].Kind.String() + " "
	}
	// The window from 20 s on is the trace's, which has six tenths of it.
	if n != workIOs-400 || kinds != "d2c d2c q2c q2c q2c q2c " {
		t.Errorf("%d requests, kinds %s", n, kinds)
	}
	if c := d.windows[2].Coverage; c != 0.6 {
		t.Errorf("coverage of the window in which the trace begins is %v", c)
	}
}

// TestOneSourceOverlap tells two recordings of one tool from two parts of one.
func TestOneSourceOverlap(t *testing.T) {
	all := work()
	var odd, even []workIO
	for i, io := range all {
		if i%2 == 0 {
			even = append(even, io)
		} else {
			odd = append(odd, io)
		}
	}
	alone := describe(t, 1, map[string]string{"a.csv": asEvents("sda", all)})
	check := func(what string, logs map[string]string) {
		t.Helper()
		d := describe(t, 2, logs)
		if n, _ := d.requests("sda"); n != workIOs {
			t.Errorf("%s: %d requests, want %d", what, n, workIOs)
		}
		same(t, what, d, alone)
	}
	check("two halves", map[string]string{"a.csv": asEvents("sda", odd), "b.csv": asEvents("sda", even)})
	check("one after the other", map[string]string{"a.csv": asEvents("sda", during(all, 0, 33)), "b.csv": asEvents("sda", during(all, 33, 99))})
	check("three that overlap", map[string]string{
		"c.csv": asEvents("sda", during(all, 0, 30)), "a.csv": asEvents("sda", during(all, 20, 50)), "b.csv": asEvents("sda", during(all, 40, 99)),
	})
}

func TestCoverage(t *testing.T) {
	all := work()
	check := func(what string, d described, want ...float64) {
		t.Helper()
		if _, got := d.requests("sda"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: coverage %v, want %v", what, got, want)
		}
	}
	// 250 of 1250 are lost in the window from 10 s on: 20 %.
	check("a notice", describe(t, 1, map[string]string{"a.biosnoop": asBiosnoop(all, map[int]int{1500: 250})}), 1, 0.8, 1, 1, 1, 1)
	// Counters saw twice as much as the trace in the window from 30 s on.
	var some []workIO
	for i, io := range all {
		if io.done < 30e9 || io.done >= 40e9 || i%2 == 0 {
			some = append(some, io)
		}
	}
	check("counters", describe(t, 1, map[string]string{"a.blkparse": asBlkparse(some), "b.diskstats": asDiskstats(all, "sda"), "partitions": partitionList}),
		1, 1, 1, 0.51, 1, 1) // half, and what an eighth of a second may bring
	check("counters of all", describe(t, 1, map[string]string{"a.blkparse": asBlkparse(all), "b.diskstats": asDiskstats(all, "sda"), "partitions": partitionList}),
		1, 1, 1, 1, 1, 1)
}

func TestStack(t *testing.T) {
	all := work()
	check := func(what string, d described, want map[string]int64) {
		t.Helper()
		got := map[string]int64{}
		for i := range d.windows {
			got[d.windows[i].Device] += d.windows[i].Requests
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: requests %v, want %v", what, got, want)
		}
	}
	upper, lower := asEvents("crypt", all), asEvents("sda", all)
	tree := "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\nsda 8:0 0 1G 0 disk\n└─crypt 253:0 0 1G 0 crypt /\n"
	unknown := describe(t, 1, map[string]string{"a.csv": upper, "b.csv": lower})
	check("not known", unknown, map[string]int64{"crypt": workIOs, "sda": workIOs})
	if s, err := unknown.job.deviceSources(); err != nil || len(s) != 1 || !strings.Contains(s[0].Note, "bytes of sda in every window") {
		t.Errorf("the equal series are not told of: %+v, %v", s, err)
	}
	known := describe(t, 1, map[string]string{"a.csv": upper, "b.csv": lower, "lsblk.txt": tree})
	check("lsblk", known, map[string]int64{"sda": workIOs})
	if s, err := known.job.deviceSources(); err != nil || len(s) != 1 || !s[0].LeftOut || !reflect.DeepEqual(s[0].Beneath, []string{"sda"}) {
		t.Errorf("what was left out is not told of: %+v, %v", s, err)
	}
	check("half of it recorded", describe(t, 1, map[string]string{"a.csv": upper, "b.csv": asEvents("sda", during(all, 0, 30)), "lsblk.txt": tree}),
		map[string]int64{"crypt": workIOs, "sda": int64(len(during(all, 0, 30)))})
	check("partitions by name", describe(t, 1, map[string]string{"a.diskstats": asDiskstats(all, "sda", "sda1", "sdb")}),
		map[string]int64{"sda": workIOs, "sdb": workIOs})
	// A block trace tells by its remap records what comes from where.
	remapped := asBlkparse(all) + "  8,0 0 99999 60.100000000 7 A R 8 + 8 <- (253,0) 0\n" + strings.ReplaceAll(asBlkparse(all), "  8,0 ", "  253,0 ")
	check("remap records", describe(t, 1, map[string]string{"a.blkparse": remapped}), map[string]int64{"dev:8:0": workIOs})
}
