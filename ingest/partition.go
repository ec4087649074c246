package ingest

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Partition is the rows of a batch that belong to one host and one UTC date of
// their time_ns, as indices in the batch's order.
type Partition struct {
	Host     string
	Date     string // YYYY-MM-DD
	Events   []int32
	Samples  []int32
	Evidence []int32
}

// dayNS is a day in nanoseconds.
const dayNS = int64(24 * time.Hour)

// ByHostDate cuts a batch into partitions, sorted by host and date.
func (b *Batch) ByHostDate() []Partition {
	type key struct {
		host Name
		day  int64
	}
	index := make(map[key]*Partition)
	var days []key
	var last key
	var hand *Partition
	at := func(host Name, ns int64) *Partition {
		k := key{host, ns / dayNS}
		if ns%dayNS < 0 {
			k.day--
		}
		if hand != nil && k == last {
			return hand
		}
		p := index[k]
		if p == nil {
			p = &Partition{Host: b.Names.String(host), Date: time.Unix(k.day*86400, 0).UTC().Format(time.DateOnly)}
			index[k] = p
			days = append(days, k)
		}
		last, hand = k, p
		return p
	}
	for i := range b.Events {
		p := at(b.Events[i].Host, b.Events[i].TimeNS)
		p.Events = append(p.Events, int32(i))
	}
	for i := range b.Samples {
		p := at(b.Samples[i].Host, b.Samples[i].TimeNS)
		p.Samples = append(p.Samples, int32(i))
	}
	for i := range b.Evidence {
		p := at(b.Evidence[i].Host, b.Evidence[i].TimeNS)
		p.Evidence = append(p.Evidence, int32(i))
	}
	slices.SortFunc(days, func(x, y key) int {
		return cmp.Or(strings.Compare(b.Names.String(x.host), b.Names.String(y.host)), cmp.Compare(x.day, y.day))
	})
	parts := make([]Partition, len(days))
	for i, k := range days {
		parts[i] = *index[k]
	}
	return parts
}

// SortEvents puts rows of b.Events, of one host, into the total order: device,
// completion, start, offset, size, op, position.
func (b *Batch) SortEvents(rows []int32) {
	if len(rows) == 0 {
		return
	}
	rank := b.Names.ranks()
	// What is compared stands together: a look at an event fetches all of it.
	all, start := make([]timed, len(rows)), make([]int32, len(rank)+1)
	for i, r := range rows {
		e := &b.Events[r]
		device := rank[e.Device]
		all[i] = timed{e.TimeNS, r, device}
		start[device+1]++
	}
	for i := 1; i < len(start); i++ {
		start[i] += start[i-1]
	}
	byDevice := make([]timed, len(rows))
	for _, t := range all {
		byDevice[start[t.device]] = t
		start[t.device]++
	}
	from := int32(0)
	for _, to := range start[:len(rank)] { // each is at its end now
		b.sortTimed(byDevice[from:to])
		from = to
	}
	for i, t := range byDevice {
		rows[i] = t.row
	}
}

// timed is an event's completion, its row, and its device's rank.
type timed struct {
	ns          int64
	row, device int32
}

// sortTimed sorts the events of one device. Logs are nearly in order: each is
// moved to its place, unless that takes too many steps.
func (b *Batch) sortTimed(run []timed) {
	after := func(x, y timed) bool {
		if x.ns != y.ns {
			return x.ns > y.ns
		}
		return b.compareEvents(x.row, y.row) > 0
	}
	steps := 4 * len(run)
	for i := 1; i < len(run); i++ {
		x, k := run[i], i
		for k > 0 && after(run[k-1], x) {
			run[k] = run[k-1]
			k--
		}
		run[k] = x
		if steps -= i - k; steps < 0 {
			slices.SortFunc(run, func(x, y timed) int {
				if x.ns != y.ns {
					return cmp.Compare(x.ns, y.ns)
				}
				return b.compareEvents(x.row, y.row)
			})
			return
		}
	}
}

// compareEvents orders two events of one device.
func (b *Batch) compareEvents(i, j int32) int {
	x, y := &b.Events[i], &b.Events[j]
	if x.TimeNS != y.TimeNS {
		return cmp.Compare(x.TimeNS, y.TimeNS)
	}
	return cmp.Or(
		cmp.Compare(x.StartNS(), y.StartNS()), cmp.Compare(x.OffsetBytes, y.OffsetBytes),
		cmp.Compare(x.SizeBytes, y.SizeBytes), cmp.Compare(x.Op, y.Op), cmp.Compare(x.Position, y.Position),
		cmp.Compare(i, j))
}

// SortSamples puts rows of b.Samples, of one host, in the order of device,
// time and position.
func (b *Batch) SortSamples(rows []int32) {
	rank := b.Names.ranks()
	slices.SortFunc(rows, func(i, j int32) int {
		x, y := &b.Samples[i], &b.Samples[j]
		return cmp.Or(cmp.Compare(rank[x.Device], rank[y.Device]), cmp.Compare(x.TimeNS, y.TimeNS),
			cmp.Compare(x.Position, y.Position), cmp.Compare(i, j))
	})
}

// SortEvidence puts rows of b.Evidence, of one host, in the order of device,
// time, name and position.
func (b *Batch) SortEvidence(rows []int32) {
	rank := b.Names.ranks()
	slices.SortFunc(rows, func(i, j int32) int {
		x, y := &b.Evidence[i], &b.Evidence[j]
		return cmp.Or(cmp.Compare(rank[x.Device], rank[y.Device]), cmp.Compare(x.TimeNS, y.TimeNS),
			cmp.Compare(rank[x.Name], rank[y.Name]), cmp.Compare(x.Position, y.Position), cmp.Compare(i, j))
	})
}

// ranks gives each name its place in the order of the strings.
func (n *Names) ranks() []int32 {
	list := n.List()
	order := make([]int32, len(list))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int { return strings.Compare(list[i], list[j]) })
	rank := make([]int32, len(list))
	for place, id := range order {
		rank[id] = int32(place)
	}
	return rank
}
