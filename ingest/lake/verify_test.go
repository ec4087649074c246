package lake

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestConcerned flips bytes in a part of several blocks and row groups and
// wants the devices and times of the rows there.
func TestConcerned(t *testing.T) {
	dir := t.TempDir()
	name := PartName{Events, "2026-11-29", "h", "in", 0}.Path()
	path := filepath.Join(dir, filepath.FromSlash(name))
	var groups [][]Column
	device := func(s string, n int) []string { return slices.Repeat([]string{s}, n) }
	for g, names := range [][]string{device("sda", 60_000), device("sdb", 60_000), append(append(device("sdc", 30_000), device("sdd", 10_000)...), device("sde", 10_000)...)} {
		n := len(names)
		times, noise := make([]int64, n), make([]float64, n)
		for i := range times {
			times[i] = int64(g)*1e9 + int64(i)
			noise[i] = float64(i) * 1.1
		}
		groups = append(groups, []Column{{Name: "time_ns", Data: times}, {Name: "device", Data: names}, {Name: "noise", Data: noise}, {Name: "more", Data: noise}, {Name: "yet_more", Data: noise}})
	}
	p := write(t, path, groups...)
	p.Path = name
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, at int, want string) {
		t.Helper()
		b := slices.Clone(whole)
		b[at] ^= 4
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		faults, err := VerifyPart(dir, p)
		if err != nil || len(faults) != 1 {
			t.Fatalf("%s: %v, %v", what, faults, err)
		}
		f := faults[0]
		if f.Host != "h" || f.Date != "2026-11-29" || f.Input != "in" || f.Kind != Damaged || int64(at) < f.From || int64(at) >= f.To || f.Block != at>>20 {
			t.Errorf("%s: %+v", what, f)
		}
		if got := fmt.Sprint(f.Devices, f.FirstNS, f.LastNS); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	check("the first row group", 500_000, "[sda] 0 59999")
	check("a block of two row groups", 1<<20+600_000, "[sda sdb] 0 1000059999")
	check("a row group of several devices", 3<<20+100_000, "[sdc sdd sde] 2000000000 2000049999")
	check("the footer's end", len(whole)-1, "[sda sde] 0 2000049999")

	if err := os.Truncate(path, 2<<20); err != nil {
		t.Fatal(err)
	}
	faults, err := VerifyPart(dir, p)
	if err != nil || len(faults) != len(p.Blocks)-2 || !strings.Contains(faults[0].Why, "ends at byte 2097152") {
		t.Errorf("cut: %v, %v", faults, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if faults, err = VerifyPart(dir, p); err != nil || len(faults) != 1 || faults[0].Kind != Absent || fmt.Sprint(faults[0].Devices, faults[0].LastNS) != "[sda sde] 2000049999" {
		t.Errorf("gone: %v, %v", faults, err)
	}
}

func TestUnnamed(t *testing.T) {
	dir := t.TempDir()
	l, err := NewLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cols := []Column{{Name: "x", Data: []int64{1}}}
	put := func(input string) Part {
		name := PartName{Events, "2026-11-29", "h", input, 0}.Path()
		p := write(t, filepath.Join(dir, filepath.FromSlash(name)), cols)
		p.Path = name
		return p
	}
	m := []Manifest{{Parts: []Part{put("a")}}}
	want := put("b")
	put("c")
	if err := l.Begin("two", []string{"c"}); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(filepath.Join(dir, "ticks", "x.parquet"), Fields(cols), nil); err != nil { // and crash
		t.Fatal(err)
	}
	extra, unfinished, err := Unnamed(dir, m)
	if err != nil || len(extra) != 1 || extra[0].Path != want.Path || unfinished != 2 {
		t.Errorf("extra %v, %d unfinished, %v", extra, unfinished, err)
	}
}
