package lake

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The kinds of faults.
const (
	Damaged = "damaged" // a block is not what was written
	Absent  = "missing" // a part that a manifest names is not there
	Extra   = "extra"   // a file that no manifest names
)

// A Fault is what is wrong with a file of a lake. Of a damaged block Devices
// and the times are those of the rows that have bytes in it, as far as the file
// still tells; if it can't be read they are the bounds of all its rows.
type Fault struct {
	Path    string   `json:"path"` // below the lake, forward slashes
	Kind    string   `json:"kind"`
	Why     string   `json:"why,omitempty"`
	Block   int      `json:"block"`     // from 0; for damage
	From    int64    `json:"from_byte"` // of the block
	To      int64    `json:"to_byte"`
	Host    string   `json:"host,omitempty"`
	Date    string   `json:"date,omitempty"`
	Input   string   `json:"input,omitempty"` // identity of the input that the part was made of
	Devices []string `json:"devices,omitempty"`
	Rows    int64    `json:"rows,omitempty"` // of the row groups that have bytes in the block
	FirstNS int64    `json:"first_ns,omitempty"`
	LastNS  int64    `json:"last_ns,omitempty"`
}

// String says the place and the damage in words, without devices and times.
func (f Fault) String() string {
	switch f.Kind {
	case Damaged:
		return fmt.Sprintf("%s: block %d (bytes %d to %d) is damaged: %s", f.Path, f.Block, f.From, f.To, f.Why)
	case Absent:
		return fmt.Sprintf("%s: is missing", f.Path)
	}
	return fmt.Sprintf("%s: no manifest names it", f.Path)
}

// VerifyPart reads a part of the lake at dir and compares it with what its
// writer knew: one fault for each damaged block. The error is a file that
// can't be read.
func VerifyPart(dir string, p Part) ([]Fault, error) {
	path := filepath.Join(dir, filepath.FromSlash(p.Path))
	whole := Fault{Path: p.Path}
	if name, err := ParsePart(p.Path); err == nil {
		whole.Host, whole.Date, whole.Input = name.Host, name.Date, name.Input
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		whole.Kind, whole.To = Absent, p.Bytes
		whole.all(p)
		return []Fault{whole}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lake: verify: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("lake: verify: %w", err)
	}
	var faults []Fault
	buf := make([]byte, BlockBytes)
	for i, want := range p.Blocks {
		n, err := io.ReadFull(f, buf)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return nil, fmt.Errorf("lake: verify %s: block %d: %w", path, i, err)
		}
		if i == len(p.Blocks)-1 {
			n = min(n, int(p.Bytes-int64(i)*BlockBytes)) // what is longer is told below
		}
		if sum := sha256.Sum256(buf[:n]); hex.EncodeToString(sum[:]) == want {
			continue
		}
		d := whole
		d.Kind, d.Block, d.From = Damaged, i, int64(i)*BlockBytes
		d.To, d.Why = min(d.From+BlockBytes, p.Bytes), "its bytes are others than were written"
		if info.Size() < d.To {
			d.Why = fmt.Sprintf("the file ends at byte %d of %d", info.Size(), p.Bytes)
		}
		faults = append(faults, d)
	}
	if info.Size() > p.Bytes && len(faults) == 0 {
		d := whole
		d.Kind, d.Block = Damaged, int(p.Bytes/BlockBytes)
		d.From, d.To, d.Why = p.Bytes, info.Size(), fmt.Sprintf("the file goes on behind its end at byte %d", p.Bytes)
		faults = append(faults, d)
	}
	if len(faults) > 0 && concerned(path, faults) != nil {
		for i := range faults {
			faults[i].all(p)
		}
	}
	return faults, nil
}

// all makes a fault concern all rows of a part.
func (f *Fault) all(p Part) {
	f.Rows, f.FirstNS, f.LastNS = p.Rows, p.FirstNS, p.LastNS
	if p.FirstDevice != "" || p.LastDevice != "" {
		f.Devices = slices.Compact([]string{p.FirstDevice, p.LastDevice})
	}
}

