package reports

import (
	"bytes"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaFile is where the schema is published.
const schemaFile = "../docs/report.schema.json"

// The published schema is that of the types, and what JSON writes fits it, by
// a validator that is not ours.
func TestSchema(t *testing.T) {
	if *update {
		if err := os.WriteFile(schemaFile, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	published, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(published, Schema()) {
		t.Fatalf("%s is not the schema of report.json: go test ./reports -run Schema -update", schemaFile)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(published))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("report.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	report := func(in *Input) []byte {
		t.Helper()
		var b bytes.Buffer
		if err := JSON(&b, in); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	fits := func(data []byte) error {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
	cards := made(20, 60, 5, 3)
	carded(cards)
	for name, in := range map[string]*Input{"small": small(), "made": made(20, 60, 5, 3), "cards": cards, "nothing": {}} {
		data := report(in)
		if err := fits(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// A schema that takes anything would be none.
		for _, broken := range [][2]string{{`"tool": "iopathy"`, `"tool": "other"`}, {`"totals": {`, `"total": {`}, {`"windows": `, `"windows": "x", "w": `}, {`"classes": `, `"classes": 1, "c": `}} {
			if bad := bytes.Replace(data, []byte(broken[0]), []byte(broken[1]), 1); bytes.Equal(bad, data) || fits(bad) == nil {
				t.Errorf("%s: %s in place of %s is taken", name, broken[1], broken[0])
			}
		}
	}
}
