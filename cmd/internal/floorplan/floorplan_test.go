// Package floorplan guards who may import whom.
package floorplan

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
)

const module = "github.com/iopathy/iopathy"

// rooms says which of ours each package may import. What is not drawn is
// forbidden; a new package must be drawn here first.
var rooms = map[string][]string{
	"ingest":                 {},
	"ingest/formats":         {"ingest"},
	"ingest/align":           {"ingest"},
	"ingest/bucket":          {},
	"ingest/lake":            {},
	"features":               {"ingest"},
	"reduce":                 {"features", "ingest"},
	"cluster":                {"features", "reduce", "ingest"},
	"cluster/analysis":       {"features", "cluster", "cluster/knee", "ingest"},
	"cluster/compare":        {"features", "cluster"},
	"cluster/knee":           {},
	"cluster/matrix":         {"cluster/knee"},
	"heatmap":                {"features", "cluster"},
	"reports":                {"features", "reduce", "cluster", "cluster/analysis", "cluster/compare", "cluster/matrix", "heatmap", "ingest", "reports/assets"},
	"reports/assets":         {},
	"reports/browsertest":    {},
	"configs":                {"ingest", "features", "reduce", "cluster", "heatmap", "reports"},
	"cmd/iopathy":            {"*"},
	"cmd/internal/generate":  {"ingest"},
	"cmd/internal/alerts":    {"*"},
	"cmd/internal/gateway":   {},
	"cmd/internal/local":     {"*"},
	"cmd/internal/mirror":    {"ingest/bucket", "ingest/lake"},
	"cmd/internal/nights":    {"*"},
	"cmd/internal/score":     {},
	"cmd/internal/serve":     {"*"},
	"cmd/internal/floorplan": {},
}

// computing stages touch no files, clocks, flags, loggers or random sources.
var computing = []string{"ingest/align", "features", "reduce", "cluster", "cluster/analysis", "cluster/compare", "cluster/knee", "cluster/matrix", "heatmap"}

var outside = []string{"os", "net", "log", "flag", "io/fs", "math/rand", "time", "github.com/apache/arrow", "github.com/spf13"}

// arrowRoom alone imports arrow, so that a move to its next line is one change.
const arrowRoom = "ingest/lake"

func TestFloorPlan(t *testing.T) {
	root, left := os.DirFS("../../.."), leftovers(t)
	seen := map[string]bool{}
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if p != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "docs" || slices.Contains(left, p)) {
				return fs.SkipDir
			}
			if slices.Contains([]string{"common", "util", "utils", "helpers", "types", "models", "misc", "shared"}, name) {
				t.Errorf("%s: a room is named after what it makes, never %q", p, name)
			}
			if p != "." {
				if _, err := fs.Stat(root, p+"/go.mod"); err == nil {
					return fs.SkipDir // a module of its own
				}
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		dir := path.Dir(p)
		allowed, drawn := rooms[dir]
		if !drawn {
			t.Errorf("%s: package %s is not on the floor plan: draw it here and in docs/ARCHITECTURE.md", p, dir)
			return nil
		}
		seen[dir] = true
		src, err := fs.ReadFile(root, p)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		if slices.Contains(computing, dir) {
			seeded(t, p, src)
		}
		for _, imp := range file.Imports {
			check(t, p, dir, allowed, strings.Trim(imp.Path.Value, `"`))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range rooms {
		if !seen[dir] && dir != "cmd/internal/floorplan" {
			t.Errorf("the floor plan draws %s, which does not exist", dir)
		}
	}
}

func check(t *testing.T, file, dir string, allowed []string, imp string) {
	t.Helper()
	if ours, ok := strings.CutPrefix(imp, module+"/"); ok {
		if !slices.Contains(allowed, ours) && !slices.Contains(allowed, "*") {
			t.Errorf("%s imports %s: %s may import %v", file, ours, dir, allowed)
		}
		return
	}
	if strings.HasPrefix(imp, "github.com/apache/arrow") && dir != arrowRoom {
		t.Errorf("%s imports %s: only %s does", file, imp, arrowRoom)
	}
	if strings.HasPrefix(imp, "github.com/apache/beam") {
		t.Errorf("%s imports %s: only cmd/iopathy-beam does, a module of its own", file, imp)
	}
	if slices.Contains(computing, dir) {
		for _, o := range outside {
			if imp == "math/rand/v2" {
				continue // see seeded
			}
			if imp == o || strings.HasPrefix(imp, o+"/") {
				t.Errorf("%s imports %s: %s computes and touches nothing outside", file, imp, dir)
			}
		}
	}
}

// unseeded finds the functions of math/rand/v2 that draw from its own source.
var unseeded = regexp.MustCompile(`\brand\.(Int|Uint|Float|Norm|Exp|Perm|Shuffle|N\()[A-Za-z0-9]*`)

// seeded lets a computing stage draw only from a source that a seed made.
func seeded(t *testing.T, file string, src []byte) {
	t.Helper()
	if m := unseeded.Find(src); m != nil && bytes.Contains(src, []byte(`"math/rand/v2"`)) {
		t.Errorf("%s uses %s: a stage draws only from a generator that its seed made", file, m)
	}
}

// leftovers are the folders at the top that commands leave and git ignores, such as
// the report of the README's first command.
func leftovers(t *testing.T) (names []string) {
	t.Helper()
	ignore, err := os.ReadFile("../../../.gitignore")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(ignore)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "/"); ok {
			names = append(names, strings.TrimSuffix(name, "/"))
		}
	}
	return names
}

func TestTopLevel(t *testing.T) {
	left := leftovers(t)
	entries, err := os.ReadDir("../../..")
	if err != nil {
		t.Fatal(err)
	}
	fixed := []string{"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "cluster", "cmd", "configs", "docs", "features", "go.mod", "go.sum", "heatmap", "ingest", "reduce", "reports"}
	var got []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(left, e.Name()) {
			got = append(got, e.Name())
		}
	}
	sort.Strings(got)
	if !slices.Equal(got, fixed) {
		t.Errorf("top level is %v, want %v", got, fixed)
	}
}
