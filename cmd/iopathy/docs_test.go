package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/features"
)

// exitComment is how a document says that a command ends otherwise than well.
var exitComment = regexp.MustCompile(`\s+# exit (\d+).*$`)

// Every iopathy command that README and docs show is run, in the order of the
// document, in a directory with the files of the demo: logs/, inventory.csv. A
// fenced block whose fence names a file (```csv array.csv) becomes that file.
func TestDocs(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program many times over")
	}
	paths := []string{"../../README.md", "../../CONTRIBUTING.md", "../../CHANGELOG.md"}
	more, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, path := range append(paths, more...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		commands := shown(string(text))
		if len(commands) == 0 {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			logs, _ := unpackDemo(t)
			for name, data := range namedBlocks(string(text)) {
				if err := os.WriteFile(filepath.Join(filepath.Dir(logs), filepath.Base(name)), []byte(data), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range commands {
				want := 0
				if m := exitComment.FindStringSubmatch(c); m != nil {
					want, _ = strconv.Atoi(m[1]) // digits by the pattern
				}
				c = exitComment.ReplaceAllString(c, "")
				cmd := exec.Command("sh", "-c", `iopathy() { "$IOPATHY" "$@"; }; `+c)
				cmd.Dir = filepath.Dir(logs)
				cmd.Env = append(os.Environ(), asMain+"=1", "IOPATHY="+self)
				var words bytes.Buffer
				cmd.Stderr = &words
				err := cmd.Run()
				got := cmd.ProcessState.ExitCode()
				if got != want {
					t.Errorf("%s: exit code %d, want %d: %v\n%s", c, got, want, err, words.String())
				}
			}
		})
		ran += len(commands)
	}
	if ran < 10 {
		t.Errorf("only %d commands found in the documents", ran)
	}
}

// shown gives the lines of fenced blocks that begin with "$ iopathy" or pipe
// into it; a line that ends in a backslash goes on.
func shown(text string) []string {
	var out []string
	fenced := false
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		l := strings.TrimSpace(lines[i])
		if strings.HasPrefix(l, "```") {
			fenced = !fenced
			continue
		}
		c, ok := strings.CutPrefix(l, "$ ")
		if !fenced || !ok || !strings.Contains(c, "iopathy ") || strings.HasPrefix(c, "go ") {
			continue
		}
		for strings.HasSuffix(c, `\`) && i+1 < len(lines) {
			i++
			c = strings.TrimSuffix(c, `\`) + " " + strings.TrimSpace(lines[i])
		}
		out = append(out, c)
	}
	return out
}

// namedBlocks gives the fenced blocks whose fence names a file, by that name.
func namedBlocks(text string) map[string]string {
	blocks := map[string]string{}
	name, fenced := "", false
	for line := range strings.Lines(text) {
		fence, ok := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case ok && !fenced:
			_, name, _ = strings.Cut(fence, " ")
			fenced = true
		case ok:
			name, fenced = "", false
		case fenced && name != "":
			blocks[name] += line
		}
	}
	return blocks
}

// The tables of the documents are those of the code, in its order: the
// features, the facts, each pathology's causes, the settings.
func TestDocTables(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		b, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	// check wants the code's rows among the document's, one after another.
	check := func(where, text string, rows []string) {
		t.Helper()
		for _, row := range rows {
			_, after, ok := strings.Cut(text, row)
			if !ok {
				t.Errorf("%s: no row %q, or not in the order of the code", where, row)
				continue
			}
			text = after
		}
	}
	doc := read("features.md")
	var rows []string
	for i, f := range features.Features {
		rows = append(rows, fmt.Sprintf("\n| %d | `%s` | %s |", i+1, f.Name, f.Unit))
	}
	check("features.md", doc, rows)
	rows = nil
	for _, f := range features.ContextTable {
		rows = append(rows, fmt.Sprintf("\n| `%s` | %s | %s |", f.Name, f.Unit, f.Doc))
	}
	check("features.md", doc, rows)

	catalogue, err := configs.LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	doc = read("pathologies.md")
	rows = nil
	for _, p := range catalogue.Pathologies {
		rows = append(rows, fmt.Sprintf("\n## %d %s\n", p.ID, p.Slug))
		for _, c := range p.Causes {
			rows = append(rows, fmt.Sprintf("\n| `%s` |", c.ID))
		}
	}
	check("pathologies.md", doc, rows)
	rows = nil
	for _, o := range catalogue.Outside {
		rows = append(rows, fmt.Sprintf("\n| `%s` |", o.ID))
	}
	check("pathologies.md, outside", doc, rows)

	doc = read("OPERATIONS.md")
	for _, v := range configs.Default().Values() {
		room, _, below := strings.Cut(v.Key, ".")
		if !strings.Contains(doc, "`"+v.Key+"`") && !(below && strings.Contains(doc, "`"+room+".*`")) {
			t.Errorf("OPERATIONS.md tells nothing of the setting %s", v.Key)
		}
	}
}
