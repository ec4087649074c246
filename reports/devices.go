package reports

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/ingest"
)

// deviceRow is a device's line in the table of all.
type deviceRow struct {
	Anchor, Device, Level, Worst        string
	Windows, Healthy, Idle, Lost, Sick  int
	IOPS, Latency, Depth, Kind, Against string
}

// deviceTable lists the devices, the worst first.
func (f *facts) deviceTable(p *pageView) {
	for i, d := range f.devices {
		if i == maxDeviceRows {
			p.DevicesLeft = len(f.devices) - maxDeviceRows
			break
		}
		r := deviceRow{
			Anchor: f.anchor(d), Device: deviceLabel(d.Key), Level: d.level, Worst: "–", Windows: len(d.windows),
			Healthy: d.verdicts[cluster.Healthy], Idle: d.verdicts[cluster.Idle],
			Lost: d.verdicts[cluster.Artefact], Sick: d.verdicts[cluster.Sick],
			Kind: f.kind(d),
			IOPS: f.middle(d, 0), Latency: f.middle(d, 1), Depth: f.middle(d, 2),
		}
		if d.worst > 0 {
			r.Worst = fmt.Sprintf("%.1f", d.worst)
		}
		if f.in.Points.Len() > 0 {
			n := f.in.Points.At(d.windows[0]).Normal
			r.Against = label(n.Source)
			switch {
			case n.Source == "nights":
				r.Against += fmt.Sprintf(" (%d, %s)", n.Nights, plural(n.Windows, "window"))
			case n.Source == "peers":
				r.Against += fmt.Sprintf(" (%d)", n.Windows)
			case n.Windows > 0:
				r.Against += fmt.Sprintf(" (%s)", plural(n.Windows, "window"))
			}
		}
		p.Devices = append(p.Devices, r)
	}
}

// kind is that of the latencies of a device.
func (f *facts) kind(d *device) string {
	return ingest.LatencyKind(f.all.row(d.windows[0]).kind).String()
}

// middle is the median of one of the maps' values over a device's windows that
// aren't idle.
func (f *facts) middle(d *device, value int) string {
	v := f.spare[:0]
	for _, i := range d.windows {
		if r := f.all.row(i); r.flags&rowIdle == 0 && !math.IsNaN(r.values[value]) {
			v = append(v, r.values[value])
		}
	}
	if len(v) == 0 {
		return "–"
	}
	f.spare = v
	return three(lowerMedian(v))
}

// kinds lists the kinds of latency with their devices; "" if all are of one.
func (f *facts) kinds() string {
	n := map[string]int{}
	for _, d := range f.devices {
		n[f.kind(d)]++
	}
	if len(n) < 2 {
		return ""
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(n)) {
		parts = append(parts, fmt.Sprintf("%s on %s", k, plural(n[k], "device")))
	}
	return strings.Join(parts, ", ")
}
