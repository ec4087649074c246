package cluster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// asks is a catalogue of one pathology whose only cause is an expression.
func asks(when string) Catalogue {
	return Catalogue{Pathologies: []Pathology{{
		ID: 1, Slug: "one", Signature: map[string]float64{features.Features[0].Name: 1},
		Causes: []RootCause{{ID: "a", Name: "A", When: when, At: "mine.yaml:12"}},
	}}}
}

func TestEvidenceInExpressions(t *testing.T) {
	check := func(when string, evidence []features.Reading, want string) {
		t.Helper()
		r, err := Compile(asks(when))
		if err != nil {
			t.Errorf("%s: %v", when, err)
			return
		}
		w := r.Witness()
		for i := range evidence { // the first questions are those of facts
			evidence[i].Query += len(standing)
		}
		p := reduce.Point{Window: &features.Window{Evidence: evidence}}
		w.look(&p)
		yes, told := w.holds(&r.entries[0].causes[0])
		got := fmt.Sprint(yes)
		if !told {
			got = "abstains"
		}
		if got != want {
			t.Errorf("%s of %+v: %s, want %s", when, evidence, got, want)
		}
	}
	faults := func(v float64) []features.Reading { return []features.Reading{{Query: 0, Value: v}} }
	check(`rate("own_faults") > 100`, faults(200), "true")
	check(`rate("own_faults") > 100`, faults(0), "false")
	check(`rate("own_faults") > 100`, nil, "abstains")
	check(`!(rate("own_faults") > 100)`, nil, "abstains")
	check(`seen("x", 30) == 0`, nil, "abstains")
	check(`seen("x", 30) == 0`, faults(0), "true")
	check(`level("a") > 2 * level("b")`, []features.Reading{{Query: 0, Value: 5}, {Query: 1, Value: 2}}, "true")
	check(`level("a") > 2 * level("b")`, []features.Reading{{Query: 1, Value: 2}}, "abstains")
	check(`max(peak("a"), latest("b")) + growth("c") >= 6`, []features.Reading{{Query: 0, Value: 1}, {Query: 1, Value: 4}, {Query: 2, Value: 2}}, "true")
	check(`rate("a") > 0 && rate("a") < 9`, faults(3), "true")
}

func TestAskedIsListedOnce(t *testing.T) {
	c := asks(`rate("a") > 0 && seen("b", 1.5) > 0`)
	c.Pathologies[0].Evidence = []Rule{{When: `rate("a") > 3 && seen("b") > 0`, Says: "it is", Weight: 1}}
	r, err := Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(r.Asked()[len(standing):]), `[rate("a") seen("b") seen("b", 1.5)]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBadQueriesNameFileAndLine(t *testing.T) {
	check := func(when, want string) {
		t.Helper()
		_, err := Compile(asks(when))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "mine.yaml:12: one: cause \"a\"") {
			t.Errorf("%s: got %v, want %q", when, err, want)
		}
	}
	check(`rate() > 1`, "0 arguments")
	check(`rate("a", 3) > 1`, "2 arguments")
	check(`rate(iops) > 1`, "name of evidence as text")
	check(`seen("a", iops) > 1`, "number of seconds")
	check(`seen("a", 1e9) > 1`, "within a day")
	check(`rate("")> 1`, "as text")
	check(`rates("a") > 1`, "rates")
	check(`rate("a")`, "bool")
	check(`rate("a") > "b"`, "mismatched types")
	check(`rate("a" > 1`, "unexpected")
	check(``, "no expression")
}

// The readings that a label rests on come with it, and an episode has the
// largest of each.
func TestReadingsStandWithTheDiagnosis(t *testing.T) {
	c := shippedCatalogue(t)
	for i := range c.Pathologies {
		if p := &c.Pathologies[i]; p.Slug == "sudden-stall" {
			p.Causes = append([]RootCause{{ID: "aborted", Name: "aborted", When: `seen("own_abort") > 0`}}, p.Causes...)
		}
	}
	r, err := Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	query := -1
	for i, q := range r.Asked() {
		if q.Name == "own_abort" {
			query = i
		}
	}
	ws, inv := fleetOf(t, r, 1)
	for i := range ws {
		if w := &ws[i]; w.Device == "sudden-stalla" {
			w.Evidence = []features.Reading{{Query: query, Value: float64(w.StartNS / 10e9), TimeNS: w.StartNS, Text: "abort"}}
		}
	}
	res, _, err := Diagnose(placed(t, ws, inv, r), r, &Model{Kind: Shipped}, Shipped, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range res.Episodes {
		if e.Device != "sudden-stalla" {
			for _, x := range e.Readings {
				if x.Query == `seen("own_abort")` {
					t.Errorf("%s has the readings of another", e.Device)
				}
			}
			continue
		}
		found = true
		want := Reading{Query: `seen("own_abort")`, Value: 19, TimeNS: 190e9, Text: "abort"}
		if len(e.Readings) == 0 || e.Readings[0] != want || e.Causes[0].ID != "aborted" {
			t.Errorf("got %+v by %+v, want %+v", e.Readings, e.Causes, want)
		}
	}
	if !found {
		t.Error("no episode")
	}
}

// What the inventory tells of a device's limits goes before what the evidence
// tells; without either the facts are missing.
func TestLimits(t *testing.T) {
	facts := map[string]Fact{}
	for _, f := range Facts() {
		facts[f.Name] = f
	}
	check := func(name string, d reduce.Device, evidence []features.Reading, want string) {
		t.Helper()
		w := features.Window{Evidence: evidence}
		w.Context[features.CtxBytesPerS], w.Context[features.CtxIOPS], w.Context[features.CtxMeanDepth] = 1.5e9, 3000, 32
		if got := fmt.Sprint(facts[name].of(&reduce.Point{Window: &w, Device: d})); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	lspci := []features.Reading{{Query: askLink, Value: 2e9}, {Query: askCapable, Value: 8e9}}
	check("link_share", reduce.Device{LinkBytesPerS: 3e9}, nil, "0.5")
	check("link_share", reduce.Device{LinkBytesPerS: 3e9}, lspci, "0.5")
	check("link_share", reduce.Device{}, lspci, "0.75")
	check("link_share", reduce.Device{}, nil, "NaN")
	check("link_downgrade", reduce.Device{}, lspci, "0.25")
	check("link_downgrade", reduce.Device{LinkBytesPerS: 3e9}, nil, "NaN")
	check("bytes_limit_share", reduce.Device{BytesPerSLimit: 1.5e9}, nil, "1")
	check("bytes_limit_share", reduce.Device{}, []features.Reading{{Query: askBytesMax, Value: 3e9}}, "0.5")
	check("bytes_limit_share", reduce.Device{}, []features.Reading{{Query: askBytesMax, Value: 0}}, "NaN")
	// All is read (write_bytes_share 0): a limit of writes is not used.
	check("bytes_limit_share", reduce.Device{}, []features.Reading{{Query: askReadMax, Value: 2e9}, {Query: askWriteMax, Value: 1e6}}, "0.75")
	check("bytes_limit_share", reduce.Device{}, []features.Reading{{Query: askWriteMax, Value: 1e6}}, "0")
	check("iops_limit_share", reduce.Device{IOPSLimit: 6000}, nil, "0.5")
	check("queue_limit_share", reduce.Device{QueueLimit: 32}, nil, "1")
	check("queue_limit_share", reduce.Device{}, nil, "NaN")
}
