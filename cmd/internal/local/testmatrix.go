package local

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/iopathy/iopathy/cluster/compare"
	"github.com/iopathy/iopathy/cluster/matrix"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// TestMatrix is RUNS.yaml: the runs of a test matrix and their factors.
type TestMatrix struct {
	Factors []string        `yaml:"factors"` // their order; absent is by name
	Runs    []TestMatrixRun `yaml:"runs"`
}

// TestMatrixRun is one run.
type TestMatrixRun struct {
	Name    string            `yaml:"name"`   // absent is the source
	Source  string            `yaml:"source"` // fio JSON, a log, a lake or an output directory; from RUNS.yaml's own
	Job     string            `yaml:"job"`    // of fio JSON: a glob over the jobs that count; absent is all
	Device  string            `yaml:"device"` // a glob over the devices that count; absent is all
	Factors map[string]string `yaml:"factors"`
}

// ReadTestMatrix reads RUNS.yaml; an unknown key is an error with its line.
func ReadTestMatrix(file string) (*TestMatrix, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("matrix: %w", err)
	}
	var m TestMatrix
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("matrix: %s: %s", file, yamlWords(err))
	}
	if len(m.Runs) == 0 {
		return nil, fmt.Errorf("matrix: %s: no runs", file)
	}
	for i := range m.Runs {
		r := &m.Runs[i]
		if r.Source == "" {
			return nil, fmt.Errorf("matrix: %s: run %d has no source", file, i+1)
		}
		if r.Name == "" {
			r.Name = r.Source
		}
		for _, glob := range []string{r.Job, r.Device} {
			if _, err := path.Match(glob, ""); err != nil {
				return nil, fmt.Errorf("matrix: %s: run %d: %q is no pattern", file, i+1, glob)
			}
		}
		if !filepath.IsAbs(r.Source) && !strings.Contains(r.Source, "://") {
			r.Source = filepath.Join(filepath.Dir(file), r.Source)
		}
	}
	return &m, nil
}

// strayField is how yaml says that a key is unknown.
var strayField = regexp.MustCompile(`field (\S+) not found in type \S+`)

// yamlWords is the first fault in words that fit one line.
func yamlWords(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimSpace(strings.TrimPrefix(text, "unmarshal errors:"))
	text, _, _ = strings.Cut(text, "\n")
	return strayField.ReplaceAllString(text, "unknown key $1")
}

// Figures are those of one run, from the job's lake: of fio's own summary
// where that is what the lake has, else of the windows.
func (j *Job) Figures(run *TestMatrixRun, windows *Windows) (matrix.Figures, error) {
	if windows != nil && windows.Len() > 0 {
		return windowFigures(run, windows)
	}
	return j.fioFigures(run)
}

// unknown is figures of which nothing is known.
func unknown() matrix.Figures {
	n := math.NaN()
	return matrix.Figures{BytesPerS: n, IOPS: n, P50MS: n, P99MS: n, CPUShare: n, IOWait: n}
}

// windowFigures adds the devices up, and takes latencies by requests.
func windowFigures(run *TestMatrixRun, windows *Windows) (matrix.Figures, error) {
	f := unknown()
	var bytes, requests, seconds, busy float64
	var p50, p99 weighted
	spans := map[features.Key]float64{}
	for i := range windows.Len() {
		w := windows.At(i)
		if ok, _ := path.Match(run.Device, w.Device); run.Device != "" && !ok { // the pattern was checked
			continue
		}
		s := float64(w.CoveredTicks) * float64(w.TickNS) / 1e9
		spans[w.Key] += s
		n := float64(w.Requests)
		if v := w.Context[features.CtxBytesPerS]; !math.IsNaN(v) {
			bytes += v * s
		}
		requests += n
		p50.add(w.Context[features.CtxLatencyP50], n)
		p99.add(w.Context[features.CtxLatencyP99], n)
		if w.Missing.Has(features.BusyFraction) {
			busy += w.Vector[features.BusyFraction] * s
			seconds += s
		}
	}
	longest := 0.0
	for _, s := range spans {
		longest = max(longest, s)
	}
	if longest == 0 || requests == 0 {
		return f, fmt.Errorf("run %s: no window with a request", Printable(run.Name))
	}
	f.BytesPerS, f.IOPS = bytes/longest, requests/longest
	f.P50MS, f.P99MS = p50.mean(), p99.mean()
	if seconds > 0 {
		f.IOWait = busy / seconds
	}
	return f, nil
}

// weighted is a geometric mean in the making.
type weighted struct{ sum, weight float64 }

func (w *weighted) add(v, weight float64) {
	if v > 0 && weight > 0 {
		w.sum += math.Log(v) * weight
		w.weight += weight
	}
}

