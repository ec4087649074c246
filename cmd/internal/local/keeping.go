package local

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

// keeping puts parts of windows, ticks or labels in the place of those of the
// same cells. What takes another's place waits beside it until the manifest is
// written; what is byte for byte what stands there is left as it is.
type keeping struct {
	j         *Job
	manifests []lake.Manifest
	live      map[string]lake.Part
	parts     []lake.Part
	staged    []string
	same      map[string]bool // paths of parts that stay
	changed   map[cell]bool   // whose windows are others than before

	lock   *lake.Lock
	note   string // of what is begun; "" for nothing
	stored bool
}

// begin notes that parts of the tables are about to be written, so that what a crash
// leaves of them is swept.
func (k *keeping) begin(lock *lake.Lock, tables ...string) error {
	k.lock, k.note = lock, k.run(tables)
	return lock.Begin(k.note, tables)
}

// end takes that note back.
func (k *keeping) end() error {
	if k.note == "" {
		return nil
	}
	run := k.note
	k.note = ""
	return k.lock.End(run)
}

func newKeeping(j *Job, manifests []lake.Manifest) *keeping {
	k := &keeping{j: j, manifests: manifests, live: map[string]lake.Part{}, same: map[string]bool{}, changed: map[cell]bool{}}
	for _, table := range []string{lake.Windows, lake.Ticks, lake.Profiles, lake.Labels, lake.Baselines} {
		for _, p := range lake.Parts(manifests, table) {
			k.live[p.Path] = p
		}
	}
	return k
}

// path is the file to write a part to.
func (k *keeping) path(name string) string {
	path := filepath.Join(k.j.Lake, filepath.FromSlash(name))
	if _, waits := k.live[name]; waits {
		return lake.StagedPath(path)
	}
	return path
}

// add takes a part that was written to its path.
func (k *keeping) add(name string, p lake.Part) {
	p.Path = name
	old, waits := k.live[name]
	switch {
	case waits && old.Rows == p.Rows && slices.Equal(old.Blocks, p.Blocks) && k.j.sound(old):
		k.same[name] = true
		_ = os.Remove(lake.StagedPath(filepath.Join(k.j.Lake, filepath.FromSlash(name)))) // swept otherwise
		return
	case waits:
		k.staged = append(k.staged, name)
	}
	k.parts = append(k.parts, p)
	if c, err := cellOf(p); err == nil && strings.HasPrefix(name, lake.Windows+"/") {
		k.changed[c] = true
	}
}

// sound says that a part's file is as it was written.
func (j *Job) sound(p lake.Part) bool {
	if j.Away != nil && j.Away.Waits(p) {
		return true // as far as can be told without reading it
	}
	faults, err := lake.VerifyPart(j.Lake, p)
	return err == nil && len(faults) == 0
}

// drop removes what was written and not stored.
func (k *keeping) drop() {
	for _, name := range k.staged {
		_ = os.Remove(lake.StagedPath(filepath.Join(k.j.Lake, filepath.FromSlash(name)))) // swept otherwise
	}
	k.staged = nil
	if k.stored {
		return
	}
	for _, p := range k.parts {
		if _, waits := k.live[p.Path]; !waits {
			_ = os.Remove(filepath.Join(k.j.Lake, filepath.FromSlash(p.Path))) // swept otherwise
		}
	}
	k.parts = nil
	_ = k.end() // what is left of it is swept
}

