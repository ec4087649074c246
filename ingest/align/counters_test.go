package align

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestCounters: a log is put where its counters are, to the interval; what is even,
// short or of something else is refused.
func TestCounters(t *testing.T) {
	work := func(seed uint64, seconds int, even bool) (ios []Moment) {
		r := rand.New(rand.NewPCG(seed, 3))
		for s := range int64(seconds) {
			n := int64(20)
			if !even {
				n += r.Int64N(80)
			}
			for i := range n {
				ios = append(ios, Moment{TimeNS: s*1e9 + i*1e9/n, Bytes: 4096, Write: i%3 == 0})
			}
		}
		return ios
	}
	const start = int64(1_700_000_000e9)
	count := func(ios []Moment, offset, interval int64, keep func(*ingest.Sample)) (out []ingest.Sample) {
		first, last := ios[0].TimeNS+offset, ios[len(ios)-1].TimeNS+offset
		for at := first - first%interval - 2*interval; at < last+2*interval; at += interval {
			s := ingest.NewSample()
			s.TimeNS, s.IntervalNS, s.Reads, s.Writes, s.ReadBytes, s.WriteBytes = at+interval, interval, 0, 0, 0, 0
			for _, m := range ios {
				if d := m.TimeNS + offset - at; d < 0 || d >= interval {
					continue
				}
				if m.Write {
					s.Writes, s.WriteBytes = s.Writes+1, s.WriteBytes+m.Bytes
				} else {
					s.Reads, s.ReadBytes = s.Reads+1, s.ReadBytes+m.Bytes
				}
			}
			if keep != nil {
				keep(&s)
			}
			out = append(out, s)
		}
		return out
	}
	check := func(name string, ios []Moment, samples []ingest.Sample, offset, within int64, want error) {
		t.Helper()
		f, err := Counters(ios, samples)
		if !errors.Is(err, want) {
			t.Errorf("%s: %+v, %v, want %v", name, f, err, want)
		}
		if off := abs(f.OffsetNS - offset); want == nil && (off > f.ErrorNS || off > within || f.Share < 0.9) {
			t.Errorf("%s: off by %d ns, %+v", name, off, f)
		}
	}
	a := work(1, 30, false)
	const odd = start + 337_000_000
	check("1 s", a, count(a, odd, 1e9, nil), odd, 40e6, nil)
	check("2 s", a, count(a, odd, 2e9, nil), odd, 80e6, nil)
	check("back", a, count(a, -odd, 1e9, nil), -odd, 40e6, nil)
	check("reads alone", a, count(a, odd, 1e9, func(s *ingest.Sample) { s.Writes, s.WriteBytes = ingest.Missing, ingest.Missing }), odd, 40e6, nil)
	check("bytes alone", a, count(a, odd, 1e9, func(s *ingest.Sample) { s.Writes, s.Reads = ingest.Missing, ingest.Missing }), odd, 40e6, nil)
	check("sums alone", a, count(a, odd, 1e9, func(s *ingest.Sample) {
		s.TotalIOs, s.TotalBytes = s.Reads+s.Writes, s.ReadBytes+s.WriteBytes
		s.Reads, s.Writes, s.ReadBytes, s.WriteBytes = ingest.Missing, ingest.Missing, ingest.Missing, ingest.Missing
	}), odd, 40e6, nil)
	check("a part of a longer log", a, count(a, odd, 1e9, nil)[12:], odd, 40e6, nil)
	check("something else", work(2, 30, false), count(a, odd, 1e9, nil), 0, 0, ErrFew)
	check("even", work(1, 30, true), count(work(1, 90, true), odd, 1e9, nil), 0, 0, ErrAmbiguous)
	check("short", work(1, 5, false), count(work(1, 5, false), odd, 1e9, nil), 0, 0, ErrFew)
	check("no counters", a, nil, 0, 0, ErrFew)
	check("idle counters", a, count(a, odd, 1e9, func(s *ingest.Sample) { s.Reads, s.Writes, s.ReadBytes, s.WriteBytes = 0, 0, 0, 0 }), 0, 0, ErrFew)
	check("nothing counted", a, count(a, odd, 1e9, func(s *ingest.Sample) {
		s.Reads, s.Writes, s.ReadBytes, s.WriteBytes = ingest.Missing, ingest.Missing, ingest.Missing, ingest.Missing
	}), 0, 0, ErrFew)
}
