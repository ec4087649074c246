package local

import (
	"runtime"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/ingest/lake"
)

// Job is one execution of iopathy on a lake.
type Job struct {
	Config     configs.Config
	Lake       string // directory
	RunID      string // names the manifest; stands in no table
	Version    string
	Progress   Progress
	FiguresDir string // directory for the report's figures and tables as files; "" for none

	SkipEmpty bool            // an ingest that finds nothing new leaves no manifest
	Buckets   *bucket.Opened  // of the sources that are URLs; nil: such sources are not taken
	Away      Away            // of a lake that lies elsewhere; nil: Lake is all of it
	Stop      <-chan struct{} // once it is closed an ingest begins no further input, and ends well with those that it has; may be nil

	cells  map[cell]bool     // that it speaks of; nil: not said yet
	inputs []string          // whose evidence counts; nil: all that the lake holds
	found  []cluster.Finding // of devices without windows

	ledger lake.Ledger // of Lake

	folded        *folded // what others have made of the rows; nil: nothing
	sliceRows     int64   // another than sliceRows; 0: that
	memoryWindows int     // another than memoryWindows; 0: that
}

// Progress is told how far a stage is; it may be nil and must be safe for
// concurrent use.
type Progress func(stage string, done, total int64)

func (j *Job) progress(stage string, done, total int64) {
	if j.Progress != nil {
		j.Progress(stage, done, total)
	}
}

// on is the same job on another lake.
func (j *Job) on(dir string) *Job {
	return &Job{
		Config: j.Config, Lake: dir, RunID: j.RunID, Version: j.Version, Progress: j.Progress, FiguresDir: j.FiguresDir,
		SkipEmpty: j.SkipEmpty, Buckets: j.Buckets, Away: j.Away, Stop: j.Stop,
		cells: j.cells, inputs: j.inputs, found: j.found,
		folded: j.folded, sliceRows: j.sliceRows, memoryWindows: j.memoryWindows,
	}
}

// Manifests reads the manifests of the lake, each file of them once. They are shared by
// all who ask, and must not be changed.
func (j *Job) Manifests() ([]lake.Manifest, error) { return j.ledger.Manifests(j.Lake) }

// stopped says that no further input is to be begun.
func (j *Job) stopped() bool {
	select {
	case <-j.Stop:
		return true
	default:
		return false
	}
}

// workers is the number of goroutines; the results do not depend on it.
func (j *Job) workers() int {
	if j.Config.Workers > 0 {
		return j.Config.Workers
	}
	return runtime.GOMAXPROCS(0)
}
