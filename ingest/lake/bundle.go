package lake

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A bundle is one Parquet file that holds the row groups of several parts of a
// table, a day and a host, one part after another. Each keeps its name, as that
// of a file in the bundle: events/.../bundle-X.parquet/part-INPUT-CHUNK.parquet is
// opened, indexed and named in manifests as the part was that stood alone, and gives
// the same row groups. Others that read the file see the rows of all.

// bundleKey names, in the footer of a bundle, the list of its members.
const bundleKey = "iopathy.parts"

// member is what the footer of a bundle tells of a part in it.
type member struct {
	Name    string   `json:"name"`
	Groups  int      `json:"groups"`
	Columns []string `json:"columns"` // that the part has; in others its rows are null
}

var bundled = regexp.MustCompile(`/bundle-[0-9a-f]{32}\.parquet(/|$)`)

// Alone is the path of a part as if it stood in no bundle: what it is known by.
func Alone(path string) string {
	if !mayBundle(path) {
		return path
	}
	return bundled.ReplaceAllString(path, "$1")
}

// mayBundle is false for what is in no bundle for sure: most paths, and each is asked for
// very often.
func mayBundle(path string) bool { return strings.Contains(path, "/bundle-") }

// FileOf is the path of the file that a part lies in: its bundle's, or its own.
func FileOf(path string) string {
	if !mayBundle(path) {
		return path
	}
	if at := bundled.FindStringIndex(path); at != nil {
		return strings.TrimSuffix(path[:at[1]], "/")
	}
	return path
}

// InBundle says that a part lies in a bundle.
func InBundle(path string) bool { return FileOf(path) != path }

// Files gives what parts of manifests lie in: those that stand alone, and the
// bundles, by path.
func Files(all []Manifest, parts []Part) ([]Part, error) {
	bundles := make(map[string]Part)
	for _, m := range all {
		for _, b := range m.Bundles {
			bundles[b.Path] = b
		}
	}
	var out []Part
	seen := make(map[string]bool)
	for _, p := range parts {
		file := FileOf(p.Path)
		switch b, known := bundles[file]; {
		case file == p.Path:
			out = append(out, p)
		case !known:
			return nil, fmt.Errorf("lake: no manifest tells of %s", file)
		case !seen[file]:
			seen[file] = true
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b Part) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// Bundle writes parts of the lake, of one table, day and host, into one file,
// in the order of their plain paths. It gives the file, and the parts as they are
// named in it. The same parts give the same bytes. Nothing counts until a manifest
// names it.
func (l *Lock) Bundle(parts []Part) (file Part, members []Part, err error) {
	if l.file == nil {
		return file, nil, errors.New("lake: bundle: the lock was given back")
	}
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b Part) int { return strings.Compare(Alone(a.Path), Alone(b.Path)) })
	var fields []Field
	var list []member
	h := sha256.New()
	for _, p := range parts {
		m, own, err := l.describe(p)
		if err != nil {
			return file, nil, fmt.Errorf("lake: bundle: %w", err)
		}
		list = append(list, m)
		if fields, err = union(fields, own); err != nil {
			return file, nil, fmt.Errorf("lake: bundle: %s: %w", p.Path, err)
		}
		fmt.Fprintf(h, "%s %s\n", Alone(p.Path), strings.Join(p.Blocks, " "))
	}
	for i := range fields {
		fields[i].Nullable = fields[i].Name != "time_ns"
	}
	told, err := json.Marshal(list)
	if err != nil {
		return file, nil, fmt.Errorf("lake: bundle: %w", err)
	}
	name := filepath.ToSlash(filepath.Dir(Alone(parts[0].Path))) + "/bundle-" + hex.EncodeToString(h.Sum(nil)[:16]) + ".parquet"
	w, err := Create(filepath.Join(l.dir, filepath.FromSlash(name)), fields, map[string]string{bundleKey: string(told)})
	if err != nil {
		return file, nil, err
	}
	for _, p := range parts {
		if err := w.copyPart(filepath.Join(l.dir, filepath.FromSlash(p.Path))); err != nil {
			w.Abort()
			return file, nil, fmt.Errorf("lake: bundle: %w", err)
		}
		p.Path = name + "/" + filepath.Base(filepath.FromSlash(p.Path))
		members = append(members, p)
	}
	if file, err = w.Close(); err != nil {
		return file, nil, err
	}
	file.Path = name
	return file, members, nil
}

// describe reads the footer of a part.
func (l *Lock) describe(p Part) (member, []Field, error) {
	r, err := Open(filepath.Join(l.dir, filepath.FromSlash(p.Path)), nil)
	if err != nil {
		return member{}, nil, err
	}
	defer r.Close()
	m := member{Name: filepath.Base(filepath.FromSlash(p.Path))}
	for _, g := range r.RowGroups() {
		if g.Rows > 0 {
			m.Groups++
		}
	}
	for _, f := range r.Fields() {
		m.Columns = append(m.Columns, f.Name)
	}
	return m, r.Fields(), nil
}

