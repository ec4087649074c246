package formats

import (
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// mappedCounterField is a counter of a sample, and what it is a mean over.
type mappedCounterField struct {
	of   func(s *ingest.Sample) *int64
	over func(s *ingest.Sample) *int64
}

var mappedCounters = func() map[string]mappedCounterField {
	interval := func(s *ingest.Sample) *int64 { return &s.IntervalNS }
	reads := func(s *ingest.Sample) *int64 { return &s.Reads }
	writes := func(s *ingest.Sample) *int64 { return &s.Writes }
	discards := func(s *ingest.Sample) *int64 { return &s.Discards }
	flushes := func(s *ingest.Sample) *int64 { return &s.Flushes }
	total := func(s *ingest.Sample) *int64 { return &s.TotalIOs }
	return map[string]mappedCounterField{
		"reads": {reads, interval}, "writes": {writes, interval}, "discards": {discards, interval}, "flushes": {flushes, interval},
		"total_ios":      {total, interval},
		"read_bytes":     {func(s *ingest.Sample) *int64 { return &s.ReadBytes }, reads},
		"write_bytes":    {func(s *ingest.Sample) *int64 { return &s.WriteBytes }, writes},
		"discard_bytes":  {func(s *ingest.Sample) *int64 { return &s.DiscardBytes }, discards},
		"total_bytes":    {func(s *ingest.Sample) *int64 { return &s.TotalBytes }, total},
		"read_ns":        {func(s *ingest.Sample) *int64 { return &s.ReadNS }, reads},
		"write_ns":       {func(s *ingest.Sample) *int64 { return &s.WriteNS }, writes},
		"discard_ns":     {func(s *ingest.Sample) *int64 { return &s.DiscardNS }, discards},
		"flush_ns":       {func(s *ingest.Sample) *int64 { return &s.FlushNS }, flushes},
		"total_ns":       {func(s *ingest.Sample) *int64 { return &s.TotalNS }, total},
		"read_merges":    {func(s *ingest.Sample) *int64 { return &s.ReadMerges }, reads},
		"write_merges":   {func(s *ingest.Sample) *int64 { return &s.WriteMerges }, writes},
		"discard_merges": {func(s *ingest.Sample) *int64 { return &s.DiscardMerges }, discards},
		"in_flight_ns":   {func(s *ingest.Sample) *int64 { return &s.InFlightNS }, interval},
		"busy_ns":        {func(s *ingest.Sample) *int64 { return &s.BusyNS }, interval},
	}
}()

// finish adds what a row's cells give, or says why it can't be.
func (d *mapped) finish(r *mappedRow, out *ingest.Out) (reason string) {
	if !r.timed {
		return "bad-time"
	}
	if r.e.Host == 0 {
		r.e.Host = out.Names.InternString(d.host)
	}
	switch d.record {
	case ingest.RecordSample:
		return d.sample(r, out)
	case ingest.RecordEvidence:
		return d.evidence(r, out)
	}
	return d.event(r, out)
}

func (d *mapped) event(r *mappedRow, out *ingest.Out) (reason string) {
	e := &r.e
	if r.end != ingest.Missing {
		if r.end < r.time {
			return "end-before-start"
		}
		e.LatencyNS = r.end - r.time
	}
	switch {
	case e.Device == 0:
		return "no-device"
	case e.LatencyNS > ingest.MaxLatencyNS:
		return "latency-over-a-day"
	case e.SizeBytes > ingest.MaxSizeBytes:
		return "size-over-a-tebibyte"
	case e.OffsetBytes > math.MaxInt64-max(e.SizeBytes, 0):
		return "bad-offset"
	case e.Kind == ingest.KindQ2C && e.LatencyNS >= 0 && e.QueueNS > e.LatencyNS:
		return "bad-queue"
	}
	e.TimeNS = r.time
	switch {
	case e.LatencyNS == ingest.Missing:
		e.Kind = ingest.KindNone
	case d.atStart:
		e.TimeNS += e.LatencyNS
	case e.LatencyNS > e.TimeNS:
		return "bad-latency"
	}
	e.Position = out.Position
	out.Events = append(out.Events, *e)
	out.Tally.Event++
	return ""
}

// sample makes counts and sums of a row's rates and means. The order of its
// fields is by name, so the counts that means are over are made first.
func (d *mapped) sample(r *mappedRow, out *ingest.Out) (reason string) {
	switch {
	case r.e.Device == 0:
		return "no-device"
	case r.intervalNS <= 0:
		return "bad-interval"
	}
	out.Samples = append(out.Samples, ingest.NewSample())
	s := &out.Samples[len(out.Samples)-1]
	s.TimeNS, s.IntervalNS, s.Host, s.Device = r.time, r.intervalNS, r.e.Host, r.e.Device
	if d.atStart {
		s.TimeNS += s.IntervalNS
	}
	seconds := float64(s.IntervalNS) / 1e9
	for _, means := range [...]bool{false, true} {
		for slot, c := range d.counters {
			if r.known>>slot&1 == 0 || (c.as == "mean") != means {
				continue
			}
			v := r.values[slot]
			switch c.as {
			case "rate":
				v *= seconds
			case "mean":
				n := *c.field.over(s)
				if n == ingest.Missing {
					continue
				}
				v *= float64(n)
			}
			if v < 0 || v > 1<<62 {
				out.Samples = out.Samples[:len(out.Samples)-1]
				return "impossible"
			}
			*c.field.of(s) = int64(math.Round(v))
		}
	}
	s.BusyNS = min(s.BusyNS, s.IntervalNS)
	s.Position = out.Position
	out.Tally.Event++
	return ""
}

func (d *mapped) evidence(r *mappedRow, out *ingest.Out) (reason string) {
	e := ingest.Evidence{TimeNS: r.time, Host: r.e.Host, Device: r.e.Device, Name: r.name, Text: r.text}
	some := false
	for i := range d.acts {
		a := &d.acts[i]
		if a.field != mappedValue || r.known>>a.slot&1 == 0 {
			continue
		}
		f := e
		if f.Value = r.values[a.slot]; a.fact != "" {
			f.Name = out.Names.InternString(a.fact)
		}
		if f.Name == 0 {
			return "no-name"
		}
		if some = true; math.IsInf(f.Value, 0) {
			return "bad-value"
		}
		out.Fact(f)
	}
	if !some {
		out.Count(ingest.FateUnpaired, counterNoFigures, 1)
		return ""
	}
	out.Count(ingest.FateEvent, "", 1)
	return ""
}
