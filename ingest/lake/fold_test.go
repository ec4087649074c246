package lake

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// history makes the manifests that nights of some hosts leave: a log each, grown ones,
// late ones, copies, windows, labels, retention, bundles.
func history(rng *rand.Rand, nights, hosts, keep int) (all []Manifest) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	date := func(day int) string { return start.AddDate(0, 0, day).Format(time.DateOnly) }
	part := func(table, host, input string, day, chunk int) Part {
		return Part{Path: PartName{Table: table, Date: date(day), Host: host, Input: input, Chunk: chunk}.Path(), Rows: 1 + rng.Int64N(1000), Bytes: 1 + rng.Int64N(1e6), Blocks: []string{fmt.Sprintf("%064x", rng.Uint64())}}
	}
	add := func(run string, m Manifest) {
		m.Schema, m.Run, m.Sequence, m.Version = Schema, fmt.Sprintf("%06d-%s", len(all), run), int64(len(all))+1, "v"
		if m.Inputs == nil {
			m.Inputs = []Input{}
		}
		all = append(all, m)
	}
	id := func(host, day int) string { return fmt.Sprintf("%032x", host*100_000+day) }
	for day := range nights {
		var in, windows, labels, old Manifest
		for h := range hosts {
			host := fmt.Sprintf("h%d", h)
			log := Input{ID: id(h, day), HeadBytes: 65536, SeenID: id(h, day), SeenBytes: 65536, Path: fmt.Sprintf("/var/log/io/%s/%s.log", host, date(day)), Format: "blkparse",
				Bytes: 1e6, CompressedBytes: 1e6, NewBytes: 1e6, Chunks: 2, FirstNS: start.AddDate(0, 0, day).UnixNano(), LastNS: start.AddDate(0, 0, day+1).UnixNano(),
				Tally: []byte(`{"lines":12345,"event":12000,"notes":345}`), Parts: []Part{part(Events, host, id(h, day), day, 0), part(Events, host, id(h, day), day, 1)},
				Checkpoint: &CheckpointFile{Path: CheckpointPath(id(h, day), 1), Bytes: 10, SHA256: fmt.Sprintf("%064x", day)}}
			in.Inputs = append(in.Inputs, log)
			if day > 0 && rng.IntN(4) == 0 { // yesterday's has grown, and is renamed
				grown := in.Inputs[len(in.Inputs)-1]
				grown.ID, grown.HeadBytes, grown.Path = id(h, day-1), 65536, grown.Path+".1"
				grown.Parts = []Part{part(Events, host, id(h, day-1), day-1, 0), part(Events, host, id(h, day-1), day, 1)}
				grown.SeenID = fmt.Sprintf("%032x", rng.Uint64())
				in.Inputs = append(in.Inputs, grown)
			}
			for back := 1; back < 4 && back <= day; back++ { // copies
				in.Inputs = append(in.Inputs, Input{ID: id(h, day-back), HeadBytes: 65536, SeenID: id(h, day-back), SeenBytes: 65536, Path: fmt.Sprintf("/var/log/io/%s/current.%d", host, back), Parts: []Part{}})
			}
			cell := Cell{Host: host, Date: date(day), Of: fmt.Sprintf("%032x", rng.Uint64()), WindowNS: 1e10, TickNS: 1e8}
			windows.Cells = append(windows.Cells, cell)
			windows.Parts = append(windows.Parts, part(Windows, host, "windows", day, 0), part(Ticks, host, "ticks", day, 0))
			labels.Parts = append(labels.Parts, part(Labels, host, "labels", day, 0))
			labels.Judged = append(labels.Judged, Judged{Day{host, date(day)}, cell.Of})
		}
		add("run", in)
		add("windows", windows)
		add("labels", labels)
		for _, table := range tables {
			for _, p := range Parts(all, table) {
				name, _ := ParsePart(p.Path) // it was made of a name
				limit := keep
				if table == Labels || table == Windows || table == Ticks {
					limit = 10 * keep
				}
				if name.Date < date(day-limit) {
					old.Removed = append(old.Removed, p.Path)
					if d := (Day{name.Host, name.Date}); table == Events && !slices.Contains(old.Closed, d) {
						old.Closed = append(old.Closed, d)
					}
				}
			}
		}
		if len(old.Removed) > 0 {
			add("retention", old)
		}
		if day%2 == 1 { // one cell's parts are merged
			var merged Manifest
			for _, p := range Parts(all, Events) {
				if name, _ := ParsePart(p.Path); name.Host == "h0" && name.Date == date(day-1) && !InBundle(p.Path) {
					file := filepath.ToSlash(filepath.Dir(p.Path)) + "/bundle-" + fmt.Sprintf("%032x", day) + ".parquet"
					if len(merged.Bundles) == 0 {
						merged.Bundles = []Part{{Path: file, Rows: 1, Bytes: 1, Blocks: []string{"x"}}}
					}
					merged.Removed = append(merged.Removed, p.Path)
					p.Path = file + "/" + filepath.Base(p.Path)
					merged.Parts = append(merged.Parts, p)
				}
			}
			add("compact", merged)
		}
	}
	return all
}

