package local

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest"
	_ "github.com/iopathy/iopathy/ingest/formats"
)

// A Parquet file is read by a mapping, in a directory as well; damage ends it and
// is told, and what stood before it is kept.
func TestTableByMapping(t *testing.T) {
	whole, err := os.ReadFile("../../../ingest/lake/testdata/foreign/snappy-v1.parquet")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := configs.Default()
	c.Ingest.Mappings = []ingest.Mapping{{
		Name: "table", Layout: "parquet", Header: []string{"ts_us", "dev.name"}, Time: ingest.MappedTime{Column: "ts_us"},
		Fields: map[string]ingest.MappedField{"device": {Column: "dev.name", Prefix: "/"}, "size": {Column: "i64"}},
	}}
	check := func(name string, data []byte, events int64, torn, problem string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
		all, _, err := (&Job{Config: c}).Check(context.Background(), []string{dir}, nil)
		if err != nil || len(all) != 1 {
			t.Fatalf("%d inputs, %v", len(all), err)
		}
		if r := all[0].Report; r.Events != events || r.Torn != torn || r.Problem != problem {
			t.Errorf("%d events, torn %q, problem %q; want %d, %q, %q", r.Events, r.Torn, r.Problem, events, torn, problem)
		}
	}
	// 60 rows, of which each sixth has no device.
	check("a.parquet", whole, 50, "", "")
	// The second row group is broken: of the 25 rows before it five have no device.
	damaged := bytes.Clone(whole)
	for i := 2760; i < 2900; i++ {
		damaged[i] ^= 0xff
	}
	check("a.parquet", damaged, 20, "corrupt-parquet", "")
	check("a.parquet", whole[:len(whole)-1], 0, "", "can't be opened: lake: open "+filepath.Join(dir, "a.parquet")+": no Parquet file: its magic is missing")
	c.Ingest.Mappings[0].Fields["size"] = ingest.MappedField{Column: "no such"}
	check("a.parquet", whole, 0, "", "no format claims this input; say --format if you know it")
}