// timeColumns are the columns that tell the time of a row in the tables.
var timeColumns = []string{"time_ns", "start_ns", "window_start_ns"}

// concerned finds the devices and times of the rows that have bytes in damaged
// blocks. Names are read where their own bytes are whole, else the bounds in
// the footer tell the first and the last.
func concerned(path string, faults []Fault) error {
	r, err := Open(path, []string{"device"})
	if err != nil {
		return err
	}
	defer r.Close()
	hit := func(from, to int64) bool {
		return slices.ContainsFunc(faults, func(f Fault) bool { return f.From < to && from < f.To })
	}
	device := slices.IndexFunc(r.cols, func(c leaf) bool { return c.name == "device" })
	for g, group := range r.RowGroups() {
		from, to := int64(math.MaxInt64), int64(0)
		for i := range r.pf.MetaData().Schema.NumColumns() {
			k := r.chunk(g, i)
			from, to = min(from, k.from), max(to, k.from+k.bytes)
		}
		if !hit(from, to) {
			continue
		}
		var names []string
		if device >= 0 {
			k := r.chunk(g, r.cols[device].index)
			names = groupDevices(r, g, group, hit(k.from, k.from+k.bytes))
		}
		for i := range faults {
			f := &faults[i]
			if f.From >= to || from >= f.To {
				continue
			}
			f.Devices = append(f.Devices, names...)
			f.within(group)
		}
	}
	for i := range faults {
		slices.Sort(faults[i].Devices)
		faults[i].Devices = slices.Compact(faults[i].Devices)
	}
	return nil
}

// within widens the times to those of a row group.
func (f *Fault) within(g Group) {
	for _, name := range timeColumns {
		lo, lok := g.Min[name].(int64)
		hi, hok := g.Max[name].(int64)
		if !lok || !hok {
			continue
		}
		if f.Rows == 0 {
			f.FirstNS, f.LastNS = lo, hi
		}
		f.FirstNS, f.LastNS = min(f.FirstNS, lo), max(f.LastNS, hi)
		break
	}
	f.Rows += g.Rows
}

// groupDevices names the devices of a row group.
func groupDevices(r *Reader, g int, group Group, damaged bool) (names []string) {
	lo, lok := group.Min["device"].(string)
	hi, hok := group.Max["device"].(string)
	if lok && hok && (damaged || lo == hi) {
		return []string{lo, hi}
	}
	if damaged {
		return nil
	}
	r.Select([]int{g})
	for {
		cols, n, err := r.Next()
		if err != nil {
			return names
		}
		for _, d := range cols[0].Data.([]string)[:n] {
			if len(names) == 0 || names[len(names)-1] != d {
				names = append(names, d)
			}
		}
	}
}

// Unnamed lists the files in the lake's tables that no manifest names: extra
// ones, which are somebody's, and the number of those that a run left which
// crashed, or that one which is at work has not named yet.
func Unnamed(dir string, all []Manifest) (extra []Fault, unfinished int, err error) {
	named := names(all)
	l := &Lock{dir: dir} // for its paths alone
	begun, notes, err := l.begun()
	if err != nil {
		return nil, 0, fmt.Errorf("lake: verify: %w", err)
	}
	var gone map[string]bool
	if len(notes) > 0 {
		gone = removedFiles(all)
	}
	for _, table := range tables {
		err := filepath.WalkDir(filepath.Join(dir, table), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // a table that is not there; a file that went while we look
			}
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			rel = filepath.ToSlash(rel)
			switch {
			case named[rel]:
			case strings.HasPrefix(d.Name(), ".") && strings.HasSuffix(d.Name(), ".tmp"), l.unnamed(path, begun, named, gone):
				unfinished++
			default:
				f := Fault{Path: rel, Kind: Extra}
				if info, err := d.Info(); err == nil {
					f.To = info.Size()
				}
				extra = append(extra, f)
			}
			return nil
		})
		if err != nil {
			return nil, 0, fmt.Errorf("lake: verify: %w", err)
		}
	}
	return extra, unfinished, nil
}
