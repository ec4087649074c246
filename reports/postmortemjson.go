package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// orNull is a figure for JSON: null where it is unknown.
func orNull(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// PostmortemJSON writes the same for programs: times in ns since 1970, bytes,
// latencies in ns.
func PostmortemJSON(w io.Writer, pm *Postmortem) error {
	if err := pm.check(); err != nil {
		return err
	}
	devices := []map[string]any{}
	for i := range pm.Devices {
		devices = append(devices, pm.deviceObject(&pm.Devices[i]))
	}
	episodes := []map[string]any{}
	for _, e := range pm.Episodes {
		episodes = append(episodes, map[string]any{"host": e.Host, "device": e.Device, "from_ns": e.FromNS, "to_ns": e.ToNS, "pathology": e.Pathology, "class_id": e.ClassID,
			"severity": e.Severity, "level": e.Level, "confidence": e.Confidence, "sick_seconds": e.SickSeconds, "delayed_bytes": e.DelayedBytes, "causes": e.Causes, "evidence": e.Evidence, "not_storage": jsonOutsides(e.Outside)})
	}
	elsewhere := []map[string]any{}
	for _, e := range pm.Elsewhere {
		elsewhere = append(elsewhere, map[string]any{"host": e.Host, "device": e.Device, "pathology": e.Pathology, "severity": e.Severity, "from_ns": e.FromNS, "to_ns": e.ToNS})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	err := enc.Encode(map[string]any{"tool": "iopathy", "kind": "postmortem", "version": pm.Version, "from_ns": pm.FromNS, "to_ns": pm.ToNS, "margin_ns": pm.MarginNS,
		"devices": devices, "episodes": episodes, "elsewhere": elsewhere, "seen_devices": pm.Others})
	if err != nil {
		return fmt.Errorf("postmortem: %w", err)
	}
	return nil
}

func (pm *Postmortem) deviceObject(d *IncidentDevice) map[string]any {
	phases := map[string]any{}
	r := pm.Diagnoses.At(d.Worst)
	for p := range d.Phases {
		ph := &d.Phases[p]
		ladder := []map[string]any{}
		for _, s := range ph.Ladder {
			ladder = append(ladder, map[string]any{"stage": s.Name, "n": s.N, "mean_ns": s.MeanNS, "sd_ns": orNull(s.DevNS), "p50_ns": orNull(s.P50NS), "p99_ns": orNull(s.P99NS), "clock_error_ns": orNull(s.ClockNS)})
		}
		phases[features.Phase(p).String()] = map[string]any{"from_ns": ph.FromNS, "to_ns": ph.ToNS, "requests": ph.Requests, "reads": ph.Reads, "writes": ph.Writes, "flushes": ph.Flushes,
			"read_bytes": ph.ReadBytes, "write_bytes": ph.WriteBytes, "errors": ph.Errors, "p50_ns": orNull(ph.P50NS), "p99_ns": orNull(ph.P99NS), "max_ns": orNull(ph.MaxNS), "mean_depth": ph.MeanDepth, "ladder": ladder}
		if a, ok := d.attribute(features.Phase(p), analysis.PressureOf(r.Pathology, r.Causes)); ok { // where the time goes
			o := phases[features.Phase(p).String()].(map[string]any)
			o["layer"], o["says"] = a.Layer.String(), a.Says
		}
	}
	actors := map[string]any{}
	for by, list := range d.Actors {
		all := []map[string]any{}
		for i := range list {
			o := map[string]any{"name": list[i].Name}
			for p := range list[i].Phase {
				x := &list[i].Phase[p]
				o[features.Phase(p).String()] = map[string]any{"requests": x.Requests, "bytes": x.Bytes, "write_bytes": x.WriteBytes, "flushes": x.Flushes, "latency_ns": x.LatencyNS, "queue_ns": x.QueueNS, "in_flight_ns": x.InFlightNS, "delay_to_others_ns": x.DelayNS}
			}
			all = append(all, o)
		}
		actors[by] = all
	}
	slow := []map[string]any{}
	for i := range d.Slowest {
		s := &d.Slowest[i]
		o := map[string]any{"time_ns": s.Event.TimeNS, "latency_ns": s.Event.LatencyNS, "op": s.Event.Op.String(), "flags": s.Event.Flags.String(), "comm": s.Comm, "file": s.File, "cgroup": s.Cgroup, "source": s.Source, "source_offset": s.Event.Position, "raw": s.Raw}
		for name, v := range map[string]int64{"queue_ns": s.Event.QueueNS, "offset_bytes": s.Event.OffsetBytes, "size_bytes": s.Event.SizeBytes} {
			if v != ingest.Missing {
				o[name] = v
			}
		}
		slow = append(slow, o)
	}
	twins := []map[string]any{}
	for i := range d.Twins {
		t := &d.Twins[i]
		twins = append(twins, map[string]any{"host": t.Host, "device": t.Device, "window_start_ns": t.StartNS, "window_end_ns": t.EndNS, "distance": t.Distance,
			"verdict": t.Verdict, "pathology": t.Pathology, "severity": t.Severity, "root_cause": t.RootCause})
	}
	return map[string]any{"host": d.Host, "device": d.Device, "phases": phases, "actors": actors, "slowest": slow, "twins": twins, "scores": d.Why.Entries, "flips": d.Why.Flips,
		"worst_window_start_ns": r.StartNS, "pathology": r.Pathology, "verdict": r.Verdict, "severity": r.Severity, "root_cause": r.RootCause, "rows": d.Rows}
}

// inside gives the windows of a device that touch the page's span, in time.
func (pm *Postmortem) inside(k features.Key) []int {
	var out []int
	for i := range pm.Windows.Len() {
		if w := pm.Windows.At(i); w.Key == k && w.EndNS > pm.FromNS-pm.MarginNS && w.StartNS < pm.ToNS+pm.MarginNS {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b int) int { return cmp.Compare(pm.Windows.At(a).StartNS, pm.Windows.At(b).StartNS) })
	return out
}