// store writes the manifest by which the parts take the place of the tables'
// earlier ones of the cells, and gives all manifests. Where nothing changes,
// none is written.
func (k *keeping) store(lock *lake.Lock, cells []lake.Cell, tables ...string) ([]lake.Manifest, error) {
	of, dates := map[cell]bool{}, map[string]bool{}
	for _, c := range cells {
		of[cell{c.Host, c.Date}], dates[c.Date] = true, true
	}
	written := map[string]bool{}
	for _, p := range k.parts {
		written[p.Path] = true
	}
	var removed []string
	for _, path := range sortedKeys(k.live) {
		c, err := cellOf(k.live[path])
		if err != nil {
			return nil, err
		}
		table, _, _ := strings.Cut(path, "/")
		if slices.Contains(tables, table) && !written[path] && !k.same[path] && (of[c] || c.host == "" && dates[c.date]) {
			removed = append(removed, path)
			if table == lake.Windows {
				k.changed[c] = true
			}
		}
	}
	slices.SortFunc(k.parts, func(a, b lake.Part) int { return strings.Compare(a.Path, b.Path) }) // whoever made them
	m := lake.Manifest{Run: k.run(tables), Version: k.j.Version, Parts: k.parts, Removed: removed}
	if tables[0] == lake.Windows {
		m.Cells = cells
	} else if m.Judged = k.judged(cells); len(k.parts)+len(removed)+len(m.Judged) == 0 {
		k.stored = true
		return k.manifests, k.end()
	}
	staged, err := lock.StageManifest(m)
	if err != nil {
		return nil, err
	}
	for len(k.staged) > 0 {
		if err := lock.Publish(filepath.Join(k.j.Lake, filepath.FromSlash(k.staged[0]))); err != nil {
			return nil, err
		}
		k.staged = k.staged[1:]
	}
	if err := staged.Commit(); err != nil {
		return nil, err
	}
	k.stored = true
	if err := errors.Join(k.j.remove(removed), k.end()); err != nil {
		return nil, err
	}
	return k.j.Manifests()
}

// run names the manifest: a job that keeps the same tables again, as a night that
// judges several dates, must not write it over its own.
func (k *keeping) run(tables []string) string {
	base := k.j.RunID + "-" + strings.Join(tables, "-")
	run := base
	for n := 2; slices.ContainsFunc(k.manifests, func(m lake.Manifest) bool { return m.Run == run }); n++ {
		run = fmt.Sprintf("%s-%d", base, n)
	}
	return run
}

// judged says of which windows the labels of the cells are from now on: the
// records that are other than before.
func (k *keeping) judged(cells []lake.Cell) (out []lake.Judged) {
	was := lake.JudgedOf(k.manifests)
	of := map[lake.Day]string{}
	for _, c := range lake.Cells(k.manifests) {
		of[lake.Day{Host: c.Host, Date: c.Date}] = c.Of
	}
	for _, c := range cells {
		if d := (lake.Day{Host: c.Host, Date: c.Date}); of[d] != "" && of[d] != was[d] {
			out = append(out, lake.Judged{Day: d, Of: of[d]})
		}
	}
	return out
}

// cellRows are the numbers of some rows of a cell.
type cellRows struct {
	cell
	rows []int32
}

// cellsOf sorts the numbers of windows by their cells.
func cellsOf(windows features.Rows[features.Window]) []cellRows {
	at := map[cell]int{}
	var out []cellRows
	var last cell
	k, day := -1, int64(0)
	for i := range windows.Len() {
		w := windows.At(i)
		if ns := w.StartNS; k < 0 || w.Host != last.host || ns < day || ns >= day+dayNS {
			last = cell{w.Host, lake.Date(ns)}
			day = ns - (ns%dayNS+dayNS)%dayNS
			var ok bool
			if k, ok = at[last]; !ok {
				k = len(out)
				at[last] = k
				out = append(out, cellRows{cell: last})
			}
		}
		out[k].rows = append(out[k].rows, int32(i))
	}
	slices.SortFunc(out, func(a, b cellRows) int { return compareCells(a.cell, b.cell) })
	return out
}

// concern says of which cells the job speaks from now on: their windows, and the
// evidence of the inputs that have rows in them.
func (j *Job) concern(s *stock, cells map[cell]bool) {
	j.cells = cells
	in := map[string]bool{}
	for c := range cells {
		if rows := s.cells[c]; rows != nil {
			for _, p := range slices.Concat(rows.events, rows.samples, rows.evidence) {
				in[inputOf(p.Path)] = true
			}
		}
	}
	j.inputs = append([]string{}, sortedKeys(in)...)
}

