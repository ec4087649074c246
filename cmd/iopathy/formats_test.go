package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

var update = flag.Bool("update", false, "write generated parts of the documents anew")

// formatsDoc holds the table of all formats between two marks; it is made
// from what the formats say of themselves.
const (
	formatsDoc   = "../../docs/formats.md"
	formatsBegin = "<!-- formats: made from the code by go test ./cmd/iopathy -run FormatsDoc -update -->\n"
	formatsEnd   = "<!-- end of formats -->\n"
)

func TestFormatsDoc(t *testing.T) {
	var b strings.Builder
	b.WriteString("\n| format | what it is | latency | what it needs | what it can't tell |\n|---|---|---|---|---|\n")
	cell := func(s string) string {
		if s == "" {
			return "-"
		}
		return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
	}
	for _, f := range ingest.Formats() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.Name, cell(f.Doc), f.Kind, cell(f.Needs), cell(f.Lacks))
	}
	b.WriteString("\n")
	data, err := os.ReadFile(formatsDoc)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), formatsBegin)
	old, after, ok2 := strings.Cut(rest, formatsEnd)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the marks of the table", formatsDoc)
	}
	if old == b.String() {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the formats say of themselves: run with -update", formatsDoc)
	}
	if err := os.WriteFile(formatsDoc, []byte(before+formatsBegin+b.String()+formatsEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
