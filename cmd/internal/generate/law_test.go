package generate

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

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
	return row{r.At[Completed], r.LatencyNS(), r.QueueNS(), r.Offset, r.Size, r.PID, r.Op, r.Flags, r.Comm, ingest.KindQ2C}
}

// down cuts a time to a resolution.
func down(v, to int64) int64 { return v / to * to }

const none = ingest.Missing

// laws give, by format, the row that a request must come back as, and false if
// the format has no line for it.
var laws = map[string]func(r *Request) (row, bool){
	"event-csv": func(r *Request) (row, bool) { return whole(r), true },
	"blkparse":  func(r *Request) (row, bool) { return whole(r), true },
	"msr": func(r *Request) (row, bool) {
		e := whole(r)
		e.latency = down(r.LatencyNS(), 100)
		e.time = down(r.At[Queued], 100) + e.latency
		e.queue, e.pid, e.comm, e.flags = none, none, "", 0
		return e, r.Op != ingest.OpFlush
	},
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
	o.Devices, o.Hosts, o.Hours, o.Format, o.Seed, o.Rate, o.Sick = 12, 2, 0.003, format, 7, 30, 0.7
	return o
}

// TestWhatIsWrittenIsRead holds each format to its law: what ingest reads is what
// the queues did, request by request.
func TestWhatIsWrittenIsRead(t *testing.T) {
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
				v.play(k, false)
				total += int64(len(k.rows))
				var want []row
				for j := range k.rows {
					if e, ok := laws[f.Name](&k.rows[j]); ok {
						want = append(want, e)
					}
				}
				k2 := [2]string{v.Host, f.Device(v)}
				if byNumber := [2]string{v.Host, fmt.Sprintf("dev:%d:%d", v.Major, v.Minor)}; got[byNumber] != nil {
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
		if rep.Format != f.Name || rep.Problem != "" {
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
