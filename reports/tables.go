package reports

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/iopathy/iopathy/cluster"
)

// Table is a table of the report under a name of ours.
type Table struct {
	Name    string
	Columns []Column
}

// Tables gives the report's tables: labels (a row a window), episodes, devices,
// classes, causes (a row a class and cause), inputs (a row an input) and fates
// (a row an input and reason). Times are ns since the epoch, shares 0..1.
// All episodes stand in them, whatever the budget of the page.
func Tables(in *Input) ([]Table, error) {
	labels, err := LabelColumns(in)
	if err != nil {
		return nil, err
	}
	f, err := gather(in)
	if err != nil {
		return nil, err
	}
	return []Table{{"labels", labels}, f.episodeTable(), f.devicesTable(), f.classTable(), f.causeTable(), f.inputTable(), f.fateTable()}, nil
}

// sheet gathers the rows of a table; the types of the first row are those of
// the columns.
type sheet struct{ columns []Column }

func newSheet(example ...any) *sheet { // name, zero value, name, zero value, ...
	s := &sheet{}
	for i := 0; i+1 < len(example); i += 2 {
		c := Column{Name: example[i].(string)}
		switch example[i+1].(type) {
		case string:
			c.Data = []string{}
		case float64:
			c.Data = []float64{}
		default:
			c.Data = []int64{}
		}
		s.columns = append(s.columns, c)
	}
	return s
}

// add appends a row; a float that is no number is unknown.
func (s *sheet) add(row ...any) {
	for i, v := range row {
		c := &s.columns[i]
		known := true
		switch d := c.Data.(type) {
		case []string:
			c.Data = append(d, v.(string))
		case []float64:
			x := v.(float64)
			if known = x == x && x-x == 0; !known {
				x = 0
			}
			c.Data = append(d, x)
		case []int64:
			switch v := v.(type) {
			case int:
				c.Data = append(d, int64(v))
			case int64:
				c.Data = append(d, v)
			}
		}
		c.Valid = append(c.Valid, known)
	}
}

func (f *facts) episodeTable() Table {
	s := newSheet("host", "", "device", "", "from_ns", 0, "to_ns", 0, "pathology", "", "class_id", 0, "windows", 0, "severity", 0., "level", "",
		"confidence", 0., "sick_seconds", 0., "delayed_bytes", 0., "root_cause", "", "root_cause_share", 0., "tells", "", "evidence", "")
	for i := range f.in.Result.Episodes {
		e := &f.in.Result.Episodes[i]
		cause, share := "", 0.0
		if len(e.Causes) > 0 && e.Causes[0].Votes > 0 {
			cause, share = e.Causes[0].ID, e.Causes[0].Share
		}
		s.add(e.Host, e.Device, e.FromNS, e.ToNS, e.Pathology, e.ClassID, e.Windows, e.Severity, e.Level,
			e.Confidence, e.SickSeconds, e.DelayedBytes, cause, share, joined(f.tells(f.index[e.Key], e)), joined(e.Evidence))
	}
	return Table{"episodes", s.columns}
}

func (f *facts) devicesTable() Table {
	s := newSheet("host", "", "device", "", "latency_kind", "", "windows", 0, "healthy", 0, "idle", 0, "artefact", 0, "sick", 0, "episodes", 0, "worst_severity", 0., "level", "", "application", 0)
	for _, d := range f.devices {
		s.add(d.Host, d.Device, f.kind(d), len(d.windows), d.verdicts[cluster.Healthy], d.verdicts[cluster.Idle],
			d.verdicts[cluster.Artefact], d.verdicts[cluster.Sick], len(d.episodes), d.worst, d.level, b2i(d.above))
	}
	return Table{"devices", s.columns}
}

func (f *facts) classTable() Table {
	s := newSheet("class_id", 0, "pathology", "", "nearest", "", "score", 0., "windows", 0, "devices", 0, "purity", 0., "silhouette", 0., "deciding_features", "")
	for i := range f.in.Result.Classes {
		c := &f.in.Result.Classes[i]
		s.add(c.ID, c.Pathology, c.Nearest, c.Score, f.byClass[c.ID], len(f.classDevices[c.ID]), c.Purity, c.Silhouette, joined(deciding(c.Deciding)))
	}
	return Table{"classes", s.columns}
}

