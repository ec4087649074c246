package features

import (
	"fmt"
	"strings"
)

// The parts of a profile, as rows of its table tell them.
const (
	partDepth   = "depth"   // key: quarter octave x 3 + stretch; count: ticks
	partRegion  = "region"  // key: number of the region; count: its length in 64 MiB as a power of two; time_ns: latencies; other: pairs
	partPause   = "pause"   // key: its start; time_ns: its end; n: requests that wait
	partArrival = "arrival" // key: quarter octave; count: ticks, time_ns: integral of depth
	partAge     = "age"     // key: ReadAge; or, beyond them, all reads: n and bytes alone. count: sampled block reads; n: requests in 2^-20
	partReuse   = "reuse"   // key: power of two of the blocks of stack distance; the rest as of ages
)

// ProfileRow is a row of the table of profiles: of one part of a device's
// profile, what one key has. What the values mean stands with the parts.
type ProfileRow struct {
	Part                           string
	Key                            int64
	Count, N, Bytes, TimeNS, Other int64
	Excess, Square                 int64
}

// Rows lays the profile out as rows, in a fixed order; what is 0 has none.
func (p *Profile) Rows() (rows []ProfileRow) {
	for i := range p.depth {
		for k, d := range p.depth[i] {
			if d.Ticks > 0 {
				rows = append(rows, ProfileRow{Part: partDepth, Key: int64(i*replicates + k), Count: d.Ticks, N: d.Requests, Bytes: d.Bytes, TimeNS: d.InFlightNS, Other: d.BusyNS})
			}
		}
	}
	for i, a := range p.arrivals {
		if a.Ticks > 0 {
			rows = append(rows, ProfileRow{Part: partArrival, Key: int64(i), Count: a.Ticks, N: a.Arrivals, TimeNS: a.InFlightNS, Other: a.Requests})
		}
	}
	for i, s := range p.regions.sums {
		if s.Reads > 0 {
			rows = append(rows, ProfileRow{partRegion, int64(i), int64(p.regions.shift), s.Reads, s.Bytes, s.LatencyNS, s.Pairs, s.Excess, s.Squares})
		}
	}
	for _, x := range p.pauses {
		rows = append(rows, ProfileRow{Part: partPause, Key: x.FromNS, N: x.Waiting, TimeNS: x.ToNS})
	}
	for i, s := range p.reuse.ages {
		if s.Sampled > 0 {
			rows = append(rows, ProfileRow{Part: partAge, Key: int64(i), Count: s.Sampled, N: s.Requests, Bytes: s.Bytes})
		}
	}
	if p.reuse.reads > 0 {
		rows = append(rows, ProfileRow{Part: partAge, Key: int64(agesOfReads), N: p.reuse.reads, Bytes: p.reuse.total})
	}
	for i, s := range p.reuse.bins {
		if s.Sampled > 0 {
			rows = append(rows, ProfileRow{Part: partReuse, Key: int64(i), Count: s.Sampled, N: s.Requests, Bytes: s.Bytes})
		}
	}
	return p.rhythm.rows(rows)
}

// AddRow takes a row that Rows made. Rows of parts that are not known, or keys
// beyond their bounds, are of another version: they are left out.
func (p *Profile) AddRow(r *ProfileRow) {
	switch {
	case strings.HasPrefix(r.Part, partRhythm):
		p.rhythm.addRow(r)
	case r.Part == partDepth && r.Key >= 0 && r.Key < depthBins*replicates:
		p.depth[r.Key/replicates][r.Key%replicates].add(&DepthSums{r.Count, r.N, r.Bytes, r.TimeNS, r.Other})
	case r.Part == partRegion && r.Key >= 0 && r.Key < profileRegions && r.Count >= 0 && r.Count < 64-regionBits:
		one := regions{shift: int(r.Count)}
		one.sums[r.Key] = RegionSums{Reads: r.N, Bytes: r.Bytes, LatencyNS: r.TimeNS, Pairs: r.Other, Excess: r.Excess, Squares: r.Square}
		p.regions.merge(&one)
	case r.Part == partPause:
		p.pause(Pause{r.Key, r.TimeNS, r.N})
	case r.Part == partArrival && r.Key >= 0 && r.Key < arrivalBins:
		a := &p.arrivals[r.Key]
		a.Ticks, a.Arrivals, a.InFlightNS, a.Requests = a.Ticks+r.Count, a.Arrivals+r.N, a.InFlightNS+r.TimeNS, a.Requests+r.Other
	case r.Part == partAge && r.Key >= 0 && r.Key < int64(agesOfReads):
		p.reuse.ages[r.Key].add(&ReuseSums{r.Count, r.N, r.Bytes})
	case r.Part == partAge && r.Key == int64(agesOfReads):
		p.reuse.reads, p.reuse.total = p.reuse.reads+r.N, p.reuse.total+r.Bytes
	case r.Part == partReuse && r.Key >= 0 && r.Key < reuseBins:
		p.reuse.bins[r.Key].add(&ReuseSums{r.Count, r.N, r.Bytes})
	}
}

