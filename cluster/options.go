package cluster

import "fmt"

// Options are what a user may say about gates, classes and episodes.
type Options struct {
	K           Count   `mapstructure:"k"`            // classes asked for; auto leaves it to the data
	Seed        uint64  `mapstructure:"-"`            // of the representatives' k-means; the top-level key seed
	Exact       int     `mapstructure:"exact"`        // sick windows up to which the linkage is exact
	Centres     int     `mapstructure:"centres"`      // representatives beyond that
	MinSick     int     `mapstructure:"min_sick"`     // sick windows below which the shipped classes label
	MinDevices  int     `mapstructure:"min_devices"`  // devices below which the shipped classes label
	Fragment    float64 `mapstructure:"fragment"`     // share of the sick windows below which a cluster is a fragment
	Distinct    float64 `mapstructure:"distinct"`     // cosine distance below which two clusters are one direction
	MinScore    float64 `mapstructure:"min_score"`    // score below which a window or class is unrecognised
	Override    float64 `mapstructure:"override"`     // margin by which a window's own direction beats its class's
	Vote        float64 `mapstructure:"vote"`         // score that each sick neighbour adds to its own pathology
	Excess      float64 `mapstructure:"excess"`       // severity that sick windows of 10 s in a row must stand over the gate in sum
	Hysteresis  float64 `mapstructure:"hysteresis"`   // severity at which the neighbour of a sick window is sick too
	Alone       bool    `mapstructure:"alone"`        // judge each window by itself, without its neighbours
	MinCoverage float64 `mapstructure:"min_coverage"` // below it a window is an artefact
	Coverage    float64 `mapstructure:"coverage"`     // below it coverage scales confidence
}

// DefaultOptions are the options of a run that says nothing.
func DefaultOptions() Options {
	return Options{
		K: 8, Seed: 1, Exact: 100_000, Centres: 2_000, MinSick: 100, MinDevices: 16,
		Fragment: 0.02, Distinct: 0.1, MinScore: 0.45, Override: 0.1,
		Vote: 0.1, Excess: 0.4, Hysteresis: 0.7, MinCoverage: 0.5, Coverage: 0.9,
	}
}

// Validate names the option that can't be.
func (o Options) Validate() error {
	switch {
	case o.K < 1 && o.K != Auto:
		return fmt.Errorf("k: %d is not positive", int(o.K))
	case o.Exact < 2:
		return fmt.Errorf("exact: %d is below 2", o.Exact)
	case o.Centres < int(o.K) || o.K == Auto && o.Centres < autoMost:
		return fmt.Errorf("centres: %d is below k", o.Centres)
	case !(o.Fragment >= 0 && o.Fragment < 1):
		return fmt.Errorf("fragment: %v is not a share", o.Fragment)
	case !(o.Distinct >= 0 && o.Distinct <= 2):
		return fmt.Errorf("distinct: %v is not a cosine distance", o.Distinct)
	case !(o.Hysteresis > 0 && o.Hysteresis <= 1):
		return fmt.Errorf("hysteresis: %v is not between 0 and 1", o.Hysteresis)
	case !(o.Excess >= 0):
		return fmt.Errorf("excess: %v is negative", o.Excess)
	case !(o.MinCoverage >= 0 && o.MinCoverage <= 1):
		return fmt.Errorf("min_coverage: %v is not a share", o.MinCoverage)
	}
	return nil
}