func (f *facts) causeTable() Table {
	s := newSheet("class_id", 0, "pathology", "", "cause", "", "name", "", "votes", 0, "of", 0, "share", 0., "low", 0., "high", 0.)
	for i := range f.in.Result.Classes {
		c := &f.in.Result.Classes[i]
		for _, v := range c.Causes {
			s.add(c.ID, c.Pathology, v.ID, v.Name, v.Votes, v.Of, v.Share, v.Low, v.High)
		}
	}
	return Table{"causes", s.columns}
}

func (f *facts) inputTable() Table {
	s := newSheet("input", "", "format", "", "clock", "", "sha256", "", "lines", 0, "event_lines", 0, "merged_lines", 0, "notes", 0, "rejects", 0, "unpaired", 0, "duplicate_lines", 0,
		"events", 0, "samples", 0, "ticks", 0, "evidence", 0)
	for i := range f.in.Ingest.Sources {
		v := &f.in.Ingest.Sources[i]
		s.add(v.Name, v.Format, v.Clock, v.SHA256, v.Lines, v.EventLines, v.Merged, v.Notes, v.Rejected(), v.UnpairedLines(), v.Repeats,
			v.Events, v.Samples, v.Ticks, v.Evidence)
	}
	return Table{"inputs", s.columns}
}

func (f *facts) fateTable() Table {
	s := newSheet("input", "", "sha256", "", "fate", "", "reason", "", "lines", 0)
	for i := range f.in.Ingest.Sources {
		v := &f.in.Ingest.Sources[i]
		for _, m := range []struct {
			fate   string
			counts map[string]int64
		}{{"rejected", v.Rejects}, {"unpaired", v.Unpaired}} {
			for _, r := range sortedReasons(m.counts) {
				s.add(v.Name, v.SHA256, m.fate, r, m.counts[r])
			}
		}
	}
	return Table{"fates", s.columns}
}

func joined(list []string) string {
	out := ""
	for i, s := range list {
		if i > 0 {
			out += "; "
		}
		out += s
	}
	return out
}

func (t *Table) rows() int {
	switch d := t.Columns[0].Data.(type) {
	case []string:
		return len(d)
	case []float64:
		return len(d)
	case []int64:
		return len(d)
	}
	return 0
}

// cell is a value as text; ok is false if it is unknown.
func cell(c *Column, i int) (text string, quoted, ok bool) {
	if c.Valid != nil && !c.Valid[i] {
		return "", false, false
	}
	switch d := c.Data.(type) {
	case []string:
		return d[i], true, true
	case []float64:
		s := digits(d[i])
		return s, false, s != ""
	case []int64:
		return strconv.FormatInt(d[i], 10), false, true
	}
	return "", false, false
}

// CSV writes the table with a header; floats have 6 significant digits, what
// is unknown is empty.
func (t *Table) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	row := make([]string, len(t.Columns))
	for k := range t.Columns {
		row[k] = t.Columns[k].Name
	}
	if err := out.Write(row); err != nil {
		return err
	}
	for i := range t.rows() {
		for k := range t.Columns {
			row[k], _, _ = cell(&t.Columns[k], i)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// JSON writes the table as an array of objects, an object a line; what is
// unknown is null.
func (t *Table) JSON(w io.Writer) error {
	out := bufio.NewWriter(w)
	names := make([][]byte, len(t.Columns))
	for k := range t.Columns {
		names[k], _ = json.Marshal(t.Columns[k].Name) // a string
	}
	out.WriteString("[") // errors stay until Flush
	for i := range t.rows() {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n{")
		for k := range t.Columns {
			if k > 0 {
				out.WriteByte(',')
			}
			out.Write(names[k])
			out.WriteByte(':')
			text, quoted, ok := cell(&t.Columns[k], i)
			switch {
			case !ok:
				text = "null"
			case quoted:
				b, err := json.Marshal(text)
				if err != nil {
					return fmt.Errorf("report: table %s: %w", t.Name, err)
				}
				text = string(b)
			}
			out.WriteString(text)
		}
		out.WriteByte('}')
	}
	out.WriteString("\n]\n")
	return out.Flush()
}