// DeviceProfile is the rows of a device.
type DeviceProfile struct {
	Key
	TickNS int64
	Rows   []ProfileRow
}

// ProfileColumns lays profiles out as columns of one table in long form:
// host, device, tick_ns, part, key, count, n, bytes, time_ns, other, excess, square.
func ProfileColumns(all []DeviceProfile) []Column {
	type row struct {
		d *DeviceProfile
		r *ProfileRow
	}
	var rows []row
	for i := range all {
		for k := range all[i].Rows {
			rows = append(rows, row{&all[i], &all[i].Rows[k]})
		}
	}
	n := len(rows)
	return []Column{
		column("host", n, func(i int) string { return rows[i].d.Host }),
		column("device", n, func(i int) string { return rows[i].d.Device }),
		column("tick_ns", n, func(i int) int64 { return rows[i].d.TickNS }),
		column("part", n, func(i int) string { return rows[i].r.Part }),
		column("key", n, func(i int) int64 { return rows[i].r.Key }),
		column("count", n, func(i int) int64 { return rows[i].r.Count }),
		column("n", n, func(i int) int64 { return rows[i].r.N }),
		column("bytes", n, func(i int) int64 { return rows[i].r.Bytes }),
		column("time_ns", n, func(i int) int64 { return rows[i].r.TimeNS }),
		column("other", n, func(i int) int64 { return rows[i].r.Other }),
		column("excess", n, func(i int) int64 { return rows[i].r.Excess }),
		column("square", n, func(i int) int64 { return rows[i].r.Square }),
	}
}

// ProfilesFromColumns is the inverse of ProfileColumns; rows of a device stand
// together. A column that is absent or of another type is an error.
func ProfilesFromColumns(cols []Column) ([]DeviceProfile, error) {
	t, err := tableOf(cols, "host")
	if err != nil {
		return nil, fmt.Errorf("features: profiles: %w", err)
	}
	keys, ticks, rows := make([]Key, t.rows), make([]int64, t.rows), make([]ProfileRow, t.rows)
	read(t, "host", func(i int, v string) { keys[i].Host = v })
	read(t, "device", func(i int, v string) { keys[i].Device = v })
	read(t, "tick_ns", func(i int, v int64) { ticks[i] = v })
	read(t, "part", func(i int, v string) { rows[i].Part = v })
	read(t, "key", func(i int, v int64) { rows[i].Key = v })
	read(t, "count", func(i int, v int64) { rows[i].Count = v })
	read(t, "n", func(i int, v int64) { rows[i].N = v })
	read(t, "bytes", func(i int, v int64) { rows[i].Bytes = v })
	read(t, "time_ns", func(i int, v int64) { rows[i].TimeNS = v })
	read(t, "other", func(i int, v int64) { rows[i].Other = v })
	read(t, "excess", func(i int, v int64) { rows[i].Excess = v })
	read(t, "square", func(i int, v int64) { rows[i].Square = v })
	if t.err != nil {
		return nil, fmt.Errorf("features: profiles: %w", t.err)
	}
	var all []DeviceProfile
	for i := range rows {
		if n := len(all); n == 0 || all[n-1].Key != keys[i] {
			all = append(all, DeviceProfile{Key: keys[i], TickNS: ticks[i]})
		}
		d := &all[len(all)-1]
		d.Rows = append(d.Rows, rows[i])
	}
	return all, nil
}

// Profile makes a profile of the rows.
func (d *DeviceProfile) Profile() *Profile {
	p := &Profile{tickNS: d.TickNS}
	for i := range d.Rows {
		p.AddRow(&d.Rows[i])
	}
	return p
}
