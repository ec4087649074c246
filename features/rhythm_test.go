package features

import (
	"fmt"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestProfileRhythm: of a day the stretch with the largest bursts is kept, with
// the commands that have most requests; merging and the table keep it.
func TestProfileRhythm(t *testing.T) {
	var names ingest.Names
	fill := func(from, n int64, each func(p *Profile, at int64)) *Profile {
		p := NewProfile(DefaultOptions())
		p.UseNames(&names)
		for i := from; i < from+n; i++ {
			each(p, i*1e9)
		}
		return p
	}
	come := func(p *Profile, at int64, comm string, n int) {
		for range n {
			e := ingest.NewEvent()
			e.TimeNS, e.LatencyNS, e.Comm = at, 0, names.InternString(comm)
			p.AddEvent(&e)
		}
	}
	calm := func(p *Profile, at int64) { come(p, at, "web", 3) }
	wild := func(p *Profile, at int64) {
		come(p, at, fmt.Sprint("once ", at), 1)
		come(p, at, "web", 3)
		come(p, at+5e8, "timer", 900)
	}
	a, b := fill(1000, 600, calm), fill(2000, 100, wild)
	want := b.Rhythm()
	if want.StartNS != 2000e9 || want.BinNS != 1e8 || len(want.Lines) > rhythmCommands+1 {
		t.Fatalf("begins at %d, %d lines", want.StartNS, len(want.Lines))
	}
	sums := map[string]int64{}
	for _, l := range want.Lines {
		for _, n := range l.Arrivals {
			sums[l.Command] += n
		}
	}
	if sums["timer"] != 90_000 || sums["web"] < 150 {
		t.Errorf("arrivals %v", sums)
	}
	all := int64(0)
	for _, n := range sums {
		all += n
	}
	if all != 90_400 {
		t.Errorf("%d arrivals of 90,400", all)
	}
	check := func(name string, p *Profile) {
		t.Helper()
		if got := p.Rhythm(); got.StartNS != want.StartNS || len(got.Lines) != len(want.Lines) {
			t.Errorf("%s: begins at %d, %d lines of %d", name, got.StartNS, len(got.Lines), len(want.Lines))
		}
		if !slices.Equal(p.Rows()[len(p.Rows())-len(b.Rows()):], b.Rows()) {
			t.Errorf("%s: other rows", name)
		}
	}
	ab, ba := NewProfile(DefaultOptions()), NewProfile(DefaultOptions())
	ab.Merge(a)
	ab.Merge(b)
	ba.Merge(b)
	ba.Merge(a)
	check("calm, then wild", ab)
	check("wild, then calm", ba)
	halves := NewProfile(DefaultOptions())
	rows := b.Rows()
	for _, part := range [][]ProfileRow{rows[:len(rows)/2], rows[len(rows)/2:]} {
		d := DeviceProfile{Rows: part}
		halves.Merge(d.Profile())
	}
	check("rows in two halves", halves)
	again := fill(0, 0, nil)
	again.UseNames(&names)
	for i := range int64(100) {
		calm(again, (1000+i)*1e9)
	}
	for i := range int64(100) {
		wild(again, (2000+i)*1e9)
	}
	check("one fold", again)
	again.Reset()
	if got := again.Rhythm(); len(got.Lines) != 0 {
		t.Errorf("%d lines after a reset", len(got.Lines))
	}
	for i := range int64(100) {
		wild(again, (2000+i)*1e9)
	}
	again.UseNames(&ingest.Names{})
	if len(again.Rows()) == 0 {
		t.Error("no rows after a reset")
	}
}
