package ingest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestByHostDate(t *testing.T) {
	b := batch(300, 4)
	var got []string
	events, samples, facts := 0, 0, 0
	for _, p := range b.ByHostDate(1) {
		got = append(got, p.Host+"/"+p.Date)
		events, samples, facts = events+p.Events.Len(), samples+len(p.Samples), facts+len(p.Evidence)
		rows := p.Events.Rows(0, p.Events.Len(), nil)
		for _, r := range rows {
			if b.Names.String(b.Events[r].Host) != p.Host {
				t.Fatalf("row %d stands under host %q", r, p.Host)
			}
		}
		if !slices.Equal(p.Events.Presence(), presence(b, rows)) {
			t.Errorf("%s/%s: presence %v", p.Host, p.Date, p.Events.Presence())
		}
	}
	// 1795996800 is 2026-11-30T00:00:00Z.
	want := "/2026-11-29 /2026-11-30 h1/2026-11-29 h1/2026-11-30 h2/2026-11-29 h2/2026-11-30"
	if strings.Join(got, " ") != want || events != 300 || samples != 300 || facts != 300 {
		t.Errorf("partitions %v with %d, %d, %d rows", got, events, samples, facts)
	}
	old := &Batch{Events: []Event{{TimeNS: -1}}}
	if p := old.ByHostDate(1); p[0].Date != "1969-12-31" {
		t.Errorf("before the epoch: %s", p[0].Date)
	}
}

// ordered gives the rows of all events in their order, asked for in pieces of so
// many, and what the partitions tell of themselves.
func ordered(b *Batch, workers, piece int) (all []int32, told string) {
	var rows []int32
	for _, p := range b.ByHostDate(workers) {
		for from := 0; from < p.Events.Len(); from += piece {
			rows = p.Events.Rows(from, min(from+piece, p.Events.Len()), rows)
			all = append(all, rows...)
		}
		told += fmt.Sprintln(p.Host, p.Date, p.Events.Runs(), p.Events.Presence())
	}
	return all, told
}

// The order is that of the plain comparison of events, of many devices, nearly
// in order and not at all, and does not depend on the workers.
func TestOrder(t *testing.T) {
	check := func(what string, b *Batch) {
		t.Helper()
		want := all(len(b.Events))
		name := b.Names.String
		slices.SortFunc(want, func(i, j int32) int {
			x, y := &b.Events[i], &b.Events[j]
			return cmp.Or(strings.Compare(name(x.Host), name(y.Host)), cmp.Compare(day(x.TimeNS), day(y.TimeNS)),
				strings.Compare(name(x.Device), name(y.Device)), b.compareEvents(i, j))
		})
		got, told := ordered(b, 1, 1<<20)
		if !slices.Equal(want, got) {
			t.Errorf("%s: not in order", what)
		}
		if again, same := ordered(b, 3, 777); !slices.Equal(again, got) || same != told {
			t.Errorf("%s: three workers give another order than one", what)
		}
		for _, p := range b.ByHostDate(2) {
			sum := 0
			for _, n := range p.Events.Runs() {
				sum += n
			}
			if sum != p.Events.Len() {
				t.Errorf("%s: runs of %d events, %d in all", what, sum, p.Events.Len())
			}
		}
	}
	check("few", batch(2000, 8))
	many := batch(2*leastSpan+17, 9)
	check("many", many)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range many.Events {
		e := &many.Events[i]
		e.Device, e.Host = many.Names.InternString(fmt.Sprint("d", r.IntN(3000))), many.Names.InternString("h1")
		e.TimeNS = int64(i)*1e6 + r.Int64N(3e6)
	}
	check("thousands of devices, nearly in order", many)
	many.Names.Rename(func(s string) string { return strings.TrimSuffix(s, "7") })
	check("two names of one device", many)
}
