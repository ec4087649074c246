package generate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sync/errgroup"
)

// Made is what was written.
type Made struct {
	Devices  int            `json:"devices"`
	Sick     map[string]int `json:"sick"` // devices by label
	Requests int64          `json:"requests"`
	Bytes    int64          `json:"bytes"` // of logs, before compression
	Files    int            `json:"files"`
}

// made is what one device gave.
type made struct {
	truth, inventory []string
	label            string
	requests, bytes  int64
	files            int
}

// Write makes a fleet's logs below dir/runs, the truth as dir/labels.csv and
// dir/inventory.csv. What is written depends on the options but not on Workers.
func Write(ctx context.Context, dir string, o Options) (*Made, error) {
	fleet, err := NewFleet(o)
	if err != nil {
		return nil, err
	}
	f, _ := formatNamed(o.Format) // NewFleet knows it
	each := make([]made, o.Devices)
	g, ctx := errgroup.WithContext(ctx)
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	g.SetLimit(o.Workers)
	for i := range each {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			m, err := writeDisk(filepath.Join(dir, "runs"), fleet.Disk(i), f, o.Compress)
			each[i] = m
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	all := &Made{Devices: o.Devices, Sick: map[string]int{}}
	var truth, inventory [][]string
	for _, m := range each {
		truth, inventory = append(truth, m.truth), append(inventory, m.inventory)
		if m.label != "" {
			all.Sick[m.label]++
		}
		all.Requests += m.requests
		all.Bytes += m.bytes
		all.Files += m.files
	}
	for _, t := range []struct {
		name string
		head []string
		rows [][]string
	}{{"labels.csv", truthHead, truth}, {"inventory.csv", inventoryHead, inventory}} {
		var b bytes.Buffer
		if err := writeTable(&b, t.head, t.rows); err != nil {
			return nil, fmt.Errorf("generate: %s: %w", t.name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, t.name), b.Bytes(), 0o644); err != nil {
			return nil, fmt.Errorf("generate: %w", err)
		}
	}
	if f.Settings != "" {
		if err := os.WriteFile(filepath.Join(dir, "iopathy.yaml"), []byte(f.Settings), 0o644); err != nil {
			return nil, fmt.Errorf("generate: %w", err)
		}
	}
	if !f.Flat && f.Host == nil {
		if err := writePartitions(dir, fleet); err != nil {
			return nil, fmt.Errorf("generate: %w", err)
		}
	}
	return all, nil
}

// Names are those of all formats that can be written.
func Names() (all []string) {
	for _, f := range Formats() {
		all = append(all, f.Name)
	}
	slices.Sort(all)
	return all
}

// folder is where the logs of a host are: a format that tells no host has it
// from the name.
func folder(runs, host string) string { return filepath.Join(runs, "host="+host) }

// writeDisk lets a device play into its files.
func writeDisk(runs string, v *Disk, f Format, compress bool) (m made, err error) {
	host, device := f.key(v)
	name := filepath.Join(folder(runs, host), v.Name+f.Ext)
	if f.Flat {
		name = filepath.Join(runs, v.Run+f.Ext)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return m, err
	}
	m.files = max(f.Parts, 1)
	var out []*Output
	var files []io.Closer
	defer func() {
		for _, c := range slices.Backward(files) {
			if cerr := c.Close(); err == nil {
				err = cerr
			}
		}
	}()
	for part := range m.files {
		path := name
		if f.Parts > 0 {
			path += "." + strconv.Itoa(part)
		}
		if compress {
			path += ".gz"
		}
		file, err := os.Create(path)
		if err != nil {
			return m, err
		}
		files = append(files, file)
		var to io.Writer = file
		if compress {
			z, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
			if err != nil {
				return m, err
			}
			files, to = append(files, z), z
		}
		out = append(out, newOutput(to))
	}
	log := f.Open(v, out)
	m.requests = v.play(log, f.Staged, f.At)
	log.End()
	for _, o := range out {
		o.flush()
		if o.err != nil {
			return m, o.err
		}
		m.bytes += o.bytes
	}
	if f.Clock {
		if err := os.WriteFile(name+".clock", []byte("start_ns "+strconv.FormatInt(startNS, 10)+"\n"), 0o644); err != nil {
			return m, err
		}
	}
	if v.Fault != nil {
		m.label = v.Fault.Label
	}
	m.inventory = inventoryRow(v, host, device)
	m.truth, err = truthRow(v, host, device)
	return m, err
}

// writePartitions explains the numbers of devices, as a copy of /proc/partitions
// beside the logs of each host does.
func writePartitions(dir string, fleet *Fleet) error {
	tables := map[string]*strings.Builder{}
	var hosts []string
	for i := range fleet.o.Devices {
		v := fleet.Disk(i)
		t := tables[v.Host]
		if t == nil {
			t = new(strings.Builder)
			t.WriteString("major minor  #blocks  name\n\n")
			tables[v.Host], hosts = t, append(hosts, v.Host)
		}
		fmt.Fprintf(t, "%4d %8d %10d %s\n", v.Major, v.Minor, v.Law.Bytes>>10, v.Name)
	}
	for _, h := range hosts {
		path := filepath.Join(folder(filepath.Join(dir, "runs"), h), "partitions.txt")
		if err := os.WriteFile(path, []byte(tables[h].String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
