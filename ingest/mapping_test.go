package ingest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// good is a mapping with nothing wrong in it.
func good() ingest.Mapping {
	return ingest.Mapping{
		Name: "a", Layout: "csv", Time: ingest.MappedTime{Column: "t"},
		Fields: map[string]ingest.MappedField{"device": {Column: "d"}, "latency": {Column: "l", Unit: "ms"}},
	}
}

func TestMappingValidate(t *testing.T) {
	check := func(want string, change func(m *ingest.Mapping)) {
		t.Helper()
		m := good()
		change(&m)
		err := m.Validate()
		if want == "" {
			if err != nil {
				t.Errorf("got %v, want nothing wrong", err)
			}
			return
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	set := func(name string, f ingest.MappedField) func(m *ingest.Mapping) {
		return func(m *ingest.Mapping) { m.Fields[name] = f }
	}
	check("", func(*ingest.Mapping) {})
	check("name: ", func(m *ingest.Mapping) { m.Name = "A b" })
	check("layout: ", func(m *ingest.Mapping) { m.Layout = "xml" })
	check("delimiter: ", func(m *ingest.Mapping) { m.Sep = "ab" })
	check("delimiter: a jsonl has none", func(m *ingest.Mapping) { m.Layout, m.Sep = "jsonl", ";" })
	check("decimal: ", func(m *ingest.Mapping) { m.Decimal = "," })
	check("", func(m *ingest.Mapping) { m.Decimal, m.Sep = ",", ";" })
	check("path: ", func(m *ingest.Mapping) { m.Path = "[" })
	check("record: ", func(m *ingest.Mapping) { m.Record = "row" })
	check("time.column: say", func(m *ingest.Mapping) { m.Time.Column = "" })
	check("time.unit: ", func(m *ingest.Mapping) { m.Time.Unit = "h" })
	check("time.base: ", func(m *ingest.Mapping) { m.Time.Base = "unix" })
	check("time.at: ", func(m *ingest.Mapping) { m.Time.At = "end" })
	check("time.zone: ", func(m *ingest.Mapping) { m.Time.Zone = "Mars/Phobos" })
	check("time.origin: ", func(m *ingest.Mapping) { m.Time.Origin = "yesterday" })
	check("time.origin: ", func(m *ingest.Mapping) { m.Time.Origin, m.Time.Unit = "1601-01-01", "ns" }) // no int64
	check("", func(m *ingest.Mapping) { m.Time.Origin, m.Time.Unit = "1601-01-01", "100ns" })
	check("time.format: a date has no unit", func(m *ingest.Mapping) { m.Time.Format, m.Time.Unit = "iso", "us" })
	check("time.format: ", func(m *ingest.Mapping) { m.Time.Format = "YYYY" })
	check("fields.devic: ", set("devic", ingest.MappedField{Column: "d"}))
	check("fields.size: say either", set("size", ingest.MappedField{}))
	check("fields.size.unit: ", set("size", ingest.MappedField{Column: "s", Unit: "ms"}))
	check("", set("size", ingest.MappedField{Column: "s", Unit: "4096"}))
	check("fields.size.unit: ", set("size", ingest.MappedField{Column: "s", Unit: "-1"}))
	check("fields.pid.unit: ", set("pid", ingest.MappedField{Column: "s", Unit: "ms"}))
	check("fields.pid.prefix: ", set("pid", ingest.MappedField{Column: "s", Prefix: "p"}))
	check("fields.pid.value: ", set("pid", ingest.MappedField{Value: "1"}))
	check("fields.size.as: ", set("size", ingest.MappedField{Column: "s", As: "rate"}))
	check("fields.end: ", set("end", ingest.MappedField{Column: "e"}))
	check("latency_kind: ", func(m *ingest.Mapping) { m.LatencyKind = "sample" })
	check("latency_kind: there is no latency", func(m *ingest.Mapping) { m.LatencyKind = "app"; delete(m.Fields, "latency") })
	check("fields: a record of kind event needs device", func(m *ingest.Mapping) { delete(m.Fields, "device") })
	check("fields: a record of kind sample needs interval", func(m *ingest.Mapping) { m.Record = "sample"; delete(m.Fields, "latency") })
	check("fields: a record of kind evidence needs name", func(m *ingest.Mapping) { m.Record = "evidence"; delete(m.Fields, "latency") })
	check("facts: only evidence", func(m *ingest.Mapping) { m.Facts = []ingest.MappedFact{{Column: "x"}} })
	check("columns: names are given", func(m *ingest.Mapping) { m.Columns, m.Header = []string{"t", "d", "l"}, []string{"t"} })
	check(`fields.latency.column: there is no column "l"`, func(m *ingest.Mapping) { m.Columns = []string{"t", "d"} })
	check(`ops.write: "x" stands twice`, func(m *ingest.Mapping) { m.Ops.Read, m.Ops.Write = []string{"x"}, []string{"X"} })
}

func TestMappingClaims(t *testing.T) {
	check := func(want bool, head, path string, change func(m *ingest.Mapping)) {
		t.Helper()
		m := good()
		change(&m)
		if got := m.Claims([]byte(head), path); got != want {
			t.Errorf("%q at %s: got %v, want %v", head, path, got, want)
		}
	}
	named := func(h ...string) func(*ingest.Mapping) { return func(m *ingest.Mapping) { m.Header = h } }
	globbed := func(p string) func(*ingest.Mapping) { return func(m *ingest.Mapping) { m.Path = p } }
	check(false, "t,d,l\n", "x.csv", func(*ingest.Mapping) {}) // it asks nothing: by name only
	check(true, "t,d,l\n", "x.csv", named("d"))
	check(true, "banner\n\"t\", d ,l,x\n", "x.csv", named("x"))
	check(false, "t,d\n", "x.csv", named("d")) // l is used
	check(false, "t,d,l\n", "x.csv", named("x"))
	check(true, "anything", "dir/x.csv", globbed("*.csv"))
	check(false, "anything", "dir/x.log", globbed("*.csv"))
	check(true, "anything", "dir/x.csv", globbed("dir/*.csv"))
	check(false, "t,d\n", "x.csv", func(m *ingest.Mapping) { m.Path, m.Header = "*.csv", []string{"d"} })
	objects := func(m *ingest.Mapping) { m.Layout, m.Header = "jsonl", []string{"io.lat"} }
	check(true, "[\n{\"io\": {\"lat\": 1}}\n", "x", objects)
	check(false, "{\"io\": {\"late\": 1}}\n", "x", objects)
	check(false, "io.lat\n", "x", objects)
}

func TestMappingCells(t *testing.T) {
	check := func(line, sep string, want ...string) {
		t.Helper()
		m := ingest.Mapping{Layout: "csv", Sep: sep, Comment: "#"}
		if got := m.Cells([]byte(line)); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
	check("a,b c, d ", "", "a", "b c", "d")
	check(`# a,"b, c","d"`, "", "a", "b, c", "d")
	check("a;b,c", ";", "a", "b,c")
	check("  a \t b", "blanks", "a", "b")
	check(`"a`, "", `"a`) // a quote that does not end
}
