package ingest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// batch makes n random rows of each kind; optional fields are missing now and
// then.
func batch(n int, seed uint64) *Batch {
	r := rand.New(rand.NewPCG(seed, 2))
	b := &Batch{}
	name := func(words ...string) Name { return b.Names.InternString(words[r.IntN(len(words))]) }
	some := func(n int64) int64 {
		if r.IntN(4) == 0 {
			return Missing
		}
		return r.Int64N(n)
	}
	const night = 1795996790e9 // ten seconds before midnight
	for i := range n {
		e := NewEvent()
		e.TimeNS, e.Position = night+r.Int64N(20e9)/1e7*1e7, int64(i)
		e.Host, e.Device, e.Comm, e.File = name("h2", "h1", ""), name("sdb", "sda", "nvme0n1"), name("", "dd"), name("/f", "")
		e.PID, e.Depth, e.Error = int32(some(9)), int32(some(9)), int32(r.IntN(2)*5)
		e.OffsetBytes, e.SizeBytes, e.QueueNS, e.LatencyNS = some(100), some(3), some(100), some(100)
		e.Op, e.Flags, e.Kind = Op(r.IntN(5)), (FlagsTold|Flags(r.IntN(32)))*Flags(r.IntN(2)), LatencyKind(r.IntN(6))
		b.Events = append(b.Events, e)
		s := NewSample()
		s.TimeNS, s.IntervalNS, s.Position = night+r.Int64N(20e9), 1e9, int64(i)
		s.Host, s.Device = name("h2", "h1"), name("sdb", "sda")
		for _, c := range s.counters() {
			*c = some(1000)
		}
		b.Samples = append(b.Samples, s)
		b.Evidence = append(b.Evidence, Evidence{TimeNS: night + r.Int64N(20e9), Host: name("h1"), Device: name("", "sda"),
			Name: name("open_io", "smart"), Text: name("", "words"), Value: r.Float64(), Position: int64(i)})
	}
	return b
}

func all(n int) []int32 {
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

func TestColumnsRoundTrip(t *testing.T) {
	b := batch(500, 1)
	rows := all(500)
	var names Names
	for _, s := range b.Names.List() { // the same numbers, so that rows compare
		names.InternString(s)
	}
	events, err := EventsFromColumns(Present(b.EventColumns(rows, "id", nil, nil), presence(b, rows)), &names, nil)
	for i := range b.Events {
		b.Events[i].Cgroup = 0
	}
	if diff := cmp.Diff(b.Events, events); diff != "" || err != nil {
		t.Errorf("events: %v\n%s", err, diff)
	}
	samples, err := SamplesFromColumns(Present(b.SampleColumns(rows, "id", nil), SamplePresence(b, rows)), &names, nil)
	if diff := cmp.Diff(b.Samples, samples); diff != "" || err != nil {
		t.Errorf("samples: %v\n%s", err, diff)
	}
	facts, err := EvidenceFromColumns(Present(b.EvidenceColumns(rows, "id", nil), EvidencePresence(b, rows)), &names, nil)
	if diff := cmp.Diff(b.Evidence, facts); diff != "" || err != nil {
		t.Errorf("evidence: %v\n%s", err, diff)
	}
}

func TestColumnsNamesAndPresence(t *testing.T) {
	b := batch(3, 1)
	rows := all(3)
	check := func(what string, cols []Column, names []string, has []bool) {
		t.Helper()
		var got []string
		for _, c := range cols {
			got = append(got, c.Name)
		}
		if !slices.Equal(got, names) || len(has) != len(names) {
			t.Errorf("%s: columns %v, presence of %d", what, got, len(has))
		}
	}
	check("events", b.EventColumns(rows, "id", nil, nil), EventColumnNames, presence(b, rows))
	check("samples", b.SampleColumns(rows, "id", nil), SampleColumnNames, SamplePresence(b, rows))
	check("evidence", b.EvidenceColumns(rows, "id", nil), EvidenceColumnNames, EvidencePresence(b, rows))

	bare := &Batch{Events: []Event{NewEvent()}}
	bare.Events[0].Device = bare.Names.InternString("sda")
	var got []string
	for _, c := range Present(bare.EventColumns([]int32{0}, "id", nil, nil), presence(bare, []int32{0})) {
		got = append(got, c.Name)
	}
	if want := "time_ns device op size_bytes latency_kind error input source_offset"; strings.Join(got, " ") != want {
		t.Errorf("a bare event has the columns %v, want %s", got, want)
	}
	// The memory of an earlier call is used again, its validity is not.
	cols := b.EventColumns(rows, "id", nil, nil)
	again := bare.EventColumns([]int32{0}, "id", nil, cols)
	if n := len(again[0].Data.([]int64)); n != 1 || again[3].Valid[0] || again[2].Valid != nil {
		t.Errorf("columns used again: %+v", again[:4])
	}
}

func TestColumnsErrors(t *testing.T) {
	check := func(want string, cols ...Column) {
		t.Helper()
		if _, err := EventsFromColumns(cols, &Names{}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	when := Column{Name: "time_ns", Data: []int64{1, 2}}
	check("column time_ns is absent")
	check("column time_ns is a []string, not a []int64", Column{Name: "time_ns", Data: []string{"1"}})
	check("column pid has 1 rows, the first has 2", when, Column{Name: "pid", Data: []int32{1}})
	check("column pid holds []uint8", when, Column{Name: "pid", Data: []byte{1, 2}})
	check("the validity of 1", when, Column{Name: "pid", Data: []int32{1, 2}, Valid: []bool{true}})
}

// presence is Ordered.Presence of any rows.
func presence(b *Batch, rows []int32) []bool {
	var all seen
	for _, r := range rows {
		all |= seenIn(&b.Events[r])
	}
	return all.columns()
}
