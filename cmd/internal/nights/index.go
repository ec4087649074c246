package nights

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// sumsFile holds, beside the report of a date, what the index says of it: so
// the index needs neither the labels of all nights nor the lake.
const sumsFile = "night.json"

// indexFile is the page over the nights.
const indexFile = "index.html"

// sums is what the labels of a date add up to.
type sums struct {
	Date    string      `json:"date"`
	Windows int         `json:"windows"`
	Devices int         `json:"devices"`
	Worst   float64     `json:"worst_severity"`
	Sick    []sickInAll `json:"sick"` // devices, by host and name

	Episodes map[string]Told `json:"episodes"` // by pathology
	Coverage *float64        `json:"coverage"` // share of the requests that were seen, mean of the windows; nil: not known
	Shift    float64         `json:"drift_shift"`
	Far      float64         `json:"drift_far"`
}

// Told is the episodes of a pathology.
type Told struct {
	Number int     `json:"number"`
	Worst  float64 `json:"worst_severity"`
}

// Sums is what the figures of the newest date need of it.
type Sums struct {
	Date        string
	Devices     int
	Windows     int
	SickDevices map[string]int     // by pathology; a device may have several
	SickSeconds map[string]float64 // of devices, by pathology
	Episodes    map[string]Told
	Worst       float64 // of all windows
	Coverage    *float64
	Shift, Far  float64 // the drift
}

// Newest are the sums of the newest date of the reports in out that is not ahead
// of the clock; nil if there is none.
func Newest(out string, nowNS int64) (*Sums, error) {
	n := &Job{Out: out, Say: func(string, ...any) {}}
	all, err := n.readSums()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(s sums) bool { return s.Date > lake.Date(nowNS) })
	if len(all) == 0 {
		return nil, nil
	}
	s := &all[len(all)-1]
	x := &Sums{Date: s.Date, Devices: s.Devices, Windows: s.Windows, SickDevices: map[string]int{}, SickSeconds: map[string]float64{},
		Episodes: s.Episodes, Worst: s.Worst, Coverage: s.Coverage, Shift: s.Shift, Far: s.Far}
	for _, d := range s.Sick {
		for p, seconds := range d.Seconds {
			x.SickDevices[p]++
			x.SickSeconds[p] += seconds
		}
	}
	return x, nil
}

// sickInAll is how long a device was sick.
type sickInAll struct {
	Host    string             `json:"host"`
	Device  string             `json:"device"`
	Seconds map[string]float64 `json:"seconds"` // by pathology
}

// sumsOf adds up a night.
func sumsOf(date string, d *local.Diagnosed) sums {
	s := sums{Date: date, Windows: d.Windows.Len(), Sick: []sickInAll{}, Episodes: map[string]Told{}, Shift: d.Drift.Shift, Far: d.Drift.Far}
	devices := map[features.Key]map[string]float64{}
	for i := range d.Result.Diagnoses.Len() {
		g := d.Result.Diagnoses.At(i)
		if _, seen := devices[g.Key]; !seen {
			devices[g.Key] = nil
		}
		if g.Verdict != cluster.Sick {
			continue
		}
		if devices[g.Key] == nil {
			devices[g.Key] = map[string]float64{}
		}
		devices[g.Key][g.Pathology] += float64(g.EndNS-g.StartNS) / 1e9
		s.Worst = max(s.Worst, g.Severity)
	}
	for _, e := range d.Result.Episodes {
		t := s.Episodes[e.Pathology]
		s.Episodes[e.Pathology] = Told{t.Number + 1, max(t.Worst, e.Severity)}
	}
	seen, known := 0.0, 0
	for i := range d.Windows.Len() {
		if c := d.Windows.At(i).Coverage; !math.IsNaN(c) {
			seen, known = seen+c, known+1
		}
	}
	if known > 0 {
		seen /= float64(known)
		s.Coverage = &seen
	}
	s.Devices = len(devices)
	for k, seconds := range devices {
		if seconds != nil {
			s.Sick = append(s.Sick, sickInAll{k.Host, k.Device, seconds})
		}
	}
	slices.SortFunc(s.Sick, func(a, b sickInAll) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Device, b.Device))
	})
	return s
}

