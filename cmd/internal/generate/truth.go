package generate

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// parameters is what labels.csv tells of a run, by the names that the corpus has.
type parameters struct {
	Device   lawNotes       `json:"device"`
	Workload []loadNotes    `json:"workload"`
	Notes    map[string]any `json:"notes"`
	Stalls   [][2]int64     `json:"stalls_ns,omitempty"`
}

type lawNotes struct {
	Model    string  `json:"model"`
	Bytes    int64   `json:"bytes"`
	Channels int     `json:"nchan"`
	Tags     int     `json:"tags"`
	ReadUS   float64 `json:"rbase_us"`
	WriteUS  float64 `json:"wbase_us"`
	Sigma    float64 `json:"sigma"`
	LinkMBS  float64 `json:"link_bw"`
	FlushUS  float64 `json:"flush_us"`
}

type loadNotes struct {
	Comm   string  `json:"comm"`
	Rate   float64 `json:"rate,omitempty"`
	Depth  int     `json:"qd,omitempty"`
	FromNS int64   `json:"from_ns"`
	ToNS   int64   `json:"to_ns"`
}

// truthHead are the columns of labels.csv: those of a corpus of recordings, and
// host and device, by which evaluate takes it for a plain table of faults.
var truthHead = []string{"run", "label_id", "label", "device_profile", "parameters", "fault_start_ns", "fault_end_ns", "host", "device"}

// truthRow is the line of a disk whose logs are written; host and device are
// what its format calls it.
func truthRow(v *Disk, host, device string) ([]string, error) {
	p := parameters{
		Device: lawNotes{v.Law.Model, v.Law.Bytes, v.Law.Channels, v.Law.Tags, v.Law.ReadNS / 1e3, v.Law.WriteNS / 1e3, v.Law.Sigma, 1e3 / v.Law.LinkNSB, v.Law.FlushNS / 1e3},
		Notes:  map[string]any{"kind": v.Kind},
	}
	for i := range v.loads {
		l := &v.loads[i]
		p.Workload = append(p.Workload, loadNotes{l.Comm.String(), l.Rate, l.Depth, l.FromNS, l.ToNS})
	}
	label, from, to := "healthy", "", ""
	if f := v.Fault; f != nil {
		label, from, to = f.Label, strconv.FormatInt(f.FromNS, 10), strconv.FormatInt(f.ToNS, 10)
		p.Notes, p.Stalls = f.Notes, f.Stalls
	}
	notes, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return []string{v.Run, strconv.Itoa(labelOf(label)), label, v.Law.Profile, string(notes), from, to, host, device}, nil
}

// writeTable writes rows as CSV.
func writeTable(w io.Writer, head []string, rows [][]string) error {
	c := csv.NewWriter(w)
	_ = c.Write(head) // Error tells below
	_ = c.WriteAll(rows)
	if err := c.Error(); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// inventoryHead are the columns of inventory.csv.
var inventoryHead = []string{"host", "device", "model", "rotational"}

func inventoryRow(v *Disk, host, device string) []string {
	spins := "0"
	if v.Law.Rotates {
		spins = "1"
	}
	return []string{host, device, v.Law.Model, spins}
}
