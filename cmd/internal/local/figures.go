package local

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// writeFigures puts every figure of the report into dir, and its tables, each
// as CSV, JSON and Parquet. The names are fixed: none comes from a log. A
// directory that stands there already must hold figures of ours, or nothing.
func writeFigures(ctx context.Context, dir string, input *reports.Input) ([]string, error) {
	var files []string
	old := figuresBefore(dir)
	put := func(name string, write func(io.Writer) error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		if err := lake.WriteAtomic(path, write); err != nil {
			return err
		}
		files = append(files, path)
		return nil
	}
	tables, err := reports.Tables(input)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if err := put(t.Name+".csv", t.CSV); err != nil {
			return files, err
		}
		if err := put(t.Name+".json", t.JSON); err != nil {
			return files, err
		}
		path := filepath.Join(dir, t.Name+".parquet")
		if _, err := writeTable(path, t.Columns, nil); err != nil {
			return files, err
		}
		files = append(files, path)
	}
	if err := reports.Figures(input, put); err != nil { // its index is written last
		return files, err
	}
	for _, name := range old { // of a report with more sick devices
		if path := filepath.Join(dir, name); !slices.Contains(files, path) {
			_ = os.Remove(path) // best effort: a picture too many does no harm
		}
	}
	return files, nil
}

var figureName = regexp.MustCompile(`^[a-z0-9-]+\.(svg|png)$`)

// figuresBefore are the figures that an earlier report left in a directory.
func figuresBefore(dir string) []string {
	f, err := os.Open(filepath.Join(dir, reports.FigureIndex))
	if err != nil {
		return nil
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil
	}
	var names []string
	for _, r := range rows {
		if figureName.MatchString(r[0]) {
			names = append(names, r[0])
		}
	}
	return names
}

// CheckFigures says whether figures may be put into dir: it is absent or
// empty, or holds the index of figures, or force is set. "" is no directory.
func CheckFigures(dir string, force bool) error {
	if dir == "" || force {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("directory of figures: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, reports.FigureIndex)); err != nil {
		return fmt.Errorf("directory of figures %s holds other things: choose another, or --force", dir)
	}
	return nil
}
