package lake

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// A part in a bundle is what it was when it stood alone: row groups with their
// bounds, columns, rows, streams. The order in which parts are given does not matter,
// and a bundle of bundles is that of their parts.
func TestBundle(t *testing.T) {
	dir := t.TempDir()
	lock, err := NewLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	write := func(input string, groups ...[]Column) Part {
		t.Helper()
		name := PartName{Table: Events, Date: "2026-11-29", Host: "h", Input: input}.Path()
		fields := Fields(groups[0])
		for i := range fields {
			fields[i].Nullable = fields[i].Name != "time_ns"
		}
		w, err := Create(filepath.Join(dir, name), fields, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			for i := range g {
				if fields[i].Nullable && g[i].Valid == nil {
					_, n := typeOf(g[i])
					g[i].Valid = slices.Repeat([]bool{true}, n)
				}
			}
			if err := w.Write(g); err != nil {
				t.Fatal(err)
			}
		}
		p, err := w.Close()
		if err != nil {
			t.Fatal(err)
		}
		p.Path = name
		return p
	}
	times := func(v ...int64) Column { return Column{Name: "time_ns", Data: v} }
	devices := func(v ...string) Column { return Column{Name: "device", Data: v} }
	parts := []Part{
		write("b", []Column{times(5, 6, 7), devices("x", "x", "y"), {Name: "error", Data: []int32{1, 0, 2}, Valid: []bool{true, false, true}}},
			[]Column{times(8), devices("z"), {Name: "error", Data: []int32{3}}}),
		write("a", []Column{times(1, 9), {Name: "size_bytes", Data: []int64{4096, 512}}, devices("x", "y")}),
		write("c", []Column{times(2), devices("y"), {Name: "depth", Data: []float64{1.5}}, {Name: "ok", Data: []bool{true}}}),
	}
	type content struct {
		Fields []Field
		Groups []Group
		Cols   [][]Column
	}
	read := func(path string, want []string) (out content) {
		t.Helper()
		r, err := Open(filepath.Join(dir, path), want)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		out.Fields = r.Fields()
		for g, group := range r.RowGroups() {
			names := []string{}
			for _, f := range out.Fields {
				names = append(names, f.Name)
			}
			out.Groups = append(out.Groups, group.only(names))
			cols, _, err := r.whole(g)
			if err != nil {
				t.Fatal(err)
			}
			out.Cols = append(out.Cols, cols)
		}
		return out
	}
	before := map[string]content{}
	for _, p := range parts {
		before[p.Path] = read(p.Path, nil)
	}
	bundle, members, err := lock.Bundle(parts)
	if err != nil {
		t.Fatal(err)
	}
	if bundle.Rows != 7 || len(members) != 3 {
		t.Fatalf("a bundle of %d rows and %d parts, want 7 and 3", bundle.Rows, len(members))
	}
	for _, m := range members {
		if FileOf(m.Path) != bundle.Path || !InBundle(m.Path) || !Present(dir, m) {
			t.Errorf("%s is not in %s", m.Path, bundle.Path)
		}
		if got := read(m.Path, nil); !reflect.DeepEqual(got, before[Alone(m.Path)]) {
			t.Errorf("%s: %+v, stood alone %+v", m.Path, got, before[Alone(m.Path)])
		}
		if name, err := ParsePart(m.Path); err != nil || name.Host != "h" || name.Date != "2026-11-29" {
			t.Errorf("%s: %+v, %v", m.Path, name, err)
		}
		if got := read(m.Path, []string{"depth", "time_ns"}); len(got.Fields) > 2 {
			t.Errorf("%s: %d columns of two", m.Path, len(got.Fields))
		}
	}
	rows := func(paths []Part) (out []any) {
		t.Helper()
		var files []string
		for _, p := range paths {
			files = append(files, filepath.Join(dir, p.Path))
		}
		index, err := NewIndex(files, "time_ns")
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range index.Devices() {
			for _, s := range index.Streams(d, nil) {
				for {
					cols, n, err := s.Next()
					if err == io.EOF {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, d, n, s.MinTime, s.MaxTime)
					for _, c := range cols {
						out = append(out, c.Name, reflect.ValueOf(c.Data).Index(0).Interface())
					}
				}
			}
		}
		return out
	}
	if alone, in := rows(parts), rows(members); !reflect.DeepEqual(alone, in) || len(alone) == 0 {
		t.Errorf("streams give %v, of parts alone %v", in, alone)
	}
	bytesOf := func(p Part) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, p.Path))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want := bytesOf(bundle)
	again, _, err := lock.Bundle([]Part{parts[2], parts[0], parts[1]})
	if err != nil || again.Path != bundle.Path || bytesOf(again) != want {
		t.Errorf("another order gives another bundle; %v", err)
	}
	two, pair, err := lock.Bundle(members[:2])
	if err != nil || two.Path == bundle.Path {
		t.Fatalf("a bundle of two: %s, %v", two.Path, err)
	}
	again, _, err = lock.Bundle(append(pair, parts[2]))
	if err != nil || again.Path != bundle.Path || bytesOf(again) != want {
		t.Errorf("a bundle of a bundle is another; %v", err)
	}
	if _, err := Open(filepath.Join(dir, bundle.Path, "part-none-00000.parquet"), nil); err == nil {
		t.Error("a part that is not in the bundle was opened")
	}
}

