package local

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/compare"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reduce"
)

// Selection is some windows of a lake or of a log: WHERE[@KEY=VALUE,...], or
// without WHERE the KEY=VALUE alone. The keys are host, device, model and
// version (globs; the last two by the inventory), and a span FROM..TO without a key.
type Selection struct {
	Text         string // as it was written
	Where        string // lake, output directory or log; empty is the lake of the job
	Host, Device string // globs; empty is all
	Model        string // glob, by the inventory; empty is all
	Version      string // glob, by the inventory; empty is all
	Span         string // FROM..TO; empty is all
}

// selectors are the keys of a selection that have a value.
var selectors = []string{"host", "device", "model", "version"}

// ParseSelection reads a selection.
func ParseSelection(s string) (Selection, error) {
	sel := Selection{Text: s}
	where, keys, found := cutLast(s, "@")
	if !found {
		where, keys = s, ""
		if _, err := os.Stat(s); err != nil && (strings.Contains(s, "..") || slices.ContainsFunc(selectors, func(k string) bool { return strings.HasPrefix(s, k+"=") })) {
			where, keys = "", s
		}
	}
	sel.Where = where
	if keys == "" {
		return sel, nil
	}
	for _, part := range strings.Split(keys, ",") {
		part = strings.TrimSpace(part)
		name, value, eq := strings.Cut(part, "=")
		switch {
		case strings.Contains(part, "..") && !eq:
			sel.Span = part
		case eq && name == "host":
			sel.Host = value
		case eq && name == "device":
			sel.Device = value
		case eq && name == "model":
			sel.Model = value
		case eq && name == "version":
			sel.Version = value
		default:
			return sel, fmt.Errorf("%q: %q is none of host=H, device=D, model=M, version=V, FROM..TO", s, part)
		}
	}
	for _, glob := range []string{sel.Host, sel.Device, sel.Model, sel.Version} {
		if _, err := path.Match(glob, ""); err != nil {
			return sel, fmt.Errorf("%q: %q is no pattern", s, glob)
		}
	}
	return sel, nil
}

// cutLast cuts at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// LakeOf is the lake at a path: the path itself or its folder lake; empty if
// there is none.
func LakeOf(dir string) string {
	for _, d := range []string{dir, filepath.Join(dir, "lake")} {
		if info, err := os.Stat(filepath.Join(d, "runs")); err == nil && info.IsDir() {
			return d
		}
	}
	return ""
}

// Side takes the selected windows of the job's lake, with their labels where
// the lake has them.
func (j *Job) Side(sel Selection, times Times, inv reduce.Inventory) (compare.Side, error) {
	side := compare.Side{Name: sel.Text}
	windows, err := j.Windows()
	if err != nil {
		return side, err
	}
	defer windows.Close()
	labels, err := j.labels()
	if err != nil {
		return side, err
	}
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	if sel.Span != "" {
		for i := range windows.Len() {
			w := windows.At(i)
			if i == 0 || w.StartNS < times.FirstNS {
				times.FirstNS = w.StartNS
			}
			times.LastNS = max(times.LastNS, w.EndNS)
		}
		if from, to, err = times.Span(sel.Span); err != nil {
			return side, err
		}
	}
	matches := func(glob, name string) bool {
		ok, _ := path.Match(glob, name) // the pattern was checked
		return glob == "" || ok
	}
	if inv == nil && (sel.Model != "" || sel.Version != "") {
		if inv, err = j.inventoryOfModel(); err != nil {
			return side, err
		}
	}
	told := true
	for i := range windows.Len() {
		w := windows.At(i)
		if !matches(sel.Host, w.Host) || !matches(sel.Device, w.Device) || w.StartNS < from || w.EndNS > to {
			continue
		}
		if d := inv[w.Key]; !matches(sel.Model, d.Model) || !matches(sel.Version, d.Version) {
			continue
		}
		side.Windows = append(side.Windows, *w)
		l, ok := labels[labelKey{w.Key, w.StartNS}]
		told = told && ok
		side.Labels = append(side.Labels, l)
	}
	if !told {
		side.Labels = nil
	}
	if len(side.Windows) == 0 {
		return side, fmt.Errorf("%q selects none of the %s of the lake", sel.Text, cluster.Counted(windows.Len(), "window"))
	}
	return side, nil
}

type labelKey struct {
	features.Key
	startNS int64
}

// labels reads what was last said of the lake's windows.
func (j *Job) labels() (map[labelKey]compare.Label, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	all := map[labelKey]compare.Label{}
	for _, p := range lake.Parts(manifests, lake.Labels) {
		path := j.at(p.Path)
		if err := readLabels(j.opener(), path, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func readLabels(o lake.Opener, file string, into map[labelKey]compare.Label) error {
	r, err := o.Open(file, []string{"host", "device", "window_start_ns", "verdict", "pathology"})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		cols, rows, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text := map[string][]string{}
		var starts []int64
		for _, c := range cols {
			switch d := c.Data.(type) {
			case []string:
				text[c.Name] = d
			case []int64:
				starts = d
			}
		}
		for _, name := range []string{"host", "device", "verdict", "pathology"} {
			if len(text[name]) != int(rows) {
				return fmt.Errorf("%s: no column %s of strings", file, name)
			}
		}
		if len(starts) != int(rows) {
			return fmt.Errorf("%s: no column window_start_ns", file)
		}
		for i, start := range starts {
			k := labelKey{features.Key{Host: text["host"][i], Device: text["device"][i]}, start}
			into[k] = compare.Label{Verdict: cluster.Verdict(text["verdict"][i]), Pathology: text["pathology"][i]}
		}
	}
}

// inventoryOfModel is what the lake's model was told of the devices.
func (j *Job) inventoryOfModel() (reduce.Inventory, error) {
	models, err := readModels(filepath.Join(j.Lake, filepath.FromSlash(lake.ModelPath(modelFile))))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	inv := reduce.Inventory{}
	for _, m := range models {
		for k, d := range inventoryOf(m.Devices) {
			inv[k] = d
		}
	}
	return inv, nil
}
