package local

import (
	"context"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

// Fit and labels by shares of hosts, for who has several processes on one lake that
// holds no other run: TakeFolds, SampleHosts of each share, FitSamples, LabelHosts of
// each share, DiagnoseHosts. What comes out is what Diagnose gives.

// HostShare is hosts whose windows are labelled together. A host is of one share:
// what is said of it needs all of its devices.
type HostShare struct {
	Hosts []string
	Lone  bool // no other host has windows
}

// TakeFolds makes the windows of the inputs, as Features does, and gives their hosts in
// n shares or fewer, of about the same number of windows each; ticks is as Features'. It
// gives at least one share.
func (j *Job) TakeFolds(ctx context.Context, inputs []string, n int) (shares []HostShare, ticks int64, err error) {
	manifests, err := j.features(ctx, inputs, false)
	if err != nil {
		return nil, 0, err
	}
	windows, ticks := j.count(manifests)
	rows := map[string]int64{}
	for _, p := range lake.Parts(manifests, lake.Windows) {
		c, err := cellOf(p)
		if err != nil {
			return nil, 0, err
		}
		rows[c.host] += p.Rows
	}
	at, before := -1, int64(0)
	for _, host := range sortedKeys(rows) {
		if k := int(before * int64(n) / max(windows, 1)); len(shares) == 0 || k != at {
			at = k
			shares = append(shares, HostShare{Lone: len(rows) == 1})
		}
		last := &shares[len(shares)-1]
		last.Hosts = append(last.Hosts, host)
		before += rows[host]
	}
	if len(shares) == 0 {
		shares = []HostShare{{}}
	}
	return shares, ticks, nil
}

// windowsOfHosts reads the windows of a share, with what the evidence tells of them.
func (j *Job) windowsOfHosts(share HostShare, rules *cluster.Rules) (*Windows, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	of := map[string]bool{}
	for _, h := range share.Hosts {
		of[h] = true
	}
	windows, err := j.readWindows(manifests, func(c cell) bool { return of[c.host] })
	if err != nil {
		return nil, err
	}
	if _, err := j.listen(windows, rules, share.Lone); err != nil {
		windows.Close()
		return nil, err
	}
	return windows, nil
}

// namedRows makes a file of rows that others will read.
func namedRows(path string) (*rowFile, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("writing windows: %w", err)
	}
	return rowsTo(f), nil
}

// done ends a file of rows that others will read.
func (r *rowFile) done() error {
	err := r.flush()
	if cerr := r.f.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("writing windows: %w", cerr)
	}
	return err
}

// rowStream reads the rows of such a file one after another.
type rowStream struct {
	r   io.ReadCloser
	in  io.Reader
	row []byte
}

func openRows(path string) (*rowStream, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading windows: %w", err)
	}
	return &rowStream{r: f, in: buffered(f)}, nil
}

// next gives the next row until the one after is asked for; io.EOF: there is none.
func (s *rowStream) next() ([]byte, error) {
	var n [lengthOf]byte
	if _, err := io.ReadFull(s.in, n[:]); err != nil {
		return nil, err
	}
	size := int(binary.LittleEndian.Uint32(n[:]))
	s.row = slices.Grow(s.row[:0], size)[:size]
	if _, err := io.ReadFull(s.in, s.row); err != nil {
		return nil, fmt.Errorf("reading windows: %w", err)
	}
	return s.row, nil
}

// keepGob writes what one process tells another, whole or not at all.
func keepGob(path string, v any) error {
	return lake.WriteAtomic(path, func(w io.Writer) error { return gob.NewEncoder(w).Encode(v) })
}

func readGob(path string, v any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := gob.NewDecoder(buffered(f)).Decode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// freshDir makes an empty directory.
func freshDir(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("share of hosts: %w", err)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("share of hosts: %w", err)
	}
	return nil
}

// The files of a share's directory.
func sampleFile(dir string) string       { return filepath.Join(dir, "sample.gob") }
func rowsFile(dir string, n int) string  { return filepath.Join(dir, fmt.Sprintf("rows-%d", n)) }
func labelledFile(dir string) string     { return filepath.Join(dir, "labelled.gob") }
func saidFile(dir string) string         { return filepath.Join(dir, "said") }
func keyOf(w *features.Window) windowKey { return windowKey{w.Key, w.StartNS} }

// windowKey names a window of a family.
type windowKey struct {
	features.Key
	startNS int64
}
