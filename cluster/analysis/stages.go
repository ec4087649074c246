package analysis

import (
	"fmt"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// Ladder is what the requests of some windows spent in each stage of their way
// (features.Stage), where their source tells the stages.
type Ladder struct {
	Windows int64
	features.Ladder
}

// Add takes a window. One without stages, or with damaged ones, counts for
// nothing.
func (l *Ladder) Add(w *features.Window) {
	if w.Ladder != "" && l.AddPacked(w.Ladder) == nil {
		l.Windows++
	}
}

// Layer is who may be the cause of a wait. The order is that in which they are to
// be looked at: pressure from beside makes all below it wait, and what the device
// takes the kernel's queues wait for.
type Layer int

// The layers.
const (
	LayerPressure Layer = iota // a limit that throttles, write-back
	LayerDevice
	LayerKernel      // requests (tags), plug, scheduler
	LayerApplication // what a caller sees beyond the block layer
	layers
)

var layerNames = [layers]string{"pressure", "device", "kernel", "application"}

func (l Layer) String() string { return layerNames[l] }

// Attribution is where the time of requests goes.
type Attribution struct {
	Layer  Layer
	Stage  string              // of the layer: the stage or the pressure; "" where it isn't told apart
	Shares [layers + 1]float64 // of the time between queue and completion, by layer; the last: before the driver, not told apart
	Says   string              // in words, the layers in their order
}

// waits are the stages of the kernel, with what a wait in them is.
var waits = [...]struct {
	stage features.Stage
	says  string
}{
	{features.StageScheduler, "scheduler"},
	{features.StageGet, "requests (tags)"},
	{features.StagePlug, "plug or a flush first"},
	{features.StageDirect, "dispatch past the scheduler"},
}

// callBeyond is how many times the block layer's mean a call's must be for the
// time to be the application's.
const callBeyond = 2

// Attribute says where most of the time goes. pressure is what is known to
// throttle the device or to fill it from beside, in words; "" is nothing. A wait for
// requests under pressure is the pressure's: that is where the kernel holds a
// throttled writer (wbt, iocost and iolatency hold it before it gets a request).
// ok is false where no source tells the stages.
func (l *Ladder) Attribute(pressure string) (a Attribution, ok bool) {
	device, queue := l.SumNS(features.StageDevice), l.SumNS(features.StageQueue)
	var held [len(waits)]float64
	told := 0.0
	for i, w := range waits {
		held[i] = l.SumNS(w.stage)
		told += held[i]
	}
	before := max(queue, told)
	whole := device + before
	if whole <= 0 || before <= 0 && l.N(features.StageQueue) == 0 && told == 0 {
		return a, false
	}
	share := func(v float64) float64 { return v / whole }
	a.Shares[LayerDevice] = share(device)
	a.Shares[layers] = share(before - told)
	most, at := 0.0, -1
	var parts []string
	for i, w := range waits {
		if held[i] == 0 {
			continue
		}
		layer := LayerKernel
		if w.stage == features.StageGet && pressure != "" {
			layer = LayerPressure
		}
		a.Shares[layer] += share(held[i])
		if layer == LayerKernel {
			parts = append(parts, fmt.Sprintf("%s %s", w.says, percent(share(held[i]))))
			if held[i] > most {
				most, at = held[i], i
			}
		}
	}
	a.Layer = LayerDevice
	for _, layer := range []Layer{LayerKernel, LayerPressure} {
		v := a.Shares[layer]
		if layer == LayerKernel {
			v += a.Shares[layers]
		}
		if v > a.Shares[a.Layer] {
			a.Layer = layer
		}
	}
	above := ""
	if n, mean, block := l.call(); n > 0 && block > 0 {
		above = fmt.Sprintf("its calls take %.3g times as long as the block layer's requests", mean/block)
		if mean > callBeyond*block {
			a.Layer = LayerApplication
		}
	}
	switch a.Layer {
	case LayerPressure:
		a.Stage = pressure
	case LayerKernel:
		if at >= 0 && share(most) >= a.Shares[layers] {
			a.Stage = waits[at].says
		}
	}
	a.Says = l.words(&a, pressure, above, parts)
	return a, true
}

// call is the mean of what the outermost caller measured, and of the block layer.
func (l *Ladder) call() (n int64, mean, block float64) {
	for _, s := range []features.Stage{features.StageApp, features.StageCall} {
		if n = l.N(s); n > 0 {
			mean = l.SumNS(s) / float64(n)
			break
		}
	}
	if k := l.N(features.StageBlock); k > 0 {
		block = l.SumNS(features.StageBlock) / float64(k)
	}
	return n, mean, block
}

func (l *Ladder) words(a *Attribution, pressure, above string, parts []string) string {
	var b strings.Builder
	b.WriteString("Pressure: ")
	switch {
	case pressure == "":
		b.WriteString("none is known")
	case a.Shares[LayerPressure] > 0:
		fmt.Fprintf(&b, "%s, which the wait for requests, %s of the time, is put down to", pressure, percent(a.Shares[LayerPressure]))
	default:
		b.WriteString(pressure)
	}
	fmt.Fprintf(&b, "; device: %s of the time (D2C); kernel: %s", percent(a.Shares[LayerDevice]), percent(a.Shares[LayerKernel]+a.Shares[layers]))
	if a.Shares[layers] > 0.005 {
		parts = append(parts, "not told apart "+percent(a.Shares[layers]))
	}
	if len(parts) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(parts, ", "))
	}
	b.WriteString("; application: ")
	if above == "" {
		above = "not recorded"
	}
	b.WriteString(above)
	fmt.Fprintf(&b, ". Most of it: %s", a.Layer)
	if a.Stage != "" {
		fmt.Fprintf(&b, ", %s", a.Stage)
	}
	b.WriteString(".")
	return b.String()
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// pressures are the causes of the catalogue that are a pressure, with their words.
var pressures = map[string]string{
	"cgroup-throttle": "a limit that throttles", "throttle-in-portions": "a limit that throttles", "configured-limit": "a limit that throttles", "volume-limit": "a limit that throttles",
	"dirty-limit-reached": "write-back", "writeback-backlog": "write-back", "dirty-limit": "write-back",
}

// PressureOf is the pressure that a pathology and its foremost cause tell of; ""
// is none.
func PressureOf(pathology string, causes []cluster.Cause) string {
	if len(causes) > 0 {
		if p := pressures[causes[0].ID]; p != "" {
			return p
		}
	}
	if pathology == "writeback-stall" {
		return "write-back"
	}
	return ""
}
