package duckcheck

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// BenchmarkReadCSV is what ingest/formats' BenchmarkFile is compared with: DuckDB
// reads msr.log of the folder IOPATHY_SPEED with one thread, its columns named and
// typed, nothing to be guessed, no quotes, and sums all numbers.
func BenchmarkReadCSV(b *testing.B) {
	path := filepath.Join(os.Getenv("IOPATHY_SPEED"), "msr.log")
	info, err := os.Stat(path)
	if err != nil {
		b.Skip("IOPATHY_SPEED names no folder with msr.log")
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("SET threads = 1"); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ columns, sums string }{
		{"numbers", "sum(t), sum(disk), sum(off), sum(size), sum(lat)"},
		{"all", "sum(t), sum(length(host)), sum(disk), sum(length(op)), sum(off), sum(size), sum(lat)"},
	} {
		b.Run("columns="+c.columns, func(b *testing.B) {
			query := fmt.Sprintf(`SELECT %s FROM read_csv('%s', header = false, auto_detect = false, delim = ',', quote = '', escape = '',
				columns = {'t': 'BIGINT', 'host': 'VARCHAR', 'disk': 'INTEGER', 'op': 'VARCHAR', 'off': 'BIGINT', 'size': 'BIGINT', 'lat': 'BIGINT'})`,
				c.sums, strings.ReplaceAll(path, "'", "''"))
			var before, after syscall.Rusage
			b.SetBytes(info.Size())
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
				b.Fatal(err)
			}
			for range b.N {
				rows, err := db.Query(query)
				if err != nil {
					b.Fatal(err)
				}
				if !rows.Next() {
					b.Fatalf("no row: %v", rows.Err())
				}
				rows.Close()
			}
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
				b.Fatal(err)
			}
			spent := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
			b.ReportMetric(float64(info.Size())*float64(b.N)/1e6/(float64(spent)/1e9), "MB/cpu-s")
		})
	}
}
