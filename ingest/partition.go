package ingest

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Partition is the rows of a batch that belong to one host and one UTC date of
// their time_ns: events in their order, the others as indices in the batch's.
type Partition struct {
	Host     string
	Date     string // YYYY-MM-DD
	Events   Ordered
	Samples  []int32
	Evidence []int32
}

// dayNS is a day in nanoseconds.
const dayNS = int64(24 * time.Hour)

// day is the number of the UTC day of a time, from 1970.
func day(ns int64) int32 {
	d := ns / dayNS
	if ns%dayNS < 0 {
		d--
	}
	return int32(d)
}

// ByHostDate cuts a batch into partitions, sorted by host and date. The batch
// may not change while they are in use. So many workers look at the events; what
// they find does not depend on their number.
func (b *Batch) ByHostDate(workers int) []Partition {
	rank := b.Names.ranks()
	type key struct{ host, day int32 }
	index := make(map[key]*Partition)
	var days []key
	at := func(host, day int32, name Name) *Partition {
		k := key{host, day}
		p := index[k]
		if p == nil {
			p = &Partition{Host: b.Names.String(name), Date: time.Unix(int64(day)*86400, 0).UTC().Format(time.DateOnly)}
			index[k] = p
			days = append(days, k)
		}
		return p
	}
	for _, o := range b.order(rank, workers) {
		at(rank[o.host], o.day, o.host).Events = o.Ordered
	}
	for i := range b.Samples {
		s := &b.Samples[i]
		p := at(rank[s.Host], day(s.TimeNS), s.Host)
		p.Samples = append(p.Samples, int32(i))
	}
	for i := range b.Evidence {
		e := &b.Evidence[i]
		p := at(rank[e.Host], day(e.TimeNS), e.Host)
		p.Evidence = append(p.Evidence, int32(i))
	}
	slices.SortFunc(days, func(x, y key) int { return cmp.Or(cmp.Compare(x.host, y.host), cmp.Compare(x.day, y.day)) })
	parts := make([]Partition, len(days))
	for i, k := range days {
		parts[i] = *index[k]
	}
	return parts
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

// ranks gives each name its place in the order of the strings; equal ones, as
// Rename may make them, have one place.
func (n *Names) ranks() []int32 {
	list := n.List()
	order := make([]int32, len(list))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int { return strings.Compare(list[i], list[j]) })
	rank := make([]int32, len(list))
	place := int32(0)
	for i, id := range order {
		if i > 0 && list[id] != list[order[i-1]] {
			place++
		}
		rank[id] = place
	}
	return rank
}
