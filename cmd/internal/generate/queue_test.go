package generate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// bench runs one load on a device for some seconds and gives what was done.
func bench(law Law, sick ill, seconds float64, loads ...Load) []Request {
	d := newDraws(3, 1)
	if law.Tags == 0 {
		law.Tags = 1 << 20
	}
	if law.Bytes == 0 {
		law.Bytes = 1 << 40
	}
	for i := range loads {
		l := &loads[i]
		if l.Hi == 0 {
			l.Hi = law.Bytes
		}
		if l.Sizes == nil {
			l.Sizes = []int64{4 * kib}
		}
		l.PID = int32(1000 + 100*i)
	}
	k := new(kept)
	q := newQueue(newDevice(law, sick, d), d, loads, startNS, startNS+int64(seconds*1e9), k, false, Completed)
	q.run()
	return k.rows
}

func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got-want) > share*math.Abs(want) {
		t.Errorf("%s: %g, want %g within %g %%", what, got, want, 100*share)
	}
}

// TestQueueAgainstTheory holds waits against Pollaczek and Khinchine's formula for
// one server (M/G/1: wait = rate E[S²] / (2 (1-u))), and Erlang's C for several
// (M/M/c needs exponential service; for constant service the wait is about half,
// Cosmetatos 1975, so that the bounds are wide there).
func TestQueueAgainstTheory(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has TestSame")
	}
	for _, c := range []struct{ sigma, use float64 }{{0, 0.5}, {0, 0.8}, {0.5, 0.7}} {
		law := Law{Channels: 1, ReadNS: 1e6, Sigma: c.sigma}
		// A log-normal of median 1e6 ns: mean m exp(s²/2), second moment m² exp(2 s²).
		mean, second := 1e6*math.Exp(c.sigma*c.sigma/2), 1e12*math.Exp(2*c.sigma*c.sigma)
		rate := c.use / mean
		rows := bench(law, ill{}, 150, Load{Arrival: Poisson, Rate: rate * 1e9, Read: 1})
		var spent float64
		for i := range rows {
			spent += float64(rows[i].LatencyNS())
		}
		n := float64(len(rows))
		near(t, "requests", n, rate*150e9, 0.02)
		wait := rate * second / (2 * (1 - c.use))
		near(t, "time in the system", spent/n, mean+wait+2600, 0.06) // 2600: the kernel's stages
	}
	// Two servers of constant service at u = 0.6: Erlang's C gives a wait of
	// 0.5625 S for exponential service, half of it is 0.281 S.
	rows := bench(Law{Channels: 2, ReadNS: 1e6}, ill{}, 150, Load{Arrival: Poisson, Rate: 1200, Read: 1})
	var spent float64
	for i := range rows {
		spent += float64(rows[i].LatencyNS())
	}
	near(t, "two servers", spent/float64(len(rows)), 1.281e6, 0.06)
}

// TestLittle holds the mean number in flight, integrated over time, against rate
// times latency, with a closed load whose number is known.
func TestLittle(t *testing.T) {
	rows := bench(Law{Channels: 4, ReadNS: 1e6, Sigma: 0.3}, ill{}, 20, Load{Arrival: Closed, Depth: 12, Read: 1})
	var sum float64
	for i := range rows {
		sum += float64(rows[i].LatencyNS() + againNS)
	}
	near(t, "in flight", sum/20e9, 12, 0.01)
	near(t, "throughput", float64(len(rows))/20, 4/(1e-3*math.Exp(0.045)), 0.02)
}

