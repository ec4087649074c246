package local

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

type row struct {
	ingest.Event
	from string
}

type slice struct {
	rows []row
	at   int
}

func (s *slice) head() *ingest.Event { return &s.rows[s.at-1].Event }
func (s *slice) input() string       { return s.rows[s.at-1].from }
func (s *slice) minTime() int64      { return s.rows[0].TimeNS }
func (s *slice) next() error {
	if s.at == len(s.rows) {
		return io.EOF
	}
	s.at++
	return nil
}

func (s *slice) ready() (all []ingest.Event) {
	for _, r := range s.rows[s.at-1 : min(s.at+2, len(s.rows))] {
		all = append(all, r.Event)
	}
	return all
}

func (s *slice) skip(n int) error {
	s.at += n - 1
	return s.next()
}

// The merge of sorted parts is the sorted whole, however the rows were dealt.
func TestMergeIsSort(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for trial := range 200 {
		n := rnd.IntN(200)
		all := make([]row, n)
		for i := range all {
			all[i] = row{Event: ingest.Event{TimeNS: rnd.Int64N(40), LatencyNS: rnd.Int64N(3), OffsetBytes: rnd.Int64N(3), Position: int64(i)}, from: string('a' + rune(rnd.IntN(3)))}
		}
		one := func(r row) source { return &slice{[]row{r}, 1} }
		order := func(a, b row) int {
			switch {
			case before(one(a), one(b)):
				return -1
			case before(one(b), one(a)):
				return 1
			}
			return 0
		}
		parts := make([]*slice, 1+rnd.IntN(6))
		for i := range parts {
			parts[i] = &slice{}
		}
		for _, r := range all {
			p := parts[rnd.IntN(len(parts))]
			p.rows = append(p.rows, r)
		}
		var sources []source
		for _, p := range parts {
			if len(p.rows) > 0 {
				slices.SortFunc(p.rows, order)
				sources = append(sources, p)
			}
		}
		slices.SortStableFunc(sources, func(a, b source) int { return int(a.minTime() - b.minTime()) })
		var got, want []ingest.Event
		if err := merge(sources, func(e []ingest.Event) error { got = append(got, e...); return nil }); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(all, order)
		for _, r := range all {
			want = append(want, r.Event)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("trial %d: merged rows are not the sorted rows", trial)
		}
	}
	stop := errors.New("stop")
	if err := merge([]source{&slice{rows: make([]row, 3)}}, func([]ingest.Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}
