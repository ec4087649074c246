package duckcheck

import (
	"database/sql"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/iopathy/iopathy/ingest/lake"
)

func open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// one runs a query of one row and gives it as text, columns joined by blanks.
func one(t *testing.T, db *sql.DB, query string, args ...any) string {
	t.Helper()
	rows := all(t, db, query, args...)
	if len(rows) != 1 {
		t.Fatalf("%s: %d rows", query, len(rows))
	}
	return rows[0]
}

func all(t *testing.T, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for rows.Next() {
		values := make([]any, len(names))
		into := make([]any, len(names))
		for i := range into {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		words := make([]string, len(values))
		for i, v := range values {
			words[i] = fmt.Sprint(v)
		}
		out = append(out, strings.Join(words, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return out
}

// The rows of the tests: n of them, by simple rules, so that the sums can be
// had by hand.
const n = 150_000

func table(from int) []lake.Column {
	time, offset, size := make([]int64, n), make([]int64, n), make([]int64, n)
	pid, ratio, sync := make([]int32, n), make([]float64, n), make([]bool, n)
	device, file := make([]string, n), make([]string, n)
	third, none := make([]bool, n), make([]bool, n)
	for i := range n {
		time[i] = 1_700_000_000_000_000_000 + int64(from+i)*1000
		offset[i] = int64(i%1000)*4096 - 100
		size[i] = 512 << (i % 8)
		pid[i] = int32(i%50) - 25
		ratio[i] = float64(i) / 2
		sync[i] = i%5 == 0
		device[i] = fmt.Sprintf("sd%c", 'a'+i*3/n)
		file[i] = fmt.Sprintf("/data/%d", i)
		third[i] = i%3 != 0
	}
	return []lake.Column{
		{Name: "time_ns", Data: time}, {Name: "device", Data: device}, {Name: "pid", Data: pid, Valid: third},
		{Name: "offset_bytes", Data: offset, Valid: third}, {Name: "size_bytes", Data: size, Valid: third},
		{Name: "ratio", Data: ratio, Valid: third}, {Name: "sync", Data: sync, Valid: third}, {Name: "file", Data: file, Valid: third},
		{Name: "none", Data: file, Valid: none}, {Name: "none_ns", Data: time, Valid: none},
	}
}

func write(t *testing.T, path string, groups ...[]lake.Column) lake.Part {
	t.Helper()
	w, err := lake.Create(path, lake.Fields(groups[0]), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if err := w.Write(g); err != nil {
			t.Fatal(err)
		}
	}
	p, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSums(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	write(t, path, table(0), table(n))
	db := open(t)
	var offsets, sizes, pids, syncs int64
	var ratios float64
	for i := range n {
		if i%3 != 0 {
			offsets += int64(i%1000)*4096 - 100
			sizes += 512 << (i % 8)
			pids += int64(i%50) - 25
			ratios += float64(i) / 2
			if i%5 == 0 {
				syncs++
			}
		}
	}
	from := " FROM '" + path + "'"
	for query, want := range map[string]string{
		"count(*), min(time_ns), max(time_ns)":            fmt.Sprint(2*n, 1_700_000_000_000_000_000, 1_700_000_000_000_000_000+(2*n-1)*1000),
		"sum(offset_bytes)::BIGINT, min(offset_bytes)":    fmt.Sprint(2*offsets, -100),
		"sum(size_bytes)::BIGINT, count(size_bytes)":      fmt.Sprint(2*sizes, 2*n*2/3),
		"sum(pid)::BIGINT, min(pid), max(pid)":            fmt.Sprint(2*pids, -25, 24),
		"sum(ratio)":                                      fmt.Sprint(2 * ratios),
		"count(*) FILTER (sync)":                          fmt.Sprint(2 * syncs),
		"count(DISTINCT file), min(file), max(file)":      fmt.Sprint(n*2/3, " /data/1 /data/99998"),
		"count(DISTINCT device), min(device)":             "3 sda",
		"count(none), count(none_ns), max(none)":          "0 0 <nil>",
		"count(*) FILTER (pid IS NULL)":                   fmt.Sprint(2 * n / 3),
		"count(*) FILTER (file = '/data/7')":              "2",
		"count(*) FILTER (device = 'sdb' AND pid = 3)":    fmt.Sprint(rowsOf("sdb", 3)),
		"count(*) FILTER (time_ns > 1700000000299998000)": "1",
	} {
		want = strings.Join(strings.Fields(want), " ")
		if got := one(t, db, "SELECT "+query+from); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

func rowsOf(device string, pid int) (rows int) {
	for i := range n {
		if i%3 != 0 && fmt.Sprintf("sd%c", 'a'+i*3/n) == device && i%50-25 == pid {
			rows += 2
		}
	}
	return rows
}

// TestFilters asks with filters that DuckDB answers by the statistics of row
// groups: a wrong bound would hide rows.
func TestFilters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	cols := table(0)
	w, err := lake.Create(path, lake.Fields(cols), nil)
	if err != nil {
		t.Fatal(err)
	}
	devices := cols[1].Data.([]string)
	from := 0
	for _, to := range lake.Cuts(devices, 0, 0) {
		if err := w.Write(rows(cols, from, to)); err != nil {
			t.Fatal(err)
		}
		from = to
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	db := open(t)
	for query, want := range map[string]int{
		"device = 'sda'": n / 3, "device = 'sdc'": n / 3, "device > 'sda'": n * 2 / 3, "device = 'sdd'": 0,
		"time_ns < 1700000000000010000":       10,
		"ratio > 74999":                       1, // 75000 - 0.5; those of i%3 = 0 are null
		"none IS NULL":                        n,
		"size_bytes = 512 AND device = 'sdb'": sized(n/3, 2*n/3),
		"file = '/data/149999'":               1,
		"offset_bytes < 0":                    n / 1000 * 2 / 3,
		"sync AND device = 'sdc' AND time_ns > 1700000000149998000": 0,
	} {
		if got := one(t, db, "SELECT count(*) FROM '"+path+"' WHERE "+query); got != fmt.Sprint(want) {
			t.Errorf("%s: %s rows, want %d", query, got, want)
		}
	}
	for _, row := range all(t, db, `SELECT path_in_schema, stats_distinct_count, stats_null_count, stats_min_value IS NULL, num_values, compression
		FROM parquet_metadata('`+path+`')`) {
		f := strings.Fields(row)
		if f[1] != "<nil>" {
			t.Errorf("%s: distinct_count is %s, want none", f[0], f[1])
		}
		if (f[0] == "none" || f[0] == "none_ns") != (f[3] == "true") {
			t.Errorf("%s: a bound is missing: %s", f[0], row)
		}
	}
	if got := one(t, db, "SELECT value::VARCHAR FROM parquet_kv_metadata('"+path+"') WHERE key::VARCHAR = '"+lake.SchemaKey+"'"); got != lake.Schema {
		t.Errorf("schema version %q", got)
	}
}

func sized(from, to int) (rows int) {
	for i := from; i < to; i++ {
		if i%3 != 0 && i%8 == 0 {
			rows++
		}
	}
	return rows
}

func rows(cols []lake.Column, from, to int) []lake.Column {
	out := make([]lake.Column, len(cols))
	for i, c := range cols {
		out[i].Name = c.Name
		if c.Valid != nil {
			out[i].Valid = c.Valid[from:to]
		}
		switch d := c.Data.(type) {
		case []int64:
			out[i].Data = d[from:to]
		case []int32:
			out[i].Data = d[from:to]
		case []float64:
			out[i].Data = d[from:to]
		case []string:
			out[i].Data = d[from:to]
		case []bool:
			out[i].Data = d[from:to]
		}
	}
	return out
}

// TestHive reads partitions of hosts with odd names.
func TestHive(t *testing.T) {
	dir := t.TempDir()
	hosts := []string{"db07", "10.0.0.7", "größe", "a b", "a/b", "..", ".", "a=b", "50%", "%41", "x'y\"z", "__HIVE_DEFAULT_PARTITION__", "007", "a?*[b]", "-"}
	for i, host := range hosts {
		name := lake.PartName{Table: lake.Events, Date: "2026-11-29", Host: host, Input: "0123456789abcdef", Chunk: i}
		write(t, filepath.Join(dir, filepath.FromSlash(name.Path())), []lake.Column{{Name: "x", Data: []int64{int64(i)}}})
	}
	db := open(t)
	got := all(t, db, "SELECT host FROM read_parquet('"+dir+"/events/**/*.parquet', hive_partitioning = true, hive_types = {'host': VARCHAR, 'date': DATE}) ORDER BY x")
	if !slices.Equal(got, hosts) {
		t.Errorf("hosts %q, want %q", got, hosts)
	}
	if got := one(t, db, "SELECT count(*) FROM read_parquet('"+dir+"/events/**/*.parquet', hive_partitioning = true) WHERE host = 'größe' AND date = DATE '2026-11-29'"); got != "1" {
		t.Errorf("%s rows of one host, want 1", got)
	}
}

func TestExtremes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	write(t, path, []lake.Column{
		{Name: "i", Data: []int64{math.MinInt64, math.MaxInt64, 0, -1}},
		{Name: "j", Data: []int32{math.MinInt32, math.MaxInt32, 0, -1}},
		{Name: "f", Data: []float64{math.Inf(-1), math.Inf(1), math.Copysign(0, -1), math.NaN()}},
		{Name: "s", Data: []string{"", "\x00", "\xff\xfe", strings.Repeat("é", 1000)}},
	})
	db := open(t)
	from := " FROM '" + path + "'"
	for query, want := range map[string]string{
		"min(i), max(i), min(j), max(j)":                              fmt.Sprint(math.MinInt64, math.MaxInt64, math.MinInt32, math.MaxInt32),
		"min(f), count(*) FILTER (isnan(f)), count(*) FILTER (f = 0)": "-Inf 1 1",
		"sum(length(s))::BIGINT, count(*) FILTER (s = '')":            "1002 1",
		"count(*) FILTER (i = -9223372036854775808)":                  "1",
		"count(*) FILTER (f > 1e300 AND NOT isnan(f) AND f > 0)":      "1",
	} {
		if got := one(t, db, "SELECT "+query+from); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// TestLake opens every part of the lake that IOPATHY_LAKE names.
func TestLake(t *testing.T) {
	dir := os.Getenv("IOPATHY_LAKE")
	if dir == "" {
		t.Skip("IOPATHY_LAKE names no lake")
	}
	db := open(t)
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".parquet" || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		files++
		r, err := lake.Open(path, nil)
		if err != nil {
			return err
		}
		defer r.Close()
		var want int64
		for _, g := range r.RowGroups() {
			want += g.Rows
		}
		quoted := "'" + strings.ReplaceAll(path, "'", "''") + "'"
		if got := one(t, db, "SELECT count(*) FROM read_parquet("+quoted+", hive_partitioning = false)"); got != fmt.Sprint(want) {
			t.Errorf("%s: %s rows, want %d", path, got, want)
		}
		// The count comes from the footer: read every value too.
		all(t, db, "SELECT count(COLUMNS(*)), min(COLUMNS(*)) FROM read_parquet("+quoted+", hive_partitioning = false)")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Errorf("no part in %s", dir)
	}
	t.Logf("%d parts", files)
}