func (w *weighted) mean() float64 { return math.Exp(w.sum / w.weight) } // NaN of nothing

// fioJob is what fio says of a job of one name.
type fioJob struct {
	name  string
	facts map[string]float64
}

// fioSum is the name under which fio's server reports the sum of its clients
// beside them (fio 3.41, client.c).
const fioSum = "All clients"

// fioFigures adds the jobs and their operations up.
func (j *Job) fioFigures(run *TestMatrixRun) (matrix.Figures, error) {
	jobs, err := j.fioJobs(run)
	if err != nil {
		return unknown(), err
	}
	f, told := jobFigures(jobs)
	if !told {
		return f, fmt.Errorf("run %s: %s has neither I/O nor a summary of fio", Printable(run.Name), run.Source)
	}
	return f, nil
}

// jobFigures adds jobs up; told is false where they have no I/O.
func jobFigures(jobs []fioJob) (f matrix.Figures, told bool) {
	f = unknown()
	var bytes, iops, cpu float64
	var p50, p99 weighted
	cpuTold := false
	for _, job := range jobs {
		apart := false
		for _, op := range []string{"fio_read_", "fio_write_", "fio_trim_", "fio_mixed_"} {
			n, ok := job.facts[op+"ios"]
			if !ok || op == "fio_mixed_" && apart { // the sum of the others
				continue
			}
			told, apart = true, true
			bytes += job.facts[op+"bytes_per_s"]
			iops += job.facts[op+"iops"]
			for _, q := range []struct {
				name string
				to   *weighted
			}{{"clat_p50_ns", &p50}, {"clat_p99_ns", &p99}} {
				q.to.add(job.facts[op+q.name]/1e6, n)
			}
		}
		for _, k := range []string{"fio_job_cpu_user", "fio_job_cpu_system"} {
			if v, ok := job.facts[k]; ok {
				cpu += v
				cpuTold = true
			}
		}
	}
	if !told {
		return f, false
	}
	f.BytesPerS, f.IOPS, f.P50MS, f.P99MS = bytes, iops, p50.mean(), p99.mean()
	if cpuTold {
		f.CPUShare = cpu
	}
	return f, true
}

// RunSide is what fio's summaries in the job's lake say of each of their jobs;
// it has no runs where there are no summaries.
func (j *Job) RunSide(name string) (compare.Side, error) {
	side := compare.Side{Name: name}
	jobs, err := j.fioJobs(&TestMatrixRun{})
	for i := range jobs {
		if f, told := jobFigures(jobs[i : i+1]); told {
			side.Runs = append(side.Runs, compare.Run{Name: jobs[i].name, BytesPerS: f.BytesPerS, IOPS: f.IOPS, P50MS: f.P50MS, P99MS: f.P99MS, CPU: f.CPUShare})
		}
	}
	return side, err
}

// fioJobs reads the facts of fio's summaries: a job ends where its first fact
// is told again.
func (j *Job) fioJobs(run *TestMatrixRun) ([]fioJob, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	var jobs []fioJob
	for _, p := range lake.Parts(manifests, lake.Evidence) {
		file := j.at(p.Path)
		r, err := j.opener().Open(file, nil)
		if err != nil {
			return nil, err
		}
		var facts []ingest.Evidence
		var names ingest.Names
		for err == nil {
			var cols []lake.Column
			if cols, _, err = r.Next(); err == nil {
				facts, err = ingest.EvidenceFromColumns(cols, &names, facts)
			}
		}
		r.Close()
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		slices.SortStableFunc(facts, func(a, b ingest.Evidence) int { return int(max(-1, min(1, a.Position-b.Position))) })
		open := map[string]int{} // job's number by its name
		for _, e := range facts {
			name := names.String(e.Name)
			if !strings.HasPrefix(name, "fio_") || strings.HasPrefix(name, "fio_option") || strings.HasPrefix(name, "fio_disk") {
				continue
			}
			job := names.String(e.Text)
			if ok, _ := path.Match(run.Job, job); run.Job != "" && !ok { // the pattern was checked
				continue
			}
			at, known := open[job]
			if known {
				_, known = jobs[at].facts[name]
				known = !known
			}
			if !known {
				at = len(jobs)
				open[job] = at
				jobs = append(jobs, fioJob{name: job, facts: map[string]float64{}})
			}
			jobs[at].facts[name] = e.Value
		}
	}
	if run.Job == "" && len(jobs) > 1 {
		jobs = slices.DeleteFunc(jobs, func(j fioJob) bool { return j.name == fioSum })
	}
	return jobs, nil
}
