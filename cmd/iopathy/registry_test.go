package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
)

// A lake's classes have the ids of its registry, whatever number the fit gives
// them, in all that is written; the same night again changes no byte; without
// the registry they count from 1.
func TestClassesKeepTheirIDs(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	logs, inventory := unpackDemo(t)
	for _, flags := range [][]string{{"--refit", "--window", "3s"}, nil} { // fitted classes, shipped ones
		out := filepath.Join(t.TempDir(), "out")
		registry := filepath.Join(out, "lake", "registry.json")
		again := func() map[string]string {
			t.Helper()
			args := []string{"run", logs, "--host", "demo", "--ingest-start-ns", "1700000000000000000", "--inventory", inventory, "--out", out, "--force", "--quiet"}
			in(t, exitFine, append(args, flags...)...)
			return tree(t, out)
		}
		first := again()
		saved := read[cluster.Registry](t, registry)
		ids := classesOf(first["labels.csv"])
		if len(ids) < 2 || saved.Next != len(saved.Classes)+1 || saved.Classes[0].ID != 1 {
			t.Fatalf("%v: classes %v, the registry has %d, next is %d", flags, ids, len(saved.Classes), saved.Next)
		}
		sameResults(t, "the same night again", first, again())

		// Other nights have given other numbers.
		byOld := map[int]int{}
		for i := range saved.Classes {
			k := &saved.Classes[i]
			byOld[k.ID] = 100 - 7*i
			k.ID = byOld[k.ID]
		}
		saved.Next = 200
		data, err := json.Marshal(saved)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(registry, data, 0o644); err != nil {
			t.Fatal(err)
		}
		later := again()
		want := map[string]bool{}
		for id := range ids {
			want[renumbered(byOld, id)] = true
		}
		if got := classesOf(later["labels.csv"]); !maps.Equal(got, want) {
			t.Errorf("%v: classes %v have the ids %v, want %v", flags, ids, got, want)
		}
		for _, m := range read[[]local.KindModel](t, filepath.Join(out, "lake", "models", "model.json")) {
			for _, c := range m.Cluster.Classes {
				if c.ID < 50 {
					t.Errorf("%v: the model has a class %d", flags, c.ID)
				}
			}
		}
		if now := read[cluster.Registry](t, registry); now.Next != 200 || len(now.Classes) != len(saved.Classes) {
			t.Errorf("%v: classes were added: next is %d", flags, now.Next)
		}

		// The stages say what the main job says.
		at := []string{"--lake", filepath.Join(out, "lake"), "--inventory", inventory, "--quiet"}
		in(t, exitFine, append(append([]string{"fit"}, flags...), at...)...)
		in(t, exitFine, append([]string{"label"}, at...)...)
		in(t, exitFine, append([]string{"report", "--out", out, "--force"}, at...)...)
		stages := tree(t, out)
		for _, name := range []string{"labels.csv", "labels.parquet", "lake/models/model.json", "lake/registry.json"} {
			if stages[name] == "" || stages[name] != later[name] {
				t.Errorf("%v: %s of the stages differs from that of the main job", flags, name)
			}
		}

		if err := os.Remove(registry); err != nil {
			t.Fatal(err)
		}
		sameResults(t, "without the registry", first, again())
	}
}

// sameResults compares what is written besides the pages, which tell of
// duplicates.
func sameResults(t *testing.T, what string, a, b map[string]string) {
	t.Helper()
	for path := range a {
		if strings.HasPrefix(path, "report.") {
			continue
		}
		if a[path] != b[path] {
			t.Errorf("%s: %s is another", what, path)
		}
	}
}

// classesOf lists the class ids of a labels.csv.
func classesOf(labels string) map[string]bool {
	ids := map[string]bool{}
	for _, line := range strings.Split(labels, "\n")[1:] {
		if f := strings.Split(line, ","); len(f) > 6 && f[6] != "" {
			ids[f[6]] = true
		}
	}
	return ids
}

func renumbered(byOld map[int]int, id string) string {
	for old, now := range byOld {
		if id == strconv.Itoa(old) {
			return strconv.Itoa(now)
		}
	}
	return ""
}

func read[T any](t *testing.T, path string) (v T) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}