func writeSums(dir string, s sums) error {
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return fmt.Errorf("index of nights: %w", err)
	}
	return lake.WriteFileAtomic(filepath.Join(dir, sumsFile), append(b, '\n'))
}

// dates lists the dates that have a folder of reports, in order.
func dates(out string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(out, nightsFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("index of nights: %w", err)
	}
	var all []string
	for _, e := range entries {
		if _, err := time.Parse(time.DateOnly, e.Name()); err == nil && e.IsDir() {
			all = append(all, e.Name())
		}
	}
	return all, nil
}

// sweepReports removes what a night that was killed had half written of pages: the
// lake sweeps its own.
func sweepReports(out string) error {
	all, err := dates(out)
	if err != nil {
		return err
	}
	dirs := []string{out}
	for _, date := range all {
		dirs = append(dirs, Dir(out, date))
	}
	ours := append([]string{sumsFile, indexFile}, local.OutputFiles...)
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("index of nights: %w", err)
		}
		for _, e := range entries {
			half := func(name string) bool { return strings.HasPrefix(e.Name(), "."+name+".") }
			if !strings.HasSuffix(e.Name(), ".tmp") || !slices.ContainsFunc(ours, half) {
				continue
			}
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("index of nights: %w", err)
			}
		}
	}
	return nil
}

// readSums reads the sums of all dates that have them. One that can't be read
// is left out, and said.
func (n *Job) readSums() ([]sums, error) {
	all, err := dates(n.Out)
	if err != nil {
		return nil, err
	}
	var out []sums
	for _, date := range all {
		path := filepath.Join(Dir(n.Out, date), sumsFile)
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var s sums
		if err == nil {
			err = json.Unmarshal(b, &s)
		}
		if err != nil || s.Date != date {
			n.Say("%s: left out of the index: it can't be read (%v)", path, err)
			continue
		}
		out = append(out, s)
	}
	return out, nil
}

// over gives the rows of the index: the nights, and the devices by the number
// of nights on which they were sick, those first that were so most often.
func over(all []sums) ([]reports.Night, []reports.Recurrence) {
	var nights []reports.Night
	devices := map[features.Key]*reports.Recurrence{}
	seconds := map[features.Key]map[string]float64{}
	for _, s := range all {
		night := reports.Night{Date: s.Date, Windows: s.Windows, Devices: s.Devices, SickDevices: len(s.Sick), SickSeconds: map[string]float64{}, Worst: s.Worst}
		for _, d := range s.Sick {
			k := features.Key{Host: d.Host, Device: d.Device}
			if devices[k] == nil {
				devices[k], seconds[k] = &reports.Recurrence{Key: k}, map[string]float64{}
			}
			devices[k].Nights++
			devices[k].Last = s.Date
			for _, p := range slices.Sorted(maps.Keys(d.Seconds)) {
				night.SickSeconds[p] += d.Seconds[p]
				seconds[k][p] += d.Seconds[p]
			}
		}
		nights = append(nights, night)
	}
	var rows []reports.Recurrence
	for k, r := range devices {
		for _, p := range slices.Sorted(maps.Keys(seconds[k])) {
			r.SickSeconds += seconds[k][p]
			if r.Pathology == "" || seconds[k][p] > seconds[k][r.Pathology] {
				r.Pathology = p
			}
		}
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(a, b reports.Recurrence) int {
		return cmp.Or(cmp.Compare(b.Nights, a.Nights), cmp.Compare(b.SickSeconds, a.SickSeconds), strings.Compare(a.Host, b.Host), strings.Compare(a.Device, b.Device))
	})
	return nights, rows
}

// writeIndex writes the page over the nights, if it is another than the one
// that stands there.
func (n *Job) writeIndex(_ context.Context, r *Result) error {
	all, err := n.readSums()
	if err != nil {
		return err
	}
	nights, devices := over(all)
	r.Index = filepath.Join(n.Out, indexFile)
	var page bytes.Buffer
	if err := reports.NightsIndex(&page, nights, devices, n.Catalogue, n.Local.Version); err != nil {
		return err
	}
	if now, err := os.ReadFile(r.Index); err == nil && bytes.Equal(now, page.Bytes()) {
		return nil
	}
	return lake.WriteFileAtomic(r.Index, page.Bytes())
}
