package generate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest"
	_ "github.com/iopathy/iopathy/ingest/formats"
)

// row is what ingest may tell of a request.
type row struct {
	time, latency, queue, offset, size int64
	pid                                int32
	op                                 ingest.Op
	flags                              ingest.Flags
	comm                               string
	kind                               ingest.LatencyKind
}

// whole is the row of a request in a format that tells all.
func whole(r *Request) row {
	return row{r.At[Completed], r.LatencyNS(), r.QueueNS(), r.Offset, r.Size, r.PID, r.Op, r.Flags | ingest.FlagsTold, r.Comm.String(), ingest.KindQ2C}
}

// down cuts a time to a resolution.
func down(v, to int64) int64 { return v / to * to }

const none = ingest.Missing

// laws give, by format, the row that a request must come back as, and false if
// the format has no line for it.
var laws = map[string]func(r *Request) (row, bool){
	"event-csv":   full,
	"blkparse":    full,
	"blktrace":    full,
	"perf-script": full,
	"ftrace":      micro,
	"trace-cmd":   micro,
	"msr": func(r *Request) (row, bool) {
		e := whole(r)
		e.latency = down(r.LatencyNS(), 100)
		e.time = down(r.At[Queued], 100) + e.latency
		return e.bare(), r.Op != ingest.OpFlush
	},
	"systor": func(r *Request) (row, bool) {
		e := whole(r)
		e.latency, e.kind = r.ServedNS(), ingest.KindD2C
		return e.bare(), r.Op != ingest.OpFlush
	},
	"vscsi": func(r *Request) (row, bool) {
		e := whole(r)
		e.latency = down(r.LatencyNS(), 1e3)
		e.time = down(r.At[Queued], 1e3) + e.latency
		return e.bare(), true
	},
	"alibaba":              arrival(1e3),
	"tencent":              arrival(1e9),
	"cloudphysics-csv":     arrival(1e9),
	"cloudphysics-cydonia": arrival(1e3),
	"mqsim":                arrival(1),
	"spc":                  arrival(1e3),
	"fiu": func(r *Request) (row, bool) {
		e, ok := arrival(1)(r)
		e.pid, e.comm = r.PID, r.Comm.String()
		return e, ok
	},
	"biosnoop": func(r *Request) (row, bool) {
		e := whole(r)
		e.time, e.latency, e.queue, e.kind = down(e.time, 1e3), down(r.ServedNS(), 1e3), down(e.queue, 1e3), ingest.KindD2C
		if r.Op == ingest.OpFlush {
			e.offset = none
		}
		return e, true
	},
	"biosnoop-bcc": func(r *Request) (row, bool) {
		e := whole(r)
		e.time, e.latency, e.queue, e.flags, e.kind = down(e.time, 1e3), down(r.ServedNS(), 1e4), none, 0, ingest.KindD2C // a letter, and no flags
		if r.Op == ingest.OpFlush {
			e.offset = none
		}
		return e, true
	},
	"biosnoop-bt": func(r *Request) (row, bool) {
		return row{
			time: down(r.At[Completed], 1e6), latency: down(r.ServedNS(), 1e6), queue: none, offset: none, size: none,
			pid: r.PID, comm: r.Comm.String(), kind: ingest.KindD2C,
		}, true
	},
	"strace": func(r *Request) (row, bool) {
		e := called(r)
		e.kind = ingest.KindSyscall
		return e, true
	},
	"perf-trace": func(r *Request) (row, bool) {
		e := called(r)
		e.comm, e.kind = "(program)", ingest.KindSyscall
		return e, true
	},
	"fsslower": func(r *Request) (row, bool) {
		e := whole(r)
		e.time, e.latency = down(e.time, 1e3), down(e.latency, 1e3)
		e.queue, e.flags, e.kind = none, 0, ingest.KindSyscall
		if r.Op == ingest.OpFlush {
			e.offset = none
		}
		return e, true
	},
	"dftracer": func(r *Request) (row, bool) {
		e := called(r)
		e.pid = r.PID
		return e, true
	},
	"darshan-dxt": func(r *Request) (row, bool) {
		e := whole(r)
		e.time = down(e.time, 1e5)
		e.latency = e.time - down(r.At[Queued], 1e5)
		e.kind = ingest.KindApp
		e = e.bare()
		e.pid = 0
		return e, r.Op != ingest.OpFlush
	},
	"fio-log": func(r *Request) (row, bool) {
		e := whole(r)
		e.time, e.kind = down(e.time, 1e6), ingest.KindApp
		return e.bare(), r.Op != ingest.OpFlush
	},
	"mapped-csv": func(r *Request) (row, bool) {
		e := whole(r)
		e.time, e.latency = down(e.time, 1e3), down(e.latency, 1e3)
		e.queue, e.pid, e.flags = none, none, 0
		return e, true
	},
	"mapped-json": func(r *Request) (row, bool) {
		e := whole(r)
		e.queue, e.flags = none, 0
		return e, true
	},
}

