package local

import (
	"io"
	"path/filepath"
	"sync"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/ingest/lake"
	"github.com/iopathy/iopathy/reports"
)

// A row group of labels.parquet is what is gone through at once.
var _ = [1]struct{}{}[reports.PieceRows-lake.GroupRows]

// writeLabels goes through all windows once: it writes labels.csv and labels.parquet,
// and keeps what the page and all else ask of every window. The files get their
// names while others work: wait gives their paths, and must be called.
func (j *Job) writeLabels(dir string, d *Diagnosed, catalogue cluster.Catalogue) (wait func() ([]string, error), err error) {
	in := &reports.Input{Windows: d.Windows, Points: d.Points, Result: d.Result, Catalogue: catalogue}
	fields := lake.Fields(reports.LabelRows(in, nil))
	csv, parquet := filepath.Join(dir, "labels.csv"), filepath.Join(dir, "labels.parquet")
	read, done := make(chan error, 1), make(chan error, 1)
	var packs sync.Pool
	through := func(text io.Writer, table *lake.Writer) (err error) {
		defer Rescue(&err)
		if _, err := text.Write(reports.LabelsHeader()); err != nil {
			return err
		}
		d.digest, err = reports.NewDigest(in, j.workers(), reports.Labels{
			Pack: func(columns []reports.Column) (any, error) {
				g, ok := packs.Get().(*lake.Packed)
				if !ok {
					g = new(lake.Packed)
				}
				return g, g.Pack(fields, columns)
			},
			Take: func(rows []byte, packed any) error {
				defer packs.Put(packed)
				if _, err := text.Write(rows); err != nil {
					return err
				}
				return table.Append(packed.(*lake.Packed))
			},
		})
		return err
	}
	go func() {
		err := lake.WriteAtomic(csv, func(text io.Writer) error {
			table, err := lake.Create(parquet, fields, nil)
			if err != nil {
				return err
			}
			if err := through(text, table); err != nil {
				table.Abort()
				return err
			}
			read <- nil
			_, err = table.Close()
			return err
		})
		if err != nil {
			select {
			case read <- err: // it came to no end
			default:
			}
		}
		done <- err
	}()
	err = <-read
	return func() ([]string, error) { return []string{csv, parquet}, <-done }, err
}
