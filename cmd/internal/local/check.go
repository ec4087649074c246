package local

import (
	"context"
	"io"
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// Checked is what a reading of one input shows, with nothing stored.
type Checked struct {
	ingest.Report
	Scores   []ingest.Score   `json:"scores"`  // what claims the input
	Kinds    map[string]int64 `json:"kinds"`   // rows by what their latency spans
	Devices  map[string]int64 `json:"devices"` // rows by HOST/DEVICE, of the first checkedDevices
	More     int64            `json:"devices_not_listed"`
	Records  []map[string]any `json:"records"`  // the first, as the lake would hold them, what is not known left out
	Rejected []Rejected       `json:"rejected"` // the first
	OverAll  bool             `json:"too_many_rejects"`
	Needs    string           `json:"needs"`
	Lacks    string           `json:"lacks"`
}

// Rejected is a line that was not understood.
type Rejected struct {
	Line   int64  `json:"line"`
	Byte   int64  `json:"byte"`
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

// The bounds of what a check shows.
const (
	checkedRecords  = 10 // of each kind
	checkedRejects  = 10
	checkedDevices  = 1000
	checkedTextSize = 120
)

// Check reads the sources and tells what became of them. Nothing is written.
func (j *Job) Check(ctx context.Context, sources []string, stdin io.Reader) ([]Checked, []ingest.Skip, error) {
	inputs, skips, err := j.resolve(ctx, sources, stdin)
	if err != nil {
		return nil, nil, err
	}
	var all []Checked
	for _, in := range inputs {
		if once(in) {
			in = replay(in)
		}
		c, err := j.check(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, c)
	}
	return all, skips, nil
}

func (j *Job) check(ctx context.Context, in ingest.Input) (Checked, error) {
	c := Checked{Kinds: map[string]int64{}, Devices: map[string]int64{}, Records: []map[string]any{}, Rejected: []Rejected{}}
	var err error
	if c.Scores, err = ingest.Scores(in, j.Config.Ingest); err != nil {
		c.Scores = nil // what can't be opened is told by the reading
	}
	if c.Scores == nil {
		c.Scores = []ingest.Score{}
	}
	if c.Report, err = ingest.Read(ctx, in, j.Config.Ingest, j.workers(), c.chunk); err != nil {
		return c, err
	}
	for _, f := range ingest.Formats() {
		if f.Name == c.Format {
			c.Needs, c.Lacks = f.Needs, f.Lacks
		}
	}
	c.OverAll = float64(c.Tally.Unexpected()) > j.Config.MaxRejects*float64(c.Tally.Lines)
	return c, nil
}

// chunk takes from a chunk what a check shows.
func (c *Checked) chunk(k *ingest.Chunk) error {
	for i := range k.Events {
		e := &k.Events[i]
		c.Kinds[e.Kind.String()]++
		c.device(&k.Names, e.Host, e.Device)
	}
	for i := range k.Samples {
		c.Kinds[ingest.KindSample.String()]++
		c.device(&k.Names, k.Samples[i].Host, k.Samples[i].Device)
	}
	for i := range k.Evidence {
		c.device(&k.Names, k.Evidence[i].Host, k.Evidence[i].Device)
	}
	for _, r := range k.Rejected {
		if len(c.Rejected) < checkedRejects {
			c.Rejected = append(c.Rejected, Rejected{r.Line, r.Position, r.Reason, r.Text[:min(len(r.Text), checkedTextSize)]})
		}
	}
	c.records("event", k.EventColumns(first(len(k.Events)), "", nil, nil))
	c.records("sample", k.SampleColumns(first(len(k.Samples)), "", nil))
	c.records("evidence", k.EvidenceColumns(first(len(k.Evidence)), "", nil))
	return nil
}

// first numbers the first rows, as many as are shown.
func first(n int) []int32 {
	rows := make([]int32, min(n, checkedRecords))
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

func (c *Checked) device(names *ingest.Names, host, device ingest.Name) {
	if device == 0 {
		return
	}
	key := names.String(host) + "/" + names.String(device)
	if _, known := c.Devices[key]; !known && len(c.Devices) >= checkedDevices {
		c.More++
		return
	}
	c.Devices[key]++
}

// records adds rows of a kind, until there are enough of it.
func (c *Checked) records(kind string, cols []ingest.Column) {
	n := 0
	for _, r := range c.Records {
		if r["record"] == kind {
			n++
		}
	}
	for i := 0; n < checkedRecords && len(cols) > 0 && i < rowsOf(cols[0]); i++ {
		r := map[string]any{"record": kind}
		for _, col := range cols {
			if col.Valid == nil || col.Valid[i] {
				r[col.Name] = at(col, i)
			}
		}
		c.Records = append(c.Records, r)
		n++
	}
}

func at(c ingest.Column, i int) any {
	switch d := c.Data.(type) {
	case []int64:
		return d[i]
	case []int32:
		return d[i]
	case []float64:
		return d[i]
	case []string:
		return d[i]
	case []bool:
		return d[i]
	}
	return nil
}

// DeviceList gives the devices of a check, those with the most rows first.
func (c *Checked) DeviceList() []string {
	keys := sortedKeys(c.Devices)
	slices.SortStableFunc(keys, func(a, b string) int { return int(c.Devices[b] - c.Devices[a]) })
	return keys
}