// bare is a row of a format that knows no tasks, queues and flags.
func (e row) bare() row {
	e.queue, e.pid, e.comm, e.flags = none, none, "", 0
	return e
}

func full(r *Request) (row, bool) { return whole(r), true }

// micro is of stages with microseconds.
func micro(r *Request) (row, bool) {
	e := whole(r)
	e.time = down(r.At[Completed], 1e3)
	e.latency = e.time - down(r.At[Queued], 1e3)
	e.queue = down(r.At[Issued], 1e3) - down(r.At[Queued], 1e3)
	return e, true
}

// arrival is of formats without latency.
func arrival(resolution int64) func(r *Request) (row, bool) {
	return func(r *Request) (row, bool) {
		e := whole(r)
		e.time, e.latency, e.kind = down(r.At[Queued], resolution), none, ingest.KindNone
		return e.bare(), r.Op != ingest.OpFlush
	}
}

// called is of calls that are told with their start in microseconds.
func called(r *Request) row {
	e := whole(r)
	e.latency = down(r.LatencyNS(), 1e3)
	e.time = down(r.At[Queued], 1e3) + e.latency
	e.queue, e.comm, e.flags, e.pid, e.kind = none, "", 0, int32(r.thread()), ingest.KindApp
	if r.Op == ingest.OpFlush {
		e.offset = none
	}
	return e
}

// kept is a Log that keeps what went by.
type kept struct{ rows []Request }

func (k *kept) Stage(at Stage, r *Request) {
	if at == Completed {
		k.rows = append(k.rows, *r)
	}
}

// lawOptions are a fleet with each pathology, and healthy devices, for a short time.
func lawOptions(format string) Options {
	o := DefaultOptions()
	o.Devices, o.Hosts, o.Hours, o.Format, o.Seed, o.Rate, o.Sick = 12, 2, 0.002, format, 7, 30, 0.7
	return o
}

// TestWhatIsWrittenIsRead holds each format to its law: what ingest reads is what
// the queues did, request by request.
func TestWhatIsWrittenIsRead(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has TestSame")
	}
	for _, f := range Formats() {
		t.Run(f.Name, func(t *testing.T) {
			o := lawOptions(f.Name)
			dir := t.TempDir()
			made, err := Write(context.Background(), dir, o)
			if err != nil {
				t.Fatal(err)
			}
			got := readBack(t, dir, f)
			fleet, _ := NewFleet(o)
			total := int64(0)
			for i := range o.Devices {
				v := fleet.Disk(i)
				k := new(kept)
				v.play(k, false, Completed)
				total += int64(len(k.rows))
				var want []row
				for j := range k.rows {
					if e, ok := laws[f.Name](&k.rows[j]); ok {
						if e.comm == "(program)" {
							e.comm = program(v)
						}
						want = append(want, e)
					}
				}
				host, device := f.key(v)
				k2 := [2]string{host, device}
				if byNumber := [2]string{host, fmt.Sprintf("dev:%d:%d", v.Major, v.Minor)}; got[byNumber] != nil {
					k2 = byNumber // the table of partitions, which is not read here, has its name
				}
				compareRows(t, v, got[k2], want)
				delete(got, k2)
			}
			for k := range got {
				t.Errorf("rows of %v, which is no device", k)
			}
			if total != made.Requests || total < 1000 {
				t.Errorf("%d requests made, %d played", made.Requests, total)
			}
		})
	}
}

