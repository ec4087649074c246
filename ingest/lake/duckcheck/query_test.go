package duckcheck

import (
	"os"
	"strings"
	"testing"
)

// TestQuery runs the SQL that `iopathy query --print` wrote to the file that
// IOPATHY_SQL names: the views of the lake's tables, then one query.
func TestQuery(t *testing.T) {
	path := os.Getenv("IOPATHY_SQL")
	if path == "" {
		t.Skip("IOPATHY_SQL names no file")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	db := open(t)
	db.SetMaxOpenConns(1) // the views are those of one connection's database
	statements := strings.Split(strings.TrimSuffix(string(text), ";\n"), ";\n")
	for _, s := range statements[:len(statements)-1] {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%.200s: %v", s, err)
		}
	}
	rows := all(t, db, statements[len(statements)-1])
	if len(statements) < 3 || len(rows) == 0 {
		t.Errorf("%d statements, %d rows", len(statements), len(rows))
	}
	t.Logf("%d rows, the first: %s", len(rows), rows[0])
}