// says is all that the manifests are asked for.
func says(t *testing.T, all []Manifest) map[string]any {
	t.Helper()
	out := map[string]any{}
	var live []Part
	days := map[Day]bool{}
	for _, table := range tables {
		parts := Parts(all, table)
		out[table] = parts
		live = append(live, parts...)
		for _, p := range parts {
			name, err := ParsePart(p.Path)
			if err != nil {
				t.Fatal(err)
			}
			for k := -1; k <= 1; k++ {
				days[Day{name.Host, name.Date}.shift(k)] = true
			}
		}
	}
	files, err := Files(all, live)
	if err != nil {
		t.Fatal(err)
	}
	out["files"], out["closed"] = files, ClosedDays(all)
	// Of days of which nothing is left nothing needs to be known.
	out["cells"] = slices.DeleteFunc(Cells(all), func(c Cell) bool { return !days[Day{c.Host, c.Date}] })
	judged := JudgedOf(all)
	for d := range judged {
		if !days[d] {
			delete(judged, d)
		}
	}
	out["judged"] = judged
	known := NewKnown(all)
	byID := map[string]string{}
	for id, in := range known.byID {
		byID[id] = fmt.Sprintln(in.Path, in.Bytes, in.CompressedBytes, in.FirstNS, in.LastNS, strings.Join(strings.Fields(string(in.Tally)), ""), in.HeadBytes, in.Checkpoint, in.EventRows(), in.Below)
	}
	out["known"], out["seen"], out["sizes"] = byID, known.seen, known.sizes
	last := map[string]string{} // of what gave nothing, by path
	for _, m := range all {
		for _, in := range m.Inputs {
			if !in.Gave() {
				last[in.Path] = in.ID
			}
		}
	}
	out["copies"] = last
	return out
}

// Whatever prefix is folded, the manifests say the same, and folding twice what was folded
// does not lose what came between.
func TestFoldLaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	all := history(rng, 40, 3, 4)
	want := says(t, all)
	check := func(what string, got []Manifest) {
		t.Helper()
		for k, v := range says(t, got) {
			if !reflect.DeepEqual(v, want[k]) {
				t.Errorf("%s: %s are others than before", what, k)
			}
		}
	}
	one := func(all []Manifest) Manifest {
		m := fold(all)
		m.Folded, m.Sequence = true, all[len(all)-1].Sequence
		return m
	}
	for n := 1; n <= len(all); n += 13 {
		once := append([]Manifest{one(all[:n])}, all[n:]...)
		check(fmt.Sprintf("%d of %d", n, len(all)), once)
		for m := 1; m <= len(once); m += 29 {
			check(fmt.Sprintf("%d of %d, then %d", n, len(all), m), append([]Manifest{one(once[:m])}, once[m:]...))
		}
	}
	if n := len(one(all).Inputs); n > 500 || n < 120 {
		t.Errorf("%d records of 120 logs and their copies", n)
	}
}

