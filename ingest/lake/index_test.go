package lake

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestCuts(t *testing.T) {
	check := func(runs string, max int, want ...int) {
		t.Helper()
		var devices []string
		for _, run := range strings.Fields(runs) { // a3: three rows of a
			var name string
			var n int
			fmt.Sscanf(run, "%1s%d", &name, &n)
			devices = append(devices, slices.Repeat([]string{name}, n)...)
		}
		if got := Cuts(devices, max, max); !slices.Equal(got, want) {
			t.Errorf("Cuts(%s, %d) = %v, want %v", runs, max, got, want)
		}
	}
	check("", 4)
	check("a1", 4, 1)
	check("a4", 4, 4)
	check("a5", 4, 4, 5)
	check("a8", 4, 4, 8)
	check("a2 b2 c1", 4, 4, 5)
	check("a2 b3 c1", 4, 2, 6)
	check("a1 b9 c1 d1", 4, 1, 5, 9, 10, 12)
	check("a9 b9", 4, 4, 8, 9, 13, 17, 18)
	check("a3 b3 c3", 0, 9)

	own := slices.Concat(slices.Repeat([]string{"a"}, 2), slices.Repeat([]string{"b"}, 7), slices.Repeat([]string{"c"}, 2), slices.Repeat([]string{"d"}, 2))
	if got := Cuts(own, 3, 5); !slices.Equal(got, []int{2, 7, 9, 11, 13}) {
		t.Errorf("devices that share less than one may have of its own: %v", got)
	}
}

type row struct {
	device string
	time   int64
	part   int
	text   string
}

// TestStreams writes rows of devices of all sizes to parts that overlap in
// time, and reads each device back.
func TestStreams(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	dir := t.TempDir()
	var want []row
	var paths []string
	for p := range 5 {
		var rows []row
		for d, n := range []int{3, 1000, 1, 20_000, 0, 40, 17, 9000} {
			if rng.IntN(4) == 0 && n < 1000 {
				continue
			}
			now := int64(p) * 1_000_000
			for range n {
				now += rng.Int64N(1000)
				name := fmt.Sprintf("sd%c", 'a'+d)
				if d == 0 {
					name = "" // a null
				}
				rows = append(rows, row{name, now, p, fmt.Sprint(now % 7)})
			}
		}
		slices.SortStableFunc(rows, func(a, b row) int { return strings.Compare(a.device, b.device) })
		want = append(want, rows...)
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("%d.parquet", p)))
		device, time, part, text, valid := make([]string, len(rows)), make([]int64, len(rows)), make([]int32, len(rows)), make([]string, len(rows)), make([]bool, len(rows))
		for i, r := range rows {
			device[i], time[i], part[i], text[i], valid[i] = r.device, r.time, int32(r.part), r.text, r.device != ""
		}
		cols := []Column{{Name: "time_ns", Data: time}, {Name: "device", Data: device, Valid: valid}, {Name: "part", Data: part}, {Name: "text", Data: text}}
		w, err := Create(paths[p], Fields(cols), nil)
		if err != nil {
			t.Fatal(err)
		}
		from := 0
		for _, to := range Cuts(device, 8000, 8000) {
			if err := w.Write(cut(cols, from, to)); err != nil {
				t.Fatal(err)
			}
			from = to
		}
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	slices.Reverse(paths)
	x, err := NewIndex(paths)
	if err != nil {
		t.Fatal(err)
	}
	devices, err := Devices(paths)
	if err != nil || !slices.Equal(devices, []string{"", "sdb", "sdc", "sdd", "sdf", "sdg", "sdh"}) {
		t.Fatalf("devices %q, %v", devices, err)
	}
	byDevice := make(map[string][]row)
	for _, r := range want { // the parts are in the order of their first times
		byDevice[r.device] = append(byDevice[r.device], r)
	}
	var wg sync.WaitGroup
	for _, d := range devices {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var got []row
			last := int64(-1)
			for _, s := range x.Streams(d, []string{"text", "time_ns", "part"}) {
				if s.MinTime < last {
					t.Errorf("%q: a stream from %d after one from %d", d, s.MinTime, last)
				}
				last = s.MinTime
				rows := drainStream(t, s, d)
				if lo, hi := rows[0].time, rows[len(rows)-1].time; lo != s.MinTime || hi != s.MaxTime {
					t.Errorf("%q: times %d to %d, said were %d to %d", d, lo, hi, s.MinTime, s.MaxTime)
				}
				got = append(got, rows...)
			}
			slices.SortStableFunc(got, func(a, b row) int { return cmp.Compare(a.part, b.part) })
			if !reflect.DeepEqual(byDevice[d], got) {
				t.Errorf("%q: %d rows, want %d", d, len(got), len(byDevice[d]))
			}
		}()
	}
	wg.Wait()
	if s := x.Streams("sdz", nil); len(s) != 0 {
		t.Errorf("%d streams of no device", len(s))
	}
	s, err := Streams(paths, "sdb", nil)
	if err != nil || len(s) != 5 {
		t.Fatalf("%d streams, %v", len(s), err)
	}
	if cols, n, err := s[0].Next(); err != nil || len(cols) != 4 || n != 1000 {
		t.Errorf("all columns: %d rows of %d columns, %v", n, len(cols), err)
	}
	s[0].Close()
	if _, _, err := s[0].Next(); err == nil || err == io.EOF {
		t.Errorf("after Close: %v", err)
	}
}

func drainStream(t *testing.T, s *Stream, device string) (rows []row) {
	for {
		cols, n, err := s.Next()
		if err == io.EOF {
			return rows
		}
		if err != nil || n < 1 || n > BatchRows || len(cols) != 3 {
			t.Errorf("%q: %d rows of %d columns, %v", device, n, len(cols), err)
			return rows
		}
		for i := range n {
			rows = append(rows, row{device, cols[1].Data.([]int64)[i], int(cols[2].Data.([]int32)[i]), cols[0].Data.([]string)[i]})
		}
	}
}
