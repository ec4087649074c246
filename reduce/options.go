package reduce

import (
	"fmt"

	"github.com/iopathy/iopathy/features"
)

// Options are what a user may say about normals and components.
type Options struct {
	Quantile float64 `mapstructure:"quantile"` // of a group's windows that is taken for its normal while nothing is known of who is sick
	Shrink   float64 `mapstructure:"shrink"`   // windows of 10 s at which a normal weighs as much as the next coarser one
	Clip     float64 `mapstructure:"clip"`     // largest |z|
	Variance float64 `mapstructure:"variance"` // share of the second moment that the components keep
	Sample   int     `mapstructure:"sample"`   // windows of one latency kind, tick and length that a fit takes at most (Sample)
}

// DefaultOptions are the options of a run that says nothing.
func DefaultOptions() Options {
	return Options{Quantile: 0.25, Shrink: 4, Clip: 10, Variance: 0.987, Sample: 1 << 20}
}

// Validate names the option that can't be.
func (o Options) Validate() error {
	switch {
	case !(o.Quantile > 0 && o.Quantile < 1):
		return fmt.Errorf("quantile: %v is not between 0 and 1", o.Quantile)
	case !(o.Shrink >= 0):
		return fmt.Errorf("shrink: %v is negative", o.Shrink)
	case !(o.Clip > 0):
		return fmt.Errorf("clip: %v is not positive", o.Clip)
	case !(o.Variance > 0 && o.Variance <= 1):
		return fmt.Errorf("variance: %v is not a share", o.Variance)
	case o.Sample < 1:
		return fmt.Errorf("sample: %d is not positive", o.Sample)
	}
	return nil
}

// What is assumed of a device before anything is known of it. The rates are
// what any device of the kind streams; the levels are a random access of a
// disk and of a solid-state or network device.
const (
	diskRate  = 150e6 // bytes/s
	otherRate = 250e6
	diskLevel = 6.9 // log10 ns: 8 ms
	flatLevel = 5.4 // 0.25 ms
)

// centre and scale of healthy work by feature: medians over healthy windows
// of the calibration recordings, and the deviation at which an axis has said
// clearly that something is wrong (about the spread of all windows). A fit
// moves the centre towards its own healthy windows and never narrows a scale.
var (
	priorCentre = features.Vector{
		features.LatencyLoadResidual: 0.05,
		features.LatencyKurtosis:     5.2,
		features.ThroughputEntropy:   0.13,
		features.QueueDepthLevel:     0.04,
		features.BusyFraction:        0.08,
	}
	priorScale = features.Vector{
		features.LatencyLoadResidual: 0.30,
		features.LatencyKurtosis:     4.0,
		features.ThroughputEntropy:   0.40,
		features.ThroughputPlateau:   0.40,
		features.QueueDepthLevel:     0.60,
		features.QueueDepthJumpRate:  0.35,
		features.BusyFraction:        0.50,
		features.BurstQueueing:       0.25,
		features.WriteFlood:          0.30,
		features.SyncMetadataShare:   0.35,
		features.RereadShare:         0.25,
		features.StallGap:            0.12,
	}
)
