package local

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

// cell is a day of a host: what windows, ticks and labels are kept by. What is
// in it follows from the lake's rows of that day, with those around it that
// reach into it, and from nothing else: not from the run, nor from the order in
// which the lake got them.
type cell struct{ host, date string }

func compareCells(a, b cell) int {
	return cmp.Or(strings.Compare(a.host, b.host), strings.Compare(a.date, b.date))
}

// startOf is the beginning of a date.
func startOf(date string) (int64, error) {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return 0, fmt.Errorf("date of a part: %w", err)
	}
	return t.UnixNano(), nil
}

// shift is the cell of the same host some days later.
func (c cell) shift(days int) cell {
	t, err := time.Parse(time.DateOnly, c.date)
	if err != nil {
		return c // it was a date when the part was found
	}
	return cell{c.host, t.AddDate(0, 0, days).Format(time.DateOnly)}
}

// cellParts are parts of a cell, by table.
type cellParts struct{ events, samples, evidence []lake.Part }

type inputHost struct{ input, host string }

// stock is what the lake holds that windows are made of.
type stock struct {
	cells    map[cell]*cellParts
	evidence map[inputHost][]lake.Part
	firstNS  map[string]int64     // earliest start, by input
	below    map[string]string    // what files beside an input told, as text
	made     map[cell]lake.Cell   // what was made, and of what
	stored   map[cell][]lake.Part // that hold it
}

func newStock(manifests []lake.Manifest) (*stock, error) {
	s := &stock{cells: map[cell]*cellParts{}, evidence: map[inputHost][]lake.Part{}, firstNS: map[string]int64{}, below: map[string]string{}, made: map[cell]lake.Cell{}, stored: map[cell][]lake.Part{}}
	for _, table := range []string{lake.Events, lake.Samples, lake.Evidence} {
		for _, p := range lake.Parts(manifests, table) {
			name, err := lake.ParsePart(p.Path)
			if err != nil {
				return nil, err
			}
			c := cell{name.Host, name.Date}
			if s.cells[c] == nil {
				s.cells[c] = &cellParts{}
			}
			switch at := s.cells[c]; table {
			case lake.Events:
				at.events = append(at.events, p)
			case lake.Samples:
				at.samples = append(at.samples, p)
			default:
				at.evidence = append(at.evidence, p)
				k := inputHost{name.Input, name.Host}
				s.evidence[k] = append(s.evidence[k], p)
			}
		}
	}
	for _, m := range manifests {
		for _, in := range m.Inputs {
			if in.Gave() {
				s.firstNS[in.ID] = in.FirstNS
			}
			if len(in.Below) > 0 {
				b, err := json.Marshal(in.Below) // maps are written in order
				if err != nil {
					return nil, err
				}
				s.below[in.ID] = string(b)
			}
		}
	}
	for _, table := range []string{lake.Windows, lake.Ticks, lake.Profiles} {
		for _, p := range lake.Parts(manifests, table) {
			c, err := cellOf(p)
			if err != nil {
				return nil, err
			}
			s.stored[c] = append(s.stored[c], p)
		}
	}
	for _, c := range lake.Cells(manifests) {
		s.made[cell{c.Host, c.Date}] = c
	}
	return s, nil
}

// of lists the cells that the rows of inputs are in; an I/O that began the day
// before concerns that day.
func (s *stock) of(use func(string) bool) map[cell]bool {
	found := map[cell]bool{}
	for c, rows := range s.cells {
		for _, parts := range [][]lake.Part{rows.events, rows.samples, rows.evidence} {
			for _, p := range parts {
				in := inputOf(p.Path)
				if !use(in) {
					continue
				}
				found[c] = true
				if before := c.shift(-1); s.firstNS[in] > 0 && lake.Date(s.firstNS[in]) == before.date && len(rows.events) > 0 {
					found[before] = true
				}
			}
		}
	}
	return found
}