// union puts the fields that are not there yet behind those that they follow.
func union(all, more []Field) ([]Field, error) {
	at := 0
	for _, f := range more {
		i := slices.IndexFunc(all, func(g Field) bool { return g.Name == f.Name })
		switch {
		case i < 0:
			all = slices.Insert(all, at, f)
			at++
		case all[i].Type != f.Type:
			return nil, fmt.Errorf("column %q is %v, and %v in others", f.Name, f.Type, all[i].Type)
		default:
			at = i + 1
		}
	}
	return all, nil
}

// copyPart writes the row groups of a part: columns that it lacks are null.
func (w *Writer) copyPart(path string) error {
	r, err := Open(path, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	for g, group := range r.RowGroups() {
		if group.Rows == 0 {
			continue
		}
		own, _, err := r.whole(g)
		if err != nil {
			return err
		}
		cols := make([]Column, len(w.fields))
		for i, f := range w.fields {
			if k := slices.IndexFunc(own, func(c Column) bool { return c.Name == f.Name }); k >= 0 {
				cols[i] = own[k]
			} else {
				cols[i] = f.nulls(int(group.Rows))
			}
			if f.Nullable && cols[i].Valid == nil {
				cols[i].Valid = slices.Repeat([]bool{true}, int(group.Rows))
			}
		}
		if err := w.Write(cols); err != nil {
			return err
		}
	}
	return nil
}

// nulls is a column of which nothing is known.
func (f Field) nulls(n int) Column {
	c := Column{Name: f.Name, Valid: make([]bool, n)}
	switch f.Type {
	case Int64:
		c.Data = make([]int64, n)
	case Int32:
		c.Data = make([]int32, n)
	case Float64:
		c.Data = make([]float64, n)
	case String:
		c.Data = make([]string, n)
	default:
		c.Data = make([]bool, n)
	}
	return c
}

// openMember narrows a Reader of a bundle to one of its parts: its row groups,
// and its columns among those of want.
func (r *Reader) openMember(name string, want []string) ([]string, error) {
	var list []member
	if err := json.Unmarshal([]byte(r.meta[bundleKey]), &list); err != nil {
		return nil, fmt.Errorf("the list of its parts: %w", err)
	}
	at, total := 0, r.pf.NumRowGroups()
	for _, m := range list {
		if m.Groups < 0 || m.Groups > total-at {
			return nil, fmt.Errorf("its parts have more than its %d row groups", total)
		}
		if m.Name == name {
			r.base, r.count = at, m.Groups
			if want == nil {
				return m.Columns, nil
			}
			return slices.DeleteFunc(slices.Clone(want), func(c string) bool { return !slices.Contains(m.Columns, c) }), nil
		}
		at += m.Groups
	}
	return nil, fmt.Errorf("it holds no part %q", name)
}

// Present says that the file of a part is there, with the size that it had, as far as
// that can be told without reading it.
func Present(dir string, p Part) bool {
	info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(FileOf(p.Path))))
	return err == nil && (InBundle(p.Path) || info.Size() == p.Bytes)
}

// removeFile removes a file of the lake, and the folders that are empty then.
func (l *Lock) removeFile(name string) error {
	path := filepath.Join(l.dir, filepath.FromSlash(name))
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("lake: remove: %w", err)
	}
	for dir := filepath.Dir(path); strings.Contains(filepath.Base(dir), "="); dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			break // it holds others
		}
	}
	return nil
}

// whole reads a row group at once, and says how much memory that takes.
func (r *Reader) whole(g int) (all []Column, bytes int, err error) {
	r.Select([]int{g})
	rows := int(r.pf.MetaData().RowGroups[r.base+g].NumRows)
	for at := 0; ; {
		cols, n, err := r.Next()
		if err == io.EOF {
			return all, bytes, nil
		}
		if err != nil {
			return nil, 0, err
		}
		if all == nil {
			all = make([]Column, len(cols))
		}
		for i, c := range cols {
			to := &all[i]
			to.Name = c.Name
			switch d := c.Data.(type) {
			case []int64:
				bytes += put(to, d, rows, 8)
			case []int32:
				bytes += put(to, d, rows, 4)
			case []float64:
				bytes += put(to, d, rows, 8)
			case []string:
				bytes += put(to, d, rows, 16)
			case []bool:
				bytes += put(to, d, rows, 1)
			}
			if c.Valid == nil && to.Valid == nil {
				continue
			}
			if to.Valid == nil {
				to.Valid = append(make([]bool, 0, rows), slices.Repeat([]bool{true}, at)...)
			}
			if c.Valid == nil {
				to.Valid = append(to.Valid, slices.Repeat([]bool{true}, n)...)
			} else {
				to.Valid = append(to.Valid, c.Valid...)
			}
		}
		at += n
	}
}
