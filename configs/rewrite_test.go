package configs

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
)

// What is written is what is read again; what isn't learnt stays byte by byte,
// comments and all.
func TestRewriteCatalogue(t *testing.T) {
	shipped, err := LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	same, err := RewriteCatalogue("", shipped, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := lettersOf(string(same)), lettersOf(string(shippedCatalogue)); got != want {
		t.Errorf("rewritten unchanged, it is not what it was")
	}
	c, err := LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	p := &c.Pathologies[2]
	p.Signature = map[string]float64{"latency_load_residual": 3.25, "busy_fraction": 0.8, "stall_gap": -0.5}
	p.Gate = 1.875
	c.Pathologies = append(c.Pathologies, cluster.Pathology{
		ID: 9, Slug: "backup-window", Name: "Backup: window", Symptom: "Taught.", Colour: "#999999", Gate: 2, Signature: map[string]float64{"write_flood": 1, "busy_fraction": 2.5},
	})
	data, err := RewriteCatalogue("", c, "taught by a site\non two lines")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if !strings.HasPrefix(text, "# taught by a site\n# on two lines\n") {
		t.Errorf("it begins with %q", text[:60])
	}
	if n := strings.Count(text, "\n#"); n < strings.Count(string(shippedCatalogue), "\n#") {
		t.Errorf("%d lines of comment are left", n)
	}
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := LoadCatalogue(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Pathologies) != len(c.Pathologies) {
		t.Fatalf("%d entries, want %d", len(got.Pathologies), len(c.Pathologies))
	}
	for i := range c.Pathologies {
		if want := bare(c.Pathologies[i]); !reflect.DeepEqual(bare(got.Pathologies[i]), want) {
			t.Errorf("%s: read again as %+v, want %+v", want.Slug, bare(got.Pathologies[i]), want)
		}
	}
	again, err := RewriteCatalogue(path, got, "")
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != text {
		t.Error("rewritten once more, it differs")
	}
	if _, err := RewriteCatalogue(path+"x", got, ""); err == nil {
		t.Error("a file that isn't there is rewritten")
	}
}

// lettersOf leaves blanks aside: the encoder has its own indentation.
func lettersOf(s string) string { return strings.Join(strings.Fields(s), " ") }

// bare is an entry without the places of its rules.
func bare(p cluster.Pathology) cluster.Pathology {
	p.Requires, p.Evidence, p.Causes = append([]cluster.Requirement(nil), p.Requires...), append([]cluster.Rule(nil), p.Evidence...), append([]cluster.RootCause(nil), p.Causes...)
	for i := range p.Requires {
		p.Requires[i].At = ""
	}
	for i := range p.Evidence {
		p.Evidence[i].At = ""
	}
	for i := range p.Causes {
		p.Causes[i].At = ""
	}
	return p
}