// windowsOfCells reads the windows of cells, by host, device and time.
func (j *Job) windowsOfCells(manifests []lake.Manifest, cells map[cell]bool) (*Windows, error) {
	return j.readWindows(manifests, func(c cell) bool { return cells[c] })
}

func sortWindows(all []features.Window) {
	slices.SortStableFunc(all, func(a, b features.Window) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Device, b.Device), cmp.Compare(a.StartNS, b.StartNS))
	})
}

// readWindows reads the windows of the cells for which use is true.
func (j *Job) readWindows(manifests []lake.Manifest, use func(cell) bool) (*Windows, error) {
	var parts []lake.Part
	for _, p := range lake.Parts(manifests, lake.Windows) {
		c, err := cellOf(p)
		if err != nil {
			return nil, err
		}
		if use(c) {
			parts = append(parts, p)
		}
	}
	return j.windowsIn(parts, nil, func(*features.Window) bool { return true })
}

// windowsIn reads the windows of parts for which use is true; of each part the row
// groups that pick gives, nil: all.
func (j *Job) windowsIn(parts []lake.Part, pick func(*lake.Reader) []int, use func(*features.Window) bool) (*Windows, error) {
	all := j.pile()
	for _, p := range parts {
		path := j.at(p.Path)
		r, err := j.opener().Open(path, nil)
		if err != nil {
			all.drop()
			return nil, err
		}
		if pick != nil {
			r.Select(pick(r))
		}
		err = eachWindow(r, func(w *features.Window) error {
			if !use(w) {
				return nil
			}
			return all.add(w)
		})
		if cerr := r.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			all.drop()
			return nil, err
		}
	}
	return all.windows()
}

// Windows reads all windows of the lake, by host, device and time: those of the
// length and tick that were last asked for (see OtherWindows).
func (j *Job) Windows() (*Windows, error) {
	return j.WindowsBetween("", "9999-12-31")
}

// WindowsBetween is Windows for the dates from the first to the last, and makes
// the job speak of these.
func (j *Job) WindowsBetween(first, last string) (*Windows, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	s, err := newStock(manifests)
	if err != nil {
		return nil, err
	}
	other := othersOf(manifests)
	cells := map[cell]bool{}
	for c := range s.cells {
		if c.date >= first && c.date <= last && !other[c] {
			cells[c] = true
		}
	}
	for c := range s.made { // the rows that they were made of may be gone
		if c.date >= first && c.date <= last && !other[c] {
			cells[c] = true
		}
	}
	j.concern(s, cells)
	return j.readWindows(manifests, func(c cell) bool { return cells[c] || c.host == "" && c.date >= first && c.date <= last })
}

// othersOf are the cells whose windows were made with another window or tick
// than those made last: they can be read, and are not mixed with these.
func othersOf(manifests []lake.Manifest) map[cell]bool {
	var last lake.Cell
	for _, m := range manifests {
		if n := len(m.Cells); n > 0 {
			last = m.Cells[n-1]
		}
	}
	out := map[cell]bool{}
	for _, c := range lake.Cells(manifests) {
		if c.WindowNS != last.WindowNS || c.TickNS != last.TickNS {
			out[cell{c.Host, c.Date}] = true
		}
	}
	return out
}

// OtherWindows says in words which windows of the lake are of another length or
// tick than those made last, and what to do; "" if none are.
func (j *Job) OtherWindows() (string, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return "", err
	}
	others := othersOf(manifests)
	if len(others) == 0 {
		return "", nil
	}
	var first, last string
	var length, tick int64
	for _, c := range lake.Cells(manifests) {
		if others[cell{c.Host, c.Date}] {
			if first == "" || c.Date < first {
				first, length, tick = c.Date, c.WindowNS, c.TickNS
			}
			last = max(last, c.Date)
		}
	}
	return fmt.Sprintf("%d host-days of %s to %s have windows of another length (%v with ticks of %v) and are left out: iopathy features makes them anew of what events are left",
		len(others), first, last, time.Duration(length), time.Duration(tick)), nil
}

// errNoCells says that a diagnosis is of no windows that were read from the lake.
var errNoCells = errors.New("labels: of which days and hosts is not known")