// readBack gives the rows of all logs below dir, by host and device.
func readBack(t *testing.T, dir string, f Format) map[[2]string][]row {
	t.Helper()
	o := ingest.DefaultOptions()
	if f.Settings != "" {
		c, _, err := configs.Load(filepath.Join(dir, "iopathy.yaml"), nil)
		if err != nil {
			t.Fatal(err)
		}
		o.Mappings = c.Ingest.Mappings
	}
	inputs, _, err := ingest.Resolve([]string{filepath.Join(dir, "runs")}, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[[2]string][]row{}
	for _, in := range inputs {
		if filepath.Base(in.Path) == "partitions.txt" || filepath.Ext(in.Path) == ".clock" {
			continue
		}
		if f.Clock {
			o.StartNS = startNS
		}
		rep, err := ingest.Read(context.Background(), in, o, 1, func(c *ingest.Chunk) error {
			b := c.Batch
			for i := range b.Events {
				e := &b.Events[i]
				k := [2]string{b.Names.String(e.Host), b.Names.String(e.Device)}
				got[k] = append(got[k], row{e.TimeNS, e.LatencyNS, e.QueueNS, e.OffsetBytes, e.SizeBytes, e.PID, e.Op, e.Flags, b.Names.String(e.Comm), e.Kind})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if rep.Format != f.reader() || rep.Problem != "" {
			t.Fatalf("%s is read as %q: %s", in.Path, rep.Format, rep.Problem)
		}
		if rep.Tally.Rejected() > 0 || len(rep.Tally.Unpaired) > 0 {
			t.Errorf("%s: rejected %v, unpaired %v", in.Path, rep.Tally.Rejects, rep.Tally.Unpaired)
		}
	}
	return got
}

// compareRows wants the same rows, in whatever order.
func compareRows(t *testing.T, v *Disk, got, want []row) {
	t.Helper()
	order := func(a, b row) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.offset, b.offset), cmp.Compare(a.size, b.size), cmp.Compare(a.op, b.op),
			cmp.Compare(a.latency, b.latency), cmp.Compare(a.pid, b.pid), cmp.Compare(a.queue, b.queue))
	}
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if len(got) != len(want) {
		t.Errorf("%s/%s: %d rows of %d requests", v.Host, v.Name, len(got), len(want))
	}
	wrong := 0
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			if wrong++; wrong <= 3 {
				t.Errorf("%s/%s row %d:\n got %+v\nwant %+v", v.Host, v.Name, i, got[i], want[i])
			}
		}
	}
	if wrong > 3 {
		t.Errorf("%s/%s: %d of %d rows are wrong", v.Host, v.Name, wrong, len(want))
	}
}

// TestEveryFormat wants a writer for each format whose logs on the shelf give
// events, and a law for each writer.
func TestEveryFormat(t *testing.T) {
	written := map[string]bool{}
	for _, f := range Formats() {
		if _, err := ingest.FormatNamed(f.reader()); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if laws[f.Name] == nil {
			t.Errorf("%s has no law", f.Name)
		}
		written[f.reader()] = true
	}
	events := 0
	for _, f := range ingest.Formats() {
		goldens, err := filepath.Glob(filepath.Join("..", "..", "..", "ingest", "formats", "testdata", f.Name, "*.golden"))
		if err != nil || len(goldens) == 0 {
			t.Fatalf("%s has no golden: %v", f.Name, err)
		}
		carries := false
		for _, g := range goldens {
			data, err := os.ReadFile(g)
			if err != nil {
				t.Fatal(err)
			}
			carries = carries || bytes.Contains(data, []byte("\nevent "))
		}
		if carries {
			if events++; !written[f.Name] {
				t.Errorf("%s carries events and can't be written", f.Name)
			}
		}
	}
	if events < 20 {
		t.Errorf("%d formats carry events", events)
	}
}
