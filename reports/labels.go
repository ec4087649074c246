package reports

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// labelHeader is the fixed part of the header of labels.csv; the names of the
// 12 features follow.
var labelHeader = []string{
	"host", "device", "window_start_ns", "window_end_ns", "verdict", "pathology", "class_id",
	"severity", "confidence", "root_cause", "root_cause_share", "coverage",
}

// Column is a column of a table in plain Go: Data is a []string, []int64 or
// []float64; Valid is nil where every row has a value.
type Column = struct {
	Name  string
	Data  any
	Valid []bool
}

// LabelsCSV writes one row per window, in the order of the windows. Floats
// have 6 significant digits; what is unknown is empty.
func LabelsCSV(w io.Writer, in *Input) error {
	if err := in.check(); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	row := append([]string(nil), labelHeader...)
	for _, f := range features.Features {
		row = append(row, f.Name)
	}
	if err := out.Write(row); err != nil {
		return err
	}
	for i := range in.Windows.Len() {
		win, d := in.Windows.At(i), in.Result.Diagnoses.At(i)
		row = append(row[:0], d.Host, d.Device,
			strconv.FormatInt(win.StartNS, 10), strconv.FormatInt(win.EndNS, 10),
			string(d.Verdict), d.Pathology, "", digits(d.Severity), "", "", "", digits(win.Coverage))
		if d.Verdict == cluster.Sick {
			if d.ClassID != 0 {
				row[6] = strconv.Itoa(d.ClassID)
			}
			row[9] = d.RootCause
			if d.RootCause != "" {
				row[10] = digits(d.RootCauseShare)
			}
		}
		if judged(d.Verdict) {
			row[8] = digits(d.Confidence)
		}
		vector := in.vector(i)
		for k := range features.N {
			if win.Missing.Has(k) {
				row = append(row, digits(vector[k]))
			} else {
				row = append(row, "")
			}
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// judged says whether a verdict is a judgement that has a confidence.
func judged(v cluster.Verdict) bool { return v == cluster.Healthy || v == cluster.Sick }

// LabelColumns is the table of LabelsCSV at full precision, for Parquet.
func LabelColumns(in *Input) ([]Column, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	rows := make([]int32, in.Windows.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	return LabelRows(in, rows), nil
}

// LabelRows is some rows of LabelColumns, by their numbers.
func LabelRows(in *Input, rows []int32) []Column {
	n := len(rows)
	text := make([][]string, 5) // host, device, verdict, pathology, root cause
	for k := range text {
		text[k] = make([]string, n)
	}
	start, end, class := make([]int64, n), make([]int64, n), make([]int64, n)
	severity, confidence, share, coverage := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	sick, hasClass, hasCause, hasConfidence := make([]bool, n), make([]bool, n), make([]bool, n), make([]bool, n)
	vectors := make([][]float64, features.N)
	known := make([][]bool, features.N)
	for k := range vectors {
		vectors[k], known[k] = make([]float64, n), make([]bool, n)
	}
	for i, row := range rows {
		w, d := in.Windows.At(int(row)), in.Result.Diagnoses.At(int(row))
		text[0][i], text[1][i], text[2][i] = d.Host, d.Device, string(d.Verdict)
		start[i], end[i], coverage[i], severity[i] = w.StartNS, w.EndNS, w.Coverage, d.Severity
		sick[i] = d.Verdict == cluster.Sick
		hasConfidence[i] = judged(d.Verdict)
		if hasConfidence[i] {
			confidence[i] = d.Confidence
		}
		if sick[i] {
			text[3][i], text[4][i], class[i] = d.Pathology, d.RootCause, int64(d.ClassID)
			hasClass[i] = d.ClassID != 0
			if hasCause[i] = d.RootCause != ""; hasCause[i] {
				share[i] = d.RootCauseShare
			}
		}
		vector := in.vector(int(row))
		for k := range features.N {
			if known[k][i] = w.Missing.Has(k); known[k][i] {
				vectors[k][i] = vector[k]
			}
		}
	}
	columns := []Column{
		{"host", text[0], nil}, {"device", text[1], nil},
		{"window_start_ns", start, nil}, {"window_end_ns", end, nil},
		{"verdict", text[2], nil}, {"pathology", text[3], sick}, {"class_id", class, hasClass},
		{"severity", severity, nil}, {"confidence", confidence, hasConfidence},
		{"root_cause", text[4], hasCause}, {"root_cause_share", share, hasCause}, {"coverage", coverage, nil},
	}
	for k, f := range features.Features {
		columns = append(columns, Column{f.Name, vectors[k], known[k]})
	}
	return columns
}

// digits writes a float with 6 significant digits, so that platforms whose
// last bits differ write the same text; NaN and infinities are empty.
func digits(v float64) string {
	if v != v || v-v != 0 {
		return ""
	}
	if v == 0 {
		return "0" // not -0
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}
