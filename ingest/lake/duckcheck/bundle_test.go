package duckcheck

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/ingest/lake"
)

// TestBundle opens the file into which a night merges the parts of a day: DuckDB sees
// the rows that it saw in the parts, also where one of them lacks columns.
func TestBundle(t *testing.T) {
	dir := t.TempDir()
	lock, err := lake.NewLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	var parts []lake.Part
	files := ""
	for i, lacks := range []string{"", "pid", "file"} {
		cols := slices.DeleteFunc(table(i*n), func(c lake.Column) bool { return c.Name == lacks })
		name := lake.PartName{Table: lake.Events, Date: "2026-11-29", Host: "h", Input: fmt.Sprintf("%032x", i)}
		path := filepath.Join(dir, filepath.FromSlash(name.Path()))
		p := write(t, path, rows(cols, 0, n/2), rows(cols, n/2, n))
		p.Path = name.Path()
		parts, files = append(parts, p), files+", '"+path+"'"
	}
	const asks = `SELECT count(*), count(pid), count(file), sum(hash(time_ns, device, pid, offset_bytes, size_bytes, ratio, sync, file, none, none_ns))::VARCHAR,
		count(*) FILTER (device = 'sdb'), count(*) FILTER (pid = 3), count(*) FILTER (file = '/data/7'), count(*) FILTER (time_ns > 1700000000400000000) FROM read_parquet([%s], union_by_name = true, hive_partitioning = false)`
	db := open(t)
	want := one(t, db, fmt.Sprintf(asks, files[2:]))
	bundle, members, err := lock.Bundle(parts)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(p.Path))); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, filepath.FromSlash(bundle.Path))
	if got := one(t, db, fmt.Sprintf(asks, "'"+path+"'")); got != want || len(members) != len(parts) {
		t.Errorf("of the merged file DuckDB says %s, of its %d parts %s", got, len(parts), want)
	}
	if got := one(t, db, "SELECT count(*) FROM read_parquet('"+dir+"/events/**/*.parquet', hive_partitioning = true) WHERE host = 'h' AND date = DATE '2026-11-29'"); got != fmt.Sprint(3*n) {
		t.Errorf("%s rows by the folders' names, want %d", got, 3*n)
	}
	// What tells of row groups is true of each: a wrong bound would hide rows.
	if got := one(t, db, "SELECT count(*), sum(num_values)::BIGINT FROM parquet_metadata('"+path+"') WHERE path_in_schema = 'time_ns'"); got != fmt.Sprint(6, 3*n) {
		t.Errorf("row groups and rows: %s", got)
	}
}
