package reports

import (
	"bytes"
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

// LabelsHeader is the first line of labels.csv.
func LabelsHeader() []byte {
	row := append([]string(nil), labelHeader...)
	for _, f := range features.Features {
		row = append(row, f.Name)
	}
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	_ = out.Write(row) // a buffer takes all
	out.Flush()
	return b.Bytes()
}

// LabelsCSV writes one row per window, in the order of the windows. Floats
// have 6 significant digits; what is unknown is empty.
func LabelsCSV(w io.Writer, in *Input) error {
	if _, err := w.Write(LabelsHeader()); err != nil {
		return err
	}
	_, err := NewDigest(in, 1, Labels{Take: func(text []byte, _ any) error {
		_, err := w.Write(text)
		return err
	}})
	return err
}

// labelText writes rows as CSV.
type labelText struct {
	host, device plainField
	words        map[string]string // of the catalogue, quoted
}

// plainField is a text that many rows share, and how it stands in them.
type plainField struct{ text, quoted string }

func (p *plainField) of(s string) string {
	if s != p.text || p.quoted == "" {
		p.text, p.quoted = s, quotedField(s)
	}
	return p.quoted
}

// quotedField is a text as encoding/csv writes it.
func quotedField(s string) string {
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	_ = out.Write([]string{s, ""})
	out.Flush()
	return string(b.Bytes()[:b.Len()-len(",\n")])
}

func (t *labelText) word(s string) string {
	q, ok := t.words[s]
	if !ok {
		if t.words == nil {
			t.words = map[string]string{}
		}
		q = quotedField(s)
		t.words[s] = q
	}
	return q
}

// append writes the row of a window.
func (t *labelText) append(b []byte, w *features.Window, d *cluster.Diagnosis, vector *features.Vector) []byte {
	b = append(b, t.host.of(d.Host)...)
	b = append(b, ',')
	b = append(b, t.device.of(d.Device)...)
	b = append(b, ',')
	b = strconv.AppendInt(b, w.StartNS, 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, w.EndNS, 10)
	b = append(b, ',')
	b = append(b, t.word(string(d.Verdict))...)
	b = append(b, ',')
	b = append(b, t.word(d.Pathology)...)
	b = append(b, ',')
	sick := d.Verdict == cluster.Sick
	if sick && d.ClassID != 0 {
		b = strconv.AppendInt(b, int64(d.ClassID), 10)
	}
	b = append(b, ',')
	b = appendDigits(b, d.Severity)
	b = append(b, ',')
	if judged(d.Verdict) {
		b = appendDigits(b, d.Confidence)
	}
	b = append(b, ',')
	if sick {
		b = append(b, t.word(d.RootCause)...)
	}
	b = append(b, ',')
	if sick && d.RootCause != "" {
		b = appendDigits(b, d.RootCauseShare)
	}
	b = append(b, ',')
	b = appendDigits(b, w.Coverage)
	for k := range features.N {
		b = append(b, ',')
		if w.Missing.Has(k) {
			b = appendDigits(b, vector[k])
		}
	}
	return append(b, '\n')
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
	var l labelRows
	l.reset(len(rows))
	for _, row := range rows {
		vector := in.vector(int(row))
		l.add(in.Windows.At(int(row)), in.Result.Diagnoses.At(int(row)), &vector)
	}
	return l.columns()
}

// labelRows are rows of the table in the making. Their memory is used again.
type labelRows struct {
	host, device, verdict, pathology, cause []string
	start, end, class                       []int64
	severity, confidence, share, coverage   []float64
	sick, hasClass, hasCause, hasConfidence []bool
	vectors                                 [features.N][]float64
	known                                   [features.N][]bool
}

// reset makes room for so many rows.
func (l *labelRows) reset(n int) {
	for _, s := range []*[]string{&l.host, &l.device, &l.verdict, &l.pathology, &l.cause} {
		*s = emptied(*s, n)
	}
	for _, s := range []*[]int64{&l.start, &l.end, &l.class} {
		*s = emptied(*s, n)
	}
	for _, s := range []*[]float64{&l.severity, &l.confidence, &l.share, &l.coverage} {
		*s = emptied(*s, n)
	}
	for _, s := range []*[]bool{&l.sick, &l.hasClass, &l.hasCause, &l.hasConfidence} {
		*s = emptied(*s, n)
	}
	for k := range features.N {
		l.vectors[k], l.known[k] = emptied(l.vectors[k], n), emptied(l.known[k], n)
	}
}

// emptied is a slice without elements and with room for n; it is never nil.
func emptied[T any](s []T, n int) []T {
	if s == nil || cap(s) < n {
		return make([]T, 0, n)
	}
	return s[:0]
}

func (l *labelRows) add(w *features.Window, d *cluster.Diagnosis, vector *features.Vector) {
	sick, judged, class, cause, pathology := d.Verdict == cluster.Sick, judged(d.Verdict), 0, "", ""
	confidence, share := 0.0, 0.0
	if judged {
		confidence = d.Confidence
	}
	if sick {
		pathology, cause, class = d.Pathology, d.RootCause, d.ClassID
		if cause != "" {
			share = d.RootCauseShare
		}
	}
	l.host, l.device, l.verdict = append(l.host, d.Host), append(l.device, d.Device), append(l.verdict, string(d.Verdict))
	l.pathology, l.cause = append(l.pathology, pathology), append(l.cause, cause)
	l.start, l.end, l.class = append(l.start, w.StartNS), append(l.end, w.EndNS), append(l.class, int64(class))
	l.severity, l.confidence = append(l.severity, d.Severity), append(l.confidence, confidence)
	l.share, l.coverage = append(l.share, share), append(l.coverage, w.Coverage)
	l.sick, l.hasConfidence = append(l.sick, sick), append(l.hasConfidence, judged)
	l.hasClass, l.hasCause = append(l.hasClass, class != 0), append(l.hasCause, cause != "")
	for k := range features.N {
		known, v := w.Missing.Has(k), 0.0
		if known {
			v = vector[k]
		}
		l.known[k], l.vectors[k] = append(l.known[k], known), append(l.vectors[k], v)
	}
}

// columns are the rows by column, until the next reset.
func (l *labelRows) columns() []Column {
	columns := []Column{
		{"host", l.host, nil}, {"device", l.device, nil},
		{"window_start_ns", l.start, nil}, {"window_end_ns", l.end, nil},
		{"verdict", l.verdict, nil}, {"pathology", l.pathology, l.sick}, {"class_id", l.class, l.hasClass},
		{"severity", l.severity, nil}, {"confidence", l.confidence, l.hasConfidence},
		{"root_cause", l.cause, l.hasCause}, {"root_cause_share", l.share, l.hasCause}, {"coverage", l.coverage, nil},
	}
	for k, f := range features.Features {
		columns = append(columns, Column{f.Name, l.vectors[k], l.known[k]})
	}
	return columns
}

// digits writes a float with 6 significant digits, so that platforms whose
// last bits differ write the same text; NaN and infinities are empty.
func digits(v float64) string { return string(appendDigits(nil, v)) }

func appendDigits(b []byte, v float64) []byte {
	switch {
	case v != v || v-v != 0:
		return b
	case v == 0:
		return append(b, '0') // not -0
	}
	return strconv.AppendFloat(b, v, 'g', 6, 64)
}