// feed is what the windows of a cell are made of.
type feed struct {
	cell
	dayNS           int64 // its beginning
	fromNS, toNS    int64 // of the rows that count
	events, samples []lake.Part
	evidence        []lake.Part     // of the host, of the inputs in play
	inputs          map[string]bool // that have rows of the host on the day or beside it
	units           []unitName      // of the folds, once they are known
}

// feed finds what the windows of a cell are made of: the rows of its day; the
// events before it that the folds' memory reaches back to, and those behind it that
// may have begun in it; the samples of a day around it, since their windows are long.
func (s *stock) feed(c cell, o features.Options) (*feed, error) {
	day, err := startOf(c.date)
	if err != nil {
		return nil, err
	}
	f := &feed{cell: c, dayNS: day, fromNS: day - o.HaloNS(), toNS: day + dayNS + breakNS, inputs: map[string]bool{}}
	for days := -1; days <= 1; days++ {
		rows := s.cells[c.shift(days)]
		if rows == nil {
			continue
		}
		for _, p := range rows.events {
			if days < 0 && p.LastNS < f.fromNS || days > 0 && p.FirstNS > f.toNS {
				continue
			}
			f.events = append(f.events, p)
		}
		f.samples = append(f.samples, rows.samples...)
		for _, p := range rows.evidence {
			f.inputs[inputOf(p.Path)] = true
		}
	}
	for _, p := range slices.Concat(f.events, f.samples) {
		f.inputs[inputOf(p.Path)] = true
	}
	last := c.shift(1).date
	for _, in := range sortedKeys(f.inputs) {
		for _, p := range s.evidence[inputHost{in, c.host}] {
			if name, err := lake.ParsePart(p.Path); err == nil && name.Date <= last {
				f.evidence = append(f.evidence, p)
			}
		}
	}
	return f, nil
}

// sealed says that rows which windows of the cell were made of are gone for their age.
func (f *feed) sealed(closed map[lake.Day]bool) bool {
	for days := -1; days <= 1; days++ {
		if c := f.shift(days); closed[lake.Day{Host: c.host, Date: c.date}] {
			return true
		}
	}
	return false
}

// hash names what a cell is made of, with which options and by which version.
func (s *stock) hash(f *feed, o features.Options, version string) (string, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", version, text)
	for _, p := range slices.Concat(f.events, f.samples, f.evidence) {
		fmt.Fprintf(h, "%s %s\n", lake.Alone(p.Path), strings.Join(p.Blocks, " "))
	}
	for _, in := range sortedKeys(f.inputs) {
		if s.below[in] != "" {
			fmt.Fprintf(h, "%s %s\n", in, s.below[in])
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// stale gives the feeds of those of the cells whose windows were made of
// something else than what the lake holds now, or are damaged, and the records of what they will be.
func (j *Job) stale(s *stock, cells map[cell]bool) (feeds []*feed, records map[cell]lake.Cell, err error) {
	o := j.Config.Features
	records = map[cell]lake.Cell{}
	for _, c := range slices.SortedFunc(maps.Keys(cells), compareCells) {
		f, err := s.feed(c, o)
		if err != nil {
			return nil, nil, err
		}
		of, err := s.hash(f, o, j.Version)
		if err != nil {
			return nil, nil, err
		}
		if s.made[c].Of != of || slices.ContainsFunc(s.stored[c], func(p lake.Part) bool { return !j.sound(p) }) {
			feeds = append(feeds, f)
			records[c] = lake.Cell{Host: c.host, Date: c.date, Of: of, WindowNS: o.WindowNS, TickNS: o.TickNS}
		}
	}
	return feeds, records, nil
}

// files are parts as files.
func (j *Job) files(parts []lake.Part) (out []string, err error) {
	for _, p := range parts {
		out = append(out, filepath.Join(j.Lake, filepath.FromSlash(p.Path)))
	}
	return out, j.FetchFiles(parts)
}

// cellOf is the cell of a part; parts that older versions wrote are of no host.
func cellOf(p lake.Part) (cell, error) {
	name, err := lake.ParsePart(p.Path)
	return cell{name.Host, name.Date}, err
}
