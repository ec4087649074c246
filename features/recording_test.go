package features

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// stretches says in words what a plan takes when, in seconds.
type taken struct {
	from, to float64
	name     string
}

func takes(p *Plan, recs []Recording) (out []taken) {
	for _, s := range p.Stretches {
		out = append(out, taken{float64(s.FromNS) / 1e9, float64(s.ToNS) / 1e9, recs[s.Recording].Name})
	}
	return out
}

func TestChoose(t *testing.T) {
	o := DefaultOptions()
	rec := func(name string, rank Rank, kind ingest.LatencyKind, perSecond int64, from, to float64) Recording {
		r := Recording{Name: name, Rank: rank, Kind: kind, Spans: []Extent{{int64(from * 1e9), int64(to * 1e9)}}, Count: NewSeries(0, 60e9, o)}
		for s := from; s < to; s++ {
			r.Count.Add(int64(s*1e9), perSecond, 4096*perSecond)
		}
		return r
	}
	q2c, d2c, app := ingest.KindQ2C, ingest.KindD2C, ingest.KindApp
	lossy := rec("a", RankBlock, q2c, 100, 0, 19.95)
	lossy.Seen = map[int64]float64{1: 0.8}
	check := func(what string, recs []Recording, seen map[int64]float64, want ...taken) {
		t.Helper()
		random := rand.New(rand.NewPCG(1, 2))
		for range 4 {
			p := Choose(recs, o)
			if got := takes(&p, recs); !reflect.DeepEqual(got, want) || len(p.Seen)+len(seen) > 0 && !reflect.DeepEqual(p.Seen, seen) {
				t.Errorf("%s: %v, seen %v; want %v, %v", what, got, p.Seen, want, seen)
			}
			random.Shuffle(len(recs), func(i, k int) { recs[i], recs[k] = recs[k], recs[i] })
		}
	}
	check("by rank", []Recording{rec("a", RankDriver, d2c, 100, 0, 20.05), rec("b", RankBlock, q2c, 100, 0, 20.05), rec("c", RankApplication, app, 999, 0, 20.05)}, nil,
		taken{0, 20.1, "b"})
	check("who missed most comes last", []Recording{rec("a", RankDriver, d2c, 100, 0, 20.05), rec("b", RankBlock, q2c, 49, 0, 20.05)}, nil,
		taken{0, 20.1, "a"})
	check("who saw more comes first", []Recording{rec("a", RankBlock, q2c, 90, 0, 9.95), rec("b", RankBlock, q2c, 100, 0, 9.95)}, nil,
		taken{0, 10, "b"})
	check("where it saw more", []Recording{lossy, rec("b", RankBlock, q2c, 100, 0, 19.95)}, nil,
		taken{0, 10, "a"}, taken{10, 20, "b"})
	check("alone, it is told what it missed", []Recording{lossy}, map[int64]float64{1: 0.8},
		taken{0, 20, "a"})
	check("by name", []Recording{rec("b", RankBlock, q2c, 100, 0, 9.95), rec("a", RankBlock, q2c, 100, 0, 9.95)}, nil,
		taken{0, 10, "a"})
	check("tick by tick within a kind", []Recording{rec("a", RankBlock, q2c, 100, 0, 9.95), rec("b", RankBlock, q2c, 100, 2, 19.95)}, nil,
		taken{0, 10, "a"}, taken{10, 20, "b"})
	check("one kind a window", []Recording{rec("a", RankDriver, d2c, 100, 0, 29.95), rec("b", RankBlock, q2c, 100, 14, 29.95)}, nil,
		taken{0, 10, "a"}, taken{14, 30, "b"})
	check("the kind of most of it", []Recording{rec("a", RankDriver, d2c, 100, 0, 29.95), rec("b", RankBlock, q2c, 100, 17, 29.95)}, nil,
		taken{0, 20, "a"}, taken{20, 30, "b"})
	check("nothing", nil, nil)

	p := Choose([]Recording{rec("a", RankDriver, d2c, 100, 0, 29.95), rec("b", RankBlock, q2c, 100, 17, 29.95)}, o)
	want := []Segment{{Extent{0, 20e9}, d2c}, {Extent{20e9, 30e9}, q2c}}
	if got := p.Segments(); !reflect.DeepEqual(got, want) {
		t.Errorf("segments %v, want %v", got, want)
	}
	for _, at := range []struct {
		ns   int64
		want int
	}{{-1, -1}, {0, 0}, {20e9 - 1, 0}, {20e9, 1}, {30e9 - 1, 1}, {30e9, -1}} {
		if got := p.At(at.ns); got != at.want {
			t.Errorf("at %d: %d, want %d", at.ns, got, at.want)
		}
	}
}

func TestSeries(t *testing.T) {
	o := DefaultOptions()
	s := NewSeries(5e9, 9e9, o)
	s.Add(5e9, 1, 10)
	s.Add(7e9+99e6, 2, 20)
	s.Add(9e9, 4, 40)
	s.Add(99e9, 8, 80) // outside
	for _, c := range []struct{ from, to, n, bytes int64 }{
		{0, 99e9, 7, 70}, {5e9, 9e9, 3, 30}, {5e9 + 1, 99e9, 6, 60}, {7e9, 7e9 + 100e6, 2, 20}, {9e9, 5e9, 0, 0},
	} {
		if n, b := s.Between(c.from, c.to); n != c.n || b != c.bytes {
			t.Errorf("%d to %d: %d, %d, want %d, %d", c.from, c.to, n, b, c.n, c.bytes)
		}
	}
	for _, c := range []struct{ span, want int64 }{
		{int64(6*3600) * 1e9, 100e6}, {int64(24*3600) * 1e9, 400e6}, {int64(365*24*3600) * 1e9, 160e9}, // 100 ticks have no third
	} {
		if got := seriesBin(c.span, o); got != c.want || c.span/got >= seriesBins {
			t.Errorf("bins of %d ns for %d ns, want %d", got, c.span, c.want)
		}
	}
}

func TestAlike(t *testing.T) {
	io := func(ms, offset int64, pid int32) ingest.Event {
		e := ingest.NewEvent()
		e.TimeNS, e.OffsetBytes, e.SizeBytes, e.Op, e.PID = ms*1e6, offset, 4096, ingest.OpRead, pid
		return e
	}
	a := []ingest.Event{io(1, 0, 5), io(2, 4096, 5), io(3, 8192, 5), io(4, 0, 5)}
	check := func(what string, b []ingest.Event, tolerance int64, want float64) {
		t.Helper()
		if got, back := Alike(a, b, tolerance), Alike(b, a, tolerance); got != want || back != want {
			t.Errorf("%s: %v and %v, want %v", what, got, back, want)
		}
	}
	check("itself", a, 0, 1)
	check("the half of it", a[:2], 0, 1)
	check("another task", []ingest.Event{io(1, 0, 6), io(2, 4096, 6)}, 1e6, 0)
	check("no task told", []ingest.Event{io(1, 0, -1), io(2, 4096, -1)}, 0, 1)
	check("neither task nor place", []ingest.Event{io(1, -1, -1), io(2, -1, -1)}, 1e9, 0)
	check("other times", []ingest.Event{io(11, 0, 5), io(12, 4096, 5)}, 1e6, 0)
	check("times that shake", []ingest.Event{io(2, 0, 5), io(3, 4096, 5)}, 1e6, 1)
	check("each I/O once", []ingest.Event{io(1, 0, 5), io(1, 0, 5), io(1, 0, 5), io(1, 0, 5)}, 0, 0.25)
	check("nothing", nil, 0, 0)
}