// A crash leaves the parts or the bundle, and the next run tidies up: before the
// manifest the bundle goes, after it the parts.
func TestBundleCrash(t *testing.T) {
	dir := t.TempDir()
	lock, err := NewLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	var parts []Part
	for _, input := range []string{"a", "b", "c"} {
		name := PartName{Table: Events, Date: "2026-11-29", Host: "h", Input: input}.Path()
		cols := []Column{{Name: "time_ns", Data: []int64{1, 2}}, {Name: "device", Data: []string{"x", "y"}, Valid: []bool{true, true}}}
		w, err := Create(filepath.Join(dir, name), Fields(cols), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(cols); err != nil {
			t.Fatal(err)
		}
		p, err := w.Close()
		if err != nil {
			t.Fatal(err)
		}
		p.Path = name
		parts = append(parts, p)
	}
	if err := lock.WriteManifest(Manifest{Run: "1", Parts: parts}); err != nil {
		t.Fatal(err)
	}
	// check wants so many parts in so many files, the crash's files told as unfinished,
	// and a Sweep that removes them.
	check := func(when string, wantParts, wantFiles, unfinished int) {
		t.Helper()
		all, err := Manifests(dir)
		if err != nil {
			t.Fatal(err)
		}
		live := Parts(all, Events)
		files, err := Files(all, live)
		if err != nil || len(live) != wantParts || len(files) != wantFiles {
			t.Errorf("%s: %d parts in %d files, want %d in %d; %v", when, len(live), len(files), wantParts, wantFiles, err)
		}
		extra, left, err := Unnamed(dir, all)
		if err != nil || len(extra) != 0 || left != unfinished {
			t.Errorf("%s: %v are somebody's, %d unfinished, want %d; %v", when, extra, left, unfinished, err)
		}
		if removed, err := lock.Sweep(); err != nil || removed != unfinished {
			t.Errorf("%s: swept %d, want %d; %v", when, removed, unfinished, err)
		}
		for _, f := range files {
			if faults, err := VerifyPart(dir, f); err != nil || len(faults) != 0 {
				t.Errorf("%s: %v %v", when, faults, err)
			}
		}
	}
	if err := lock.Begin("2", nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := lock.Bundle(parts); err != nil {
		t.Fatal(err)
	}
	check("before the manifest", 3, 3, 1)

	if err := lock.Begin("2", nil); err != nil {
		t.Fatal(err)
	}
	bundle, members, err := lock.Bundle(parts)
	if err != nil {
		t.Fatal(err)
	}
	m := Manifest{Run: "2", Bundles: []Part{bundle}, Parts: members}
	for _, p := range parts {
		m.Removed = append(m.Removed, p.Path)
	}
	if err := lock.WriteManifest(m); err != nil {
		t.Fatal(err)
	}
	check("after the manifest", 3, 1, 3)

	// One of the parts goes; the bundle is written anew without it.
	if err := lock.WriteManifest(Manifest{Run: "3", Removed: []string{members[1].Path}}); err != nil {
		t.Fatal(err)
	}
	all, err := Manifests(dir)
	if err != nil {
		t.Fatal(err)
	}
	gone := Thinned(all)
	if len(gone) != 1 || gone[0] != members[1].Path {
		t.Fatalf("thinned %v, want %s", gone, members[1].Path)
	}
	if err := lock.Thin("4", "", gone); err != nil {
		t.Fatal(err)
	}
	check("thinned", 2, 1, 0)
	if all, err = Manifests(dir); err != nil || len(Thinned(all)) != 0 {
		t.Errorf("still thinned: %v, %v", Thinned(all), err)
	}
	if _, err := os.Stat(filepath.Join(dir, bundle.Path)); !os.IsNotExist(err) {
		t.Errorf("the old bundle is still there: %v", err)
	}
	if err := lock.Replace(Manifest{Run: "5", Removed: []string{Parts(all, Events)[0].Path, Parts(all, Events)[1].Path}}); err != nil {
		t.Fatal(err)
	}
	check("nothing left", 0, 0, 0)
	if left, err := os.ReadDir(filepath.Join(dir, Events)); err != nil || len(left) != 0 {
		t.Errorf("folders are left: %v, %v", left, err)
	}
}
