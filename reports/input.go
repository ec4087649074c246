package reports

import (
	"fmt"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/heatmap"
	"github.com/iopathy/iopathy/reduce"
)

// Input is everything that a report is made of. The caller fills it; nothing
// is read from anywhere else, so that the same Input gives the same bytes.
type Input struct {
	Title     string // "" for the default
	Version   string // of the program
	Windows   features.Rows[features.Window]
	Digest    *Digest                     // of the windows, where it is there already: see NewDigest
	Points    features.Rows[reduce.Point] // one a window, in the same order; none if unknown
	Result    cluster.Result
	Catalogue cluster.Catalogue
	Scale     heatmap.Scale        // zero for heatmap.GroupScale
	Fleet     heatmap.FleetOptions // zero for heatmap.DefaultFleetOptions
	Axes      []Axis               // principal components, strongest first
	Analyses  []analysis.Finding   // of the worst devices and their hosts
	Cards     []Card               // of the worst devices
	Ingest    Summary
	Changes   *Changes // since the night before; nil where there is none
	Config    string   // the effective configuration as text
	Model     string   // the model in words: its name, origin, date of its data
	Seed      uint64
	Budget    int    // episodes to list, the most costly first; 0 for all, the worst first
	Drill     bool   // the page is served: a cell of the fleet map leads to the events of its window
	Echarts   string // source of echarts; "" for the one that comes along
}

// Axis is a principal component.
type Axis struct {
	Share   float64         // of the second moment
	Loading features.Vector // by feature
}

// Summary is the account of what was read.
type Summary struct {
	Sources  []Source
	Problems []string        // what a reader should know: "clock went backwards in 3 inputs"
	Devices  []DeviceSources // those with several recordings, or with losses
}

// Source is one input and the fates of its lines. Name is as the user knows
// it, relative to the SOURCE given; it must not tell of the machine.
type Source struct {
	Name, Format, SHA256               string
	Clock                              string // what its stamps count from, and what ties them to dates
	Lines                              int64
	Events, Samples, Ticks, Evidence   int64 // rows
	EventLines, Merged, Notes, Repeats int64 // lines by fate; Repeats: of input that was read before
	Rejects, Unpaired                  map[string]int64
}

// Rejected is the number of rejected lines.
func (s *Source) Rejected() int64 { return sum(s.Rejects) }

// UnpairedLines is the number of unpaired lines.
func (s *Source) UnpairedLines() int64 { return sum(s.Unpaired) }

func sum(m map[string]int64) int64 {
	var n int64
	for _, v := range m {
		n += v
	}
	return n
}

// check refuses an Input whose parts don't belong together.
func (in *Input) check() error {
	if err := in.fits(); err != nil || in.Digest != nil {
		return err
	}
	for i := range in.Windows.Len() {
		w, d := in.Windows.At(i), in.Result.Diagnoses.At(i)
		if w.Key != d.Key || w.StartNS != d.StartNS {
			return fmt.Errorf("report: diagnosis %d is of another window", i)
		}
	}
	return nil
}

// vector gives the 12 features of window i, with the normal subtracted where
// the points are known.
func (in *Input) vector(i int) features.Vector {
	if in.Points.Len() > 0 {
		return in.Points.At(i).Vector
	}
	return in.Windows.At(i).Vector
}

// pathology finds a slug's entry of the catalogue; nil if there is none.
func (in *Input) pathology(slug string) *cluster.Pathology {
	for i := range in.Catalogue.Pathologies {
		if in.Catalogue.Pathologies[i].Slug == slug {
			return &in.Catalogue.Pathologies[i]
		}
	}
	return nil
}