// Fold on a disk: what a crash leaves at either moment says the same, and is tidied by
// the next one; the files are what the folded manifest stands for.
func TestFold(t *testing.T) {
	dir := t.TempDir()
	l, err := NewLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	all := history(rand.New(rand.NewPCG(1, 2)), 12, 2, 3)
	for _, m := range all {
		if err := l.WriteManifest(m); err != nil {
			t.Fatal(err)
		}
	}
	rejects := filepath.Join(dir, filepath.FromSlash(RejectsPath(all[0].Run)))
	kept := filepath.Join(dir, filepath.FromSlash(RejectsPath(all[len(all)-1].Run)))
	for _, f := range []string{rejects, kept} {
		if err := os.WriteFile(f, []byte("{}\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	saved := filepath.Join(t.TempDir(), "runs")
	if err := os.CopyFS(saved, os.DirFS(filepath.Join(dir, "runs"))); err != nil {
		t.Fatal(err)
	}
	want := says(t, all)
	check := func(what string, files int) {
		t.Helper()
		got, err := Manifests(dir)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range says(t, got) {
			if !reflect.DeepEqual(v, want[k]) {
				t.Errorf("%s: %s are others than before", what, k)
			}
		}
		names, err := filepath.Glob(filepath.Join(dir, "runs", "*.json"))
		if err != nil || len(names) != files {
			t.Errorf("%s: %d manifests on disk, want %d; %v", what, len(names), files, err)
		}
	}
	if n, err := l.Fold(len(all), 5, "v"); n != 0 || err != nil {
		t.Errorf("folded %d of no more than may stand alone; %v", n, err)
	}
	if n, err := l.Fold(len(all)-1, 5, "v"); n != len(all)-5 || err != nil {
		t.Errorf("folded %d of %d, want all but 5; %v", n, len(all), err)
	}
	check("folded", 6)
	if _, err := os.Stat(rejects); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the rejected lines of a folded run: %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("the rejected lines of a run that stands alone: %v", err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "runs", "folded-*.json"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	first, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "back"), os.DirFS(saved)); err != nil { // as if nothing had been removed
		t.Fatal(err)
	}
	back, err := filepath.Glob(filepath.Join(dir, "back", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range back {
		if err := os.Rename(f, filepath.Join(dir, "runs", filepath.Base(f))); err != nil {
			t.Fatal(err)
		}
	}
	check("before the folded ones went", len(all)+1)
	if n, err := l.Fold(len(all), 5, "v"); n != 0 || err != nil {
		t.Errorf("folded %d more; %v", n, err)
	}
	check("tidied", 6)
	if n, err := l.Fold(4, 2, "v"); n != 3 || err != nil {
		t.Errorf("folded %d more, want 3; %v", n, err)
	}
	check("folded again", 3)
	// The same manifests give the same bytes.
	other := t.TempDir()
	if err := os.CopyFS(filepath.Join(other, "runs"), os.DirFS(saved)); err != nil {
		t.Fatal(err)
	}
	k, err := NewLock(other)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if _, err := k.Fold(6, 5, "v"); err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(filepath.Join(other, "runs", filepath.Base(names[0])))
	if err != nil || string(first) != string(second) {
		t.Errorf("other bytes of the same manifests; %v", err)
	}
	if m := (Manifest{Run: "next"}); l.WriteManifest(m) != nil {
		t.Error("no run after a fold")
	}
	got, err := Manifests(dir)
	if err != nil || got[len(got)-1].Run != "next" || got[len(got)-1].Sequence != int64(len(all))+1 {
		t.Errorf("the run after a fold is %+v; %v", got[len(got)-1].Sequence, err)
	}
	if strings.Count(string(first), "\n") > len(got[0].Inputs)*20+1000 {
		t.Error("a folded manifest has more than a line for an element")
	}
}