// TestStages wants stamps that never fall, no more at once than there are
// channels and tags, and all shown in the order of time.
func TestStages(t *testing.T) {
	o := lawOptions("blkparse")
	f, err := NewFleet(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range o.Devices {
		v := f.Disk(i)
		w := &watch{t: t, tags: v.Law.Tags}
		n := v.play(w, true, 0)
		if n != w.done || w.out != 0 {
			t.Errorf("%s: %d requests, %d seen done, %d left with the driver", v.Run, n, w.done, w.out)
		}
	}
}

type watch struct {
	t         *testing.T
	last      int64
	tags, out int
	done      int64
}

func (w *watch) Stage(at Stage, r *Request) {
	if r.At[at] < w.last {
		w.t.Errorf("a stage at %d behind one at %d", r.At[at], w.last)
	}
	w.last = r.At[at]
	switch at {
	case Issued:
		// A flush takes no tag; a completion is shown before the issue that it makes room for.
		if w.out++; w.out > w.tags+1 {
			w.t.Errorf("%d requests with the driver, which takes %d", w.out, w.tags)
		}
	case Completed:
		w.out--
		w.done++
		if !slices.IsSorted(r.At[:]) {
			w.t.Errorf("stages %v", r.At)
		}
	}
}

// arrivals are requests as a log of arrivals has them.
type arrivals struct{ rows []Request }

func (a *arrivals) Stage(_ Stage, r *Request) {
	a.rows = append(a.rows, Request{At: [stages]int64{Queued: r.At[Queued]}, Offset: r.Offset, Size: r.Size, Comm: r.Comm, PID: r.PID, Op: r.Op, Flags: r.Flags})
}

// TestUnseen holds queues whose ends are not looked at, and those of which nobody is served
// at all, to the same ones whose ends are seen: the same arrivals, and the fault is over at
// the same time.
func TestUnseen(t *testing.T) {
	o := DefaultOptions()
	o.Devices, o.Hours, o.Rate = 60, 0.01, 1000
	fleet, err := NewFleet(o)
	if err != nil {
		t.Fatal(err)
	}
	hidden, open, sick, waited := 0, 0, 0, 0
	for i := range o.Devices {
		var want arrivals
		all := fleet.Disk(i).queue(&want, false, Queued)
		if !all.unseen {
			continue
		}
		all.unseen, all.open = false, false
		all.run()
		hidden++
		if all.fault[1] > 0 {
			sick++
		}
		for _, served := range []bool{true, false} {
			var got arrivals
			q := fleet.Disk(i).queue(&got, false, Queued)
			if served {
				q.open = false
			} else if !q.open {
				continue
			} else {
				open++
			}
			q.run()
			if len(q.slab) > 0 {
				waited++
			}
			if q.count != all.count || q.held != all.held || !slices.Equal(got.rows, want.rows) {
				t.Errorf("device %d: %d requests, %d of them shown, held until %d; want %d, %d, %d", i, q.count, len(got.rows), q.held, all.count, len(want.rows), all.held)
			}
		}
	}
	if hidden < 20 || open < 15 || sick < 2 || waited < 5 || waited == hidden {
		t.Errorf("of %d devices %d are unseen, %d of them sick, %d need not be served, and on %d somebody waits: not all cases", o.Devices, hidden, sick, open, waited)
	}
}

// TestAgenda holds what is due against sorting: of loads' arrivals, of what comes in order
// and of all else; and a line against a slice.
func TestAgenda(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	h := newAgenda(3)
	var want []due
	var now int64
	arrives := make([]bool, 3)
	for range 5000 {
		for range r.IntN(5) {
			d := due{now + int64(r.IntN(50)), uint64(r.IntN(1000))}
			switch load := r.IntN(len(arrives)); r.IntN(6) {
			case 0:
				d.at = now + 50
				h.again.put(d, math.MaxInt)
			case 1:
				if arrives[load] {
					continue
				}
				h.arrive(load, d)
				arrives[load] = true
			case 2:
				d.code |= doneCode
				h.end(d)
			default:
				h.push(d)
			}
			want = append(want, d)
		}
		slices.SortFunc(want, func(a, b due) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.code, b.code)) })
		for range r.IntN(5) {
			got, load := h.next()
			if len(want) == 0 {
				if got != never {
					t.Fatalf("next is %v, want none", got)
				}
				break
			}
			if got != want[0] {
				t.Fatalf("next is %v, want %v", got, want[0])
			}
			now, want = got.at, want[1:]
			if load >= 0 {
				arrives[load] = false
				h.arrive(load, never)
			}
		}
	}
	var q line
	var s []int32
	for i := range int32(2000) {
		q.push(i)
		s = append(s, i)
		if r.IntN(3) > 0 {
			k := r.IntN(len(s))
			if got := q.take(k); got != s[k] {
				t.Fatalf("took %d, want %d", got, s[k])
			}
			s = slices.Delete(s, k, k+1)
		}
	}
	if q.n != len(s) {
		t.Errorf("%d in line, want %d", q.n, len(s))
	}
}
