package features

import "fmt"

// Options are what a user may say about ticks, windows and re-reads.
type Options struct {
	TickNS   int64  `mapstructure:"-"` // smallest time bin; the top-level key tick
	WindowNS int64  `mapstructure:"-"` // a multiple of TickNS; the top-level key window
	Seed     uint64 `mapstructure:"-"` // of the sample of blocks; the top-level key seed

	MinTicks    int   `mapstructure:"min_ticks"`    // covered ticks that a window needs to be judged, and its course to be read
	MinRequests int   `mapstructure:"min_requests"` // completed requests that a window without a stall needs to be judged
	MinStallNS  int64 `mapstructure:"min_stall_ns"` // a wait this long is judged whatever the number of requests

	RereadNS     int64 `mapstructure:"reread_ns"`     // a block read less than this ago is read again
	RereadBlocks int   `mapstructure:"reread_blocks"` // most blocks that a device's sample holds
}

// The fewest and the most ticks of a window.
const (
	minWindowTicks = 24
	maxWindowTicks = 1 << 20
)

// DefaultOptions are a tick of 100 ms and a window of 10 s, 30 s and 64 Ki
// blocks of re-access.
func DefaultOptions() Options {
	return Options{
		TickNS: 100e6, WindowNS: 10e9, Seed: 1,
		MinTicks: 24, MinRequests: 8, MinStallNS: 1e9,
		RereadNS: 30e9, RereadBlocks: 64 << 10,
	}
}

// Validate says what is wrong with the options, in the words of their keys.
func (o Options) Validate() error {
	switch {
	case o.TickNS <= 0:
		return fmt.Errorf("features: tick of %d ns: must be above 0", o.TickNS)
	case o.WindowNS%o.TickNS != 0:
		return fmt.Errorf("features: window of %d ns: must be a multiple of the tick of %d ns", o.WindowNS, o.TickNS)
	case o.WindowNS/o.TickNS < minWindowTicks:
		return fmt.Errorf("features: window of %d ns: holds %d ticks of %d ns, must hold %d", o.WindowNS, o.WindowNS/o.TickNS, o.TickNS, minWindowTicks)
	case o.WindowNS/o.TickNS > maxWindowTicks:
		return fmt.Errorf("features: window of %d ns: holds %d ticks of %d ns, at most %d", o.WindowNS, o.WindowNS/o.TickNS, o.TickNS, maxWindowTicks)
	case o.MinTicks < 2:
		return fmt.Errorf("features: min_ticks of %d: must be at least 2", o.MinTicks)
	case o.MinRequests < 1:
		return fmt.Errorf("features: min_requests of %d: must be at least 1", o.MinRequests)
	case o.MinStallNS <= 0:
		return fmt.Errorf("features: min_stall_ns of %d: must be above 0", o.MinStallNS)
	case o.RereadNS <= 0:
		return fmt.Errorf("features: reread_ns of %d: must be above 0", o.RereadNS)
	case o.RereadBlocks < 64 || o.RereadBlocks > 1<<24:
		return fmt.Errorf("features: reread_blocks of %d: must be 64 to %d", o.RereadBlocks, 1<<24)
	}
	return nil
}

// HaloNS is how much of a device's time before a cut must be folded again
// for the windows after the cut to be the same as without it (beside the I/Os
// in flight at the cut): the memory of re-reads and the windows that a long
// period is read from.
func (o Options) HaloNS() int64 { return max(o.RereadNS, periodWindows*o.WindowNS) }
