package local

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// ReadInventory reads a CSV with the header host,device,model,rotational, and
// maybe link_bytes_per_s, bytes_per_s_limit, iops_limit, queue_limit, numa_node
// and version (in any order; other columns are ignored). rotational is 1, 0 or
// empty, version any text, the others are numbers above 0 (numa_node from 0 on)
// or empty. Errors
// name file and line.
func ReadInventory(path string) (reduce.Inventory, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1
	r.TrimLeadingSpace = true
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("inventory: %s: header: %w", path, err)
	}
	for i := range head {
		head[i] = strings.ToLower(strings.TrimSpace(head[i]))
	}
	col := func(name string) int { return slices.Index(head, name) }
	host, device, model, rot := col("host"), col("device"), col("model"), col("rotational")
	if host < 0 || device < 0 || model < 0 {
		return nil, fmt.Errorf("inventory: %s:1: want the columns host, device, model (and rotational), got %v", path, head)
	}
	inv := reduce.Inventory{}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return inv, nil
		}
		line, _ := r.FieldPos(0)
		if err != nil {
			return nil, fmt.Errorf("inventory: %s: %w", path, err)
		}
		if len(row) <= max(host, device, model) {
			return nil, fmt.Errorf("inventory: %s:%d: %d columns, want %d", path, line, len(row), len(head))
		}
		key := features.Key{Host: row[host], Device: row[device]}
		d := reduce.Device{Model: row[model]}
		if rot >= 0 && rot < len(row) {
			d.Rotational = row[rot]
			if d.Rotational != "" && d.Rotational != "0" && d.Rotational != "1" {
				return nil, fmt.Errorf("inventory: %s:%d: rotational %q is neither 0 nor 1", path, line, d.Rotational)
			}
		}
		if err := limits(&d, row, col); err != nil {
			return nil, fmt.Errorf("inventory: %s:%d: %w", path, line, err)
		}
		if old, dup := inv[key]; dup && old != d {
			return nil, fmt.Errorf("inventory: %s:%d: %s/%s stands twice and differs", path, line, key.Host, key.Device)
		}
		inv[key] = d
	}
}

// limits reads the columns that say what a device can take.
func limits(d *reduce.Device, row []string, col func(string) int) error {
	cell := func(name string) string {
		if i := col(name); i >= 0 && i < len(row) {
			return strings.TrimSpace(row[i])
		}
		return ""
	}
	for name, to := range map[string]*float64{
		"link_bytes_per_s": &d.LinkBytesPerS, "bytes_per_s_limit": &d.BytesPerSLimit, "iops_limit": &d.IOPSLimit, "queue_limit": &d.QueueLimit,
	} {
		text := cell(name)
		if text == "" {
			continue
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x > 0) || math.IsInf(x, 0) {
			return fmt.Errorf("%s %q is no number above 0", name, text)
		}
		*to = x
	}
	if text := cell("numa_node"); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return fmt.Errorf("numa_node %q is no number from 0 on", text)
		}
		d.NUMANode = strconv.FormatUint(n, 10)
	}
	d.Version = cell("version")
	return nil
}

// knownDevice is a row of the inventory that the model keeps, so that a later
// verb on the lake judges as the first one did.
type knownDevice struct {
	Host       string `json:"host"`
	Device     string `json:"device"`
	Model      string `json:"model"`
	Rotational string `json:"rotational"`

	LinkBytesPerS  float64 `json:"link_bytes_per_s,omitempty"`
	BytesPerSLimit float64 `json:"bytes_per_s_limit,omitempty"`
	IOPSLimit      float64 `json:"iops_limit,omitempty"`
	QueueLimit     float64 `json:"queue_limit,omitempty"`
	NUMANode       string  `json:"numa_node,omitempty"`
	Version        string  `json:"version,omitempty"`
}

// knownDevices is the part of an inventory that speaks of the windows, by host
// and device.
func knownDevices(inv reduce.Inventory, devices []features.Key) []knownDevice {
	var rows []knownDevice
	seen := map[features.Key]bool{}
	for _, k := range devices {
		d, ok := inv[k]
		if !ok || seen[k] {
			continue
		}
		seen[k] = true
		rows = append(rows, knownDevice{k.Host, k.Device, d.Model, d.Rotational, d.LinkBytesPerS, d.BytesPerSLimit, d.IOPSLimit, d.QueueLimit, d.NUMANode, d.Version})
	}
	slices.SortFunc(rows, func(a, b knownDevice) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device))
	})
	return rows
}

func inventoryOf(rows []knownDevice) reduce.Inventory {
	inv := make(reduce.Inventory, len(rows))
	for _, r := range rows {
		inv[features.Key{Host: r.Host, Device: r.Device}] = reduce.Device{
			Model: r.Model, Rotational: r.Rotational,
			LinkBytesPerS: r.LinkBytesPerS, BytesPerSLimit: r.BytesPerSLimit, IOPSLimit: r.IOPSLimit, QueueLimit: r.QueueLimit, NUMANode: r.NUMANode, Version: r.Version,
		}
	}
	return inv
}
