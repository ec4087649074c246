package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
)

func TestShippedCatalogue(t *testing.T) {
	c, err := LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"queue-saturation", "burst-congestion", "media-degradation", "bandwidth-saturation", "metadata-storm", "cache-thrash", "sudden-stall", "writeback-stall"}
	if len(c.Pathologies) != len(want) {
		t.Fatalf("%d pathologies, want %d", len(c.Pathologies), len(want))
	}
	for i, p := range c.Pathologies {
		if p.ID != i+1 || p.Slug != want[i] {
			t.Errorf("entry %d is %d %s, want %d %s", i, p.ID, p.Slug, i+1, want[i])
		}
		if len(p.Causes) < 3 || len(p.Advice) == 0 || len(p.Evidence) == 0 {
			t.Errorf("%s: %d causes, %d advice, %d evidence", p.Slug, len(p.Causes), len(p.Advice), len(p.Evidence))
		}
	}
	if _, err := cluster.Compile(c); err != nil {
		t.Error(err)
	}
}

const entry = `pathologies:
  - id: 1
    slug: slow
    name: Slow
    symptom: It is slow.
    colour: "#112233"
    signature: {latency_load_residual: 1}
    evidence: [{when: "iops > 1", says: "it is", weight: 1}]
    causes: [{id: a, name: A, when: "iops > 1"}]
    advice: [look]
`

func TestCatalogueErrorsNameFileAndLine(t *testing.T) {
	check := func(text, want string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := LoadCatalogue(path)
		if want == "" && err == nil {
			return
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "c.yaml") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	check(entry, "")
	second := strings.Replace(entry, "pathologies:\n", "", 1)
	check(entry+second, "c.yaml:11: slow: id 1 is that of slow (line 2)")
	check(entry+strings.NewReplacer("id: 1", "id: 2", "slug: slow", "slug: other", "112233", "445566").Replace(second), "signature points where that of slow does (line 2)")
	check(strings.Replace(entry, "latency_load_residual", "latency_lod", 1), `c.yaml:2: slow: signature: no feature is called "latency_lod"`)
	check(strings.Replace(entry, "#112233", "red", 1), `colour "red"`)
	tells := func(fact, says string) string {
		return strings.Replace(entry, "    advice:", "    tells: [{fact: "+fact+", from: 1, says: \""+says+"\"}]\n    advice:", 1)
	}
	check(tells("iops", "{} requests a second"), "")
	check(tells("latency_over_normal", "{} times its normal latency"), "")
	check(tells("iopses", "{} requests a second"), `tells "iopses"`)
	check(tells("iops", "many requests"), `words with one {}`)
	check(strings.Replace(entry, "advice", "advise", 1), "line 10: field advise not found")
	check("pathologies: []\n", "no pathologies")
	check("", "no pathologies")
	check(":\n:", "c.yaml")
}

// What is wrong with an expression is told when it is compiled, by the file and
// line of the expression.
func TestExpressionsKnowWhereTheyStand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	text := strings.Replace(entry, `causes: [{id: a, name: A, when: "iops > 1"}]`, `causes:
      - id: a
        name: A
        when: rate(pgmajfault) > 1`, 1)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := LoadCatalogue(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = cluster.Compile(c); err == nil || !strings.Contains(err.Error(), "c.yaml:12: slow: cause \"a\": rate: wants the name of evidence") {
		t.Errorf("got %v", err)
	}
}
