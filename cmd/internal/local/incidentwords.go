package local

import (
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// WritePostmortem puts the incident page into a directory.
func (j *Job) WritePostmortem(dir string, pm *reports.Postmortem) ([]string, error) {
	var files []string
	for _, m := range []struct {
		name string
		make func(io.Writer, *reports.Postmortem) error
	}{{"postmortem.html", reports.PostmortemHTML}, {"postmortem.json", reports.PostmortemJSON}} {
		file := filepath.Join(dir, m.name)
		if err := lake.WriteAtomic(file, func(w io.Writer) error { return m.make(w, pm) }); err != nil {
			return files, err
		}
		files = append(files, file)
	}
	return files, nil
}

// IncidentWords says in a few lines what was found.
func IncidentWords(pm *reports.Postmortem) []string {
	if len(pm.Episodes) == 0 {
		k := pm.Devices[0].Key
		return []string{fmt.Sprintf("no device was sick from %s to %s; nearest to it: %s/%s", Stamp(pm.FromNS), Stamp(pm.ToNS), Printable(k.Host), Printable(k.Device))}
	}
	were := "were"
	if len(pm.Elsewhere) == 1 {
		were = "was"
	}
	lines := []string{fmt.Sprintf("%s from %s to %s; %s %s sick at the time", cluster.Counted(len(pm.Episodes), "episode"), Stamp(pm.FromNS), Stamp(pm.ToNS), cluster.Counted(len(pm.Elsewhere), "other device"), were)}
	for i, e := range pm.Episodes {
		if i == 5 {
			lines = append(lines, fmt.Sprintf("  and %d more on the page", len(pm.Episodes)-i))
			break
		}
		cause := ""
		if len(e.Causes) > 0 && e.Causes[0].Votes > 0 {
			cause = ", likely " + e.Causes[0].Name
		}
		if len(e.Outside) > 0 {
			cause += "; but look elsewhere first: " + e.Outside[0].Words()
		}
		lines = append(lines, fmt.Sprintf("  %s/%s: %s from %s to %s, severity %.1f%s", Printable(e.Host), Printable(e.Device), e.Pathology, Stamp(e.FromNS), Stamp(e.ToNS), e.Severity, cause))
	}
	for i := range pm.Devices {
		d := &pm.Devices[i]
		for _, by := range []string{"comm", "cgroup", "file"} {
			if len(d.Actors[by]) < 2 {
				continue // one actor explains nothing
			}
			if a := d.Actors[by][0]; a.Name != "" && a.Phase[features.During].DelayNS > 0 {
				lines = append(lines, fmt.Sprintf("  %s/%s: %s %s held up others for %s", Printable(d.Host), Printable(d.Device), by, Printable(a.Name), time.Duration(a.Phase[features.During].DelayNS).Round(time.Millisecond)))
				break
			}
		}
	}
	return lines
}

// title is the configured title, unless that is the report's own.
func (j *Job) title() string {
	if j.Config.Report.Title == configs.Default().Report.Title {
		return ""
	}
	return j.Config.Report.Title
}
