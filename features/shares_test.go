package features

import "testing"

// Two cgroups and the root above them, read every 10 s: shares by hand. The span
// is [20, 40) s with 20 s before and after it.
func TestShareFold(t *testing.T) {
	f := NewShareFold([]Phased{{FromNS: 20e9, ToNS: 40e9, MarginNS: 20e9}})
	a, b := 0.0, 0.0
	for s := int64(0); s <= 60; s += 10 {
		at := s * 1e9
		if s == 0 {
			at = 1 // 0 is no time
		}
		f.Add(CgroupReadBytes, at, a, "/cg/a")
		f.Add(CgroupWriteBytes, at, b, "/cg/b")
		f.Add(CgroupReadBytes, at, a+b, "/cg")
		f.Add(CgroupReads, at, a/100, "/cg/a")
		f.Add("cpu_idle_share", at, 1, "/cg/c")
		f.Add(CgroupReadBytes, at, a, "") // of nobody
		a += 1000                         // all the time
		if s >= 20 && s < 40 {
			b += 9000 // during the span
		}
	}
	got := f.Actors(0)
	if len(got) != 2 || got[0].Name != "/cg/a" || got[1].Name != "/cg/b" {
		t.Fatalf("got %+v, want the two that have none below them", got)
	}
	for p, want := range [][2]int64{{2000, 0}, {2000, 18000}, {2000, 0}} {
		if x, y := got[0].Phase[p].Bytes, got[1].Phase[p].Bytes; x != want[0] || y != want[1] {
			t.Errorf("%s: %d and %d bytes, want %v", Phase(p), x, y, want)
		}
	}
	if r := got[0].Phase[During].Requests; r != 20 {
		t.Errorf("%d requests during, want 20", r)
	}
	if w := got[1].Phase[During].WriteBytes; w != 18000 {
		t.Errorf("%d bytes written during, want 18000", w)
	}
	// A reading across the border of two phases is split by time.
	f = NewShareFold([]Phased{{FromNS: 20e9, ToNS: 40e9, MarginNS: 20e9}})
	f.Add(CgroupReadBytes, 10e9, 500, "/x")
	f.Add(CgroupReadBytes, 50e9, 4500, "/x")
	f.Add(CgroupReadBytes, 55e9, 100, "/x") // began anew
	got = f.Actors(0)
	for p, want := range []int64{1000, 2000, 1100} {
		if x := got[0].Phase[p].Bytes; x != want {
			t.Errorf("%s: %d bytes, want %d", Phase(p), x, want)
		}
	}
}
