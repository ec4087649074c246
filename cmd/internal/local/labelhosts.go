package local

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reduce"
)

// Fit is the models of all families, the largest first, why they are so, and how
// they came to their classes.
type Fit struct {
	Models    []KindModel
	Whys      []string
	Groupings []cluster.Grouping
}

// Encode gives the fit as text.
func (f *Fit) Encode() (string, error) {
	models, err := json.Marshal(f.Models)
	if err != nil {
		return "", fmt.Errorf("fit: %w", err)
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(fitText{models, f.Whys, f.Groupings}); err != nil {
		return "", fmt.Errorf("fit: %w", err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

type fitText struct {
	Models    []byte
	Whys      []string
	Groupings []cluster.Grouping
}

// DecodeFit is the inverse of Encode.
func DecodeFit(text string) (*Fit, error) {
	var t fitText
	b, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(b)).Decode(&t)
	}
	if err != nil {
		return nil, fmt.Errorf("fit: %w", err)
	}
	f := &Fit{Whys: t.Whys, Groupings: t.Groupings}
	if err := json.Unmarshal(t.Models, &f.Models); err != nil {
		return nil, fmt.Errorf("fit: %w", err)
	}
	for i := range f.Models {
		f.Models[i].Cluster = f.Models[i].Cluster.Grouped(t.Groupings[i])
	}
	return f, nil
}

// inventory is what a model knows of devices where nobody tells.
func (m *KindModel) inventory(inv reduce.Inventory, given bool) reduce.Inventory {
	if inv == nil && given {
		return inventoryOf(m.Devices)
	}
	return inv
}

// labelledShare is what LabelHosts leaves of a share, beside the parts and the rows of
// what is said of each window, by host, device and time.
type labelledShare struct {
	Windows  int
	Families []labelledFamily
	Parts    []lake.Part

	Words  []string
	Keys   []features.Key
	Causes [][]cluster.Cause
}

type labelledFamily struct {
	Kind           ingest.LatencyKind
	TickNS, Length int64
	Said           *cluster.Share
	Mark           *MarkShare
}

// LabelHosts labels the windows of a share, and leaves what is said of them in dir;
// what is there is removed. It gives the number of windows.
func (j *Job) LabelHosts(share HostShare, fit *Fit, inv reduce.Inventory, rules *cluster.Rules, dir string) (n int64, err error) {
	defer Rescue(&err)
	if err := freshDir(dir); err != nil {
		return 0, err
	}
	windows, err := j.windowsOfHosts(share, rules)
	if err != nil {
		return 0, err
	}
	out := labelledShare{Windows: windows.Len()}
	d, err := j.judge(windows, nil, func(f *family) (res cluster.Result, km KindModel, known reduce.Inventory, err error) {
		m, err := f.modelIn(fit.Models)
		if err != nil {
			return res, km, known, err
		}
		km = *m
		known = km.inventory(inv, j.Config.Model != "")
		if err := km.Reduce.Check(f.windows); err != nil {
			return res, km, known, err
		}
		points := f.points(km.Reduce, known)
		said := km.Cluster.LabelShare(points, rules, j.Config.Cluster, f.put)
		out.Families = append(out.Families, labelledFamily{f.kind, f.tick, f.length, said, markShare(points, f.said())})
		return cluster.Result{}, km, known, nil
	})
	if err != nil {
		windows.Close()
		return 0, err
	}
	defer d.Close()
	keep := newKeeping(j.on(dir), nil)
	if err := errors.Join(keep.labels(d), keep.baselines(d)); err != nil {
		return 0, err
	}
	out.Parts = keep.parts
	file, err := namedRows(saidFile(dir))
	if err != nil {
		return 0, err
	}
	said := saidSet{file: file, causes: make([][]cluster.Cause, 1)}
	file.at = make([]int64, windows.Len())
	for i := range windows.Len() {
		said.put(i, d.Result.Diagnoses.At(i))
	}
	if err := cmp.Or(said.err, file.done()); err != nil {
		return 0, err
	}
	out.Words, out.Keys, out.Causes = said.words.all, said.keys, said.causes
	return int64(windows.Len()), keepGob(labelledFile(dir), out)
}

// labelled is the shares that a diagnosis was joined of.
type labelled struct {
	dirs   []string
	shares []*labelledShare
}

// adopt makes the parts of the shares those of the lake.
func (l *labelled) adopt(keep *keeping) error {
	for i, s := range l.shares {
		for _, p := range s.Parts {
			if err := lake.Adopt(l.dirs[i], keep.j.Lake, p.Path); err != nil {
				return err
			}
			keep.add(p.Path, p)
		}
	}
	return nil
}

// fill gives the set what is said of all windows.
func (l *labelled) fill(set *saidSet, windows int) error {
	n := 0
	for i, s := range l.shares {
		rows, err := openRows(saidFile(l.dirs[i]))
		if err != nil {
			return err
		}
		w := words{all: s.Words}
		for k := 0; k < s.Windows && err == nil && n < windows; k++ {
			var row []byte
			if row, err = rows.next(); err == nil {
				set.put(n, saidOf(row, &w, s.Keys, s.Causes))
				n++
			}
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err = cmp.Or(err, rows.r.Close(), set.err); err != nil {
			return fmt.Errorf("what is said of windows: %w", err)
		}
	}
	if n != windows {
		return fmt.Errorf("the shares have labelled %d of %d windows", n, windows)
	}
	return nil
}

// DiagnoseHosts joins what LabelHosts has left in the directories, those of all shares
// in the order of their hosts. The windows are those that Features gives.
func (j *Job) DiagnoseHosts(windows *Windows, dirs []string, fit *Fit, inv reduce.Inventory, rules *cluster.Rules) (d *Diagnosed, err error) {
	defer Rescue(&err)
	if err := j.witness(windows, rules); err != nil {
		return nil, err
	}
	of := &labelled{dirs: dirs}
	for _, dir := range dirs {
		s := new(labelledShare)
		if err := readGob(labelledFile(dir), s); err != nil {
			return nil, err
		}
		of.shares = append(of.shares, s)
	}
	names, err := j.newNaming(windows)
	if err != nil {
		return nil, err
	}
	filled := false
	d, err = j.judge(windows, names, func(f *family) (res cluster.Result, km KindModel, known reduce.Inventory, err error) {
		if !filled {
			if err := of.fill(f.set, windows.Len()); err != nil {
				return res, km, known, err
			}
			filled = true
		}
		at := slices.IndexFunc(fit.Models, func(m KindModel) bool {
			return m.Kind == f.kind.String() && m.TickNS == f.tick && m.WindowNS == f.length
		})
		if at < 0 {
			_, err := f.modelIn(nil)
			return res, km, known, err
		}
		km = fit.Models[at]
		known = km.inventory(inv, j.Config.Model != "")
		var said []*cluster.Share
		var marks []*MarkShare
		for _, s := range of.shares {
			for i := range s.Families {
				if one := &s.Families[i]; one.Kind == f.kind && one.TickNS == f.tick && one.Length == f.length {
					said, marks = append(said, one.Said), append(marks, one.Mark)
				}
			}
		}
		res = km.Cluster.Join(said, rules)
		res.Why = cmp.Or(fit.Whys[at], res.Why)
		before := km.Cluster
		res = names.name(&km, f, f.points(km.Reduce, known), res, rules, j.Config.Cluster)
		if km.Cluster != before {
			return res, km, known, errors.New("the lake has given the classes other names than those that they were labelled by")
		}
		if j.Config.Model == "" {
			born := markJoined(marks)
			km.Born = &born
		}
		return res, km, known, nil
	})
	if err != nil {
		return nil, err
	}
	d.shares = of
	return d, nil
}
