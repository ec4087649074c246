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
	byDevice(rows, rank, func(r int32) Name { return b.Events[r].Device })
	for from := 0; from < len(rows); {
		device := b.Events[rows[from]].Device
		to := from + 1
		for to < len(rows) && b.Events[rows[to]].Device == device {
			to++
		}
		if run := rows[from:to]; !slices.IsSortedFunc(run, b.compareEvents) {
			slices.SortFunc(run, b.compareEvents)
		}
		from = to
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

// byDevice gathers rows by the rank of their device and keeps the order within
// each: a counting sort, since a chunk has many rows and few devices.
func byDevice(rows []int32, rank []int32, device func(int32) Name) {
	start := make([]int32, len(rank)+1)
	for _, r := range rows {
		start[rank[device(r)]+1]++
	}
	for i := 1; i < len(start); i++ {
		start[i] += start[i-1]
	}
	from := slices.Clone(rows)
	for _, r := range from {
		k := rank[device(r)]
		rows[start[k]] = r
		start[k]++
	}
}
