package reports

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
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
			Kind:    f.in.Windows.At(d.windows[0]).Kind.String(),
			IOPS:    f.middle(d, features.CtxIOPS),
			Latency: f.middle(d, features.CtxLatencyMean), Depth: f.middle(d, features.CtxMeanDepth),
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

// middle is the median of a fact over a device's windows that aren't idle.
func (f *facts) middle(d *device, fact int) string {
	v := f.spare[:0]
	for _, i := range d.windows {
		if w := f.in.Windows.At(i); !w.Idle && !math.IsNaN(w.Context[fact]) {
			x := w.Context[fact]
			v = append(v, x)
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
		n[f.in.Windows.At(d.windows[0]).Kind.String()]++
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
