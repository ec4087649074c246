package formats

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/ingest"
)

// MappedCSV reads any text of a row per line whose columns a mapping of the
// settings explains (ingest.Mapping): columns between commas, tabs, another
// character or runs of blanks, found by a header or by the order that the mapping
// gives. Cells may be quoted as RFC 4180 has it, but hold no newline. Rows of
// Parquet files come here as such a text.
var MappedCSV = ingest.Register(ingest.Format{
	Name:  ingest.MappedText,
	Doc:   "any CSV, TSV or Parquet table, by a mapping of the settings (ingest.mappings)",
	Kind:  ingest.KindNone,
	Needs: "a mapping that claims it by path or header, or is named by --format; start_ns for times since boot or a start",
	Lacks: "what the mapping has no column for; the latency kind is the mapping's (app if it says none)",
	Sniff: func([]byte, string) int { return 0 }, // a mapping claims it, before any format is asked
	Line:  openMappedCSV,
})

// mappedCSV decodes rows.
type mappedCSV struct {
	*mapped
	sep     byte
	header  []byte // as it stands in the input; nil: there is none
	from    int64  // offset of the first row
	comment string
	columns int  // of a row
	ragged  bool // rows may have others
}

func openMappedCSV(src *ingest.Source) (ingest.LineDecoder, error) {
	m, err := newMapped(src)
	if err != nil {
		return nil, err
	}
	d := &mappedCSV{mapped: m, sep: src.Mapping.Separator(), comment: src.Mapping.Comment, ragged: src.Mapping.Ragged}
	columns := src.Mapping.Columns
	if len(columns) == 0 {
		found, end, ok := src.Mapping.FindHeader(src.Head)
		if !ok {
			return nil, ingest.Refusal(noHeader(src))
		}
		columns, d.from = found, int64(end)
		line := bytes.TrimRight(src.Head[:end], "\r\n")
		d.header = bytes.Clone(line[bytes.LastIndexByte(line, '\n')+1:])
	}
	d.columns = len(columns)
	for i := range d.acts {
		a := &d.acts[i]
		if a.at = slices.Index(columns, a.column); a.at < 0 {
			return nil, fmt.Errorf("mapping %s: no column %q", src.Mapping.Name, a.column)
		}
		if slices.Index(columns[a.at+1:], a.column) >= 0 {
			return nil, ingest.Refusal(fmt.Sprintf("the mapping %s can't tell two columns %q apart", src.Mapping.Name, a.column))
		}
	}
	slices.SortStableFunc(d.acts, func(a, b mappedAct) int { return a.at - b.at })
	return d, nil
}

// noHeader says which columns the first line lacks.
func noHeader(src *ingest.Source) string {
	first := src.Mapping.Cells(firstLine(src.Head))
	var missing []string
	for _, c := range src.Mapping.Used() {
		if !slices.Contains(first, c) && !slices.Contains(missing, c) {
			missing = append(missing, c)
		}
	}
	return fmt.Sprintf("the mapping %s finds no header: the first line has no column %s", src.Mapping.Name, strings.Join(missing, ", "))
}

// Line decodes a row.
func (d *mappedCSV) Line(line []byte, out *ingest.Out) {
	if len(line) == 0 || d.header != nil && out.Position < d.from || d.comment != "" && bytes.HasPrefix(line, []byte(d.comment)) {
		out.Note()
		return
	}
	var r mappedRow
	if d.record != ingest.RecordEvent {
		r.values = new([ingest.MaxMappedFacts]float64) // on the stack
	}
	d.begin(&r, out)
	reason := ""
	if d.sep == ' ' {
		reason = d.blanks(line, &r, out)
	} else {
		reason = d.cells(line, &r, out)
	}
	if reason == "" {
		reason = d.finish(&r, out)
	}
	if reason == "" {
		return
	}
	if d.header != nil && bytes.Equal(line, d.header) {
		out.Note()
		return
	}
	out.Reject(line, reason)
}

// cells takes the cells between separators.
func (d *mappedCSV) cells(line []byte, r *mappedRow, out *ingest.Out) (reason string) {
	i, column := 0, 0 // i: where the cell of column begins
	end, next := -1, 0
	from, to := 0, 0
	cell := line
	var mem [256]byte
	for k := range d.acts {
		a := &d.acts[k]
		for end < 0 || column < a.at {
			if end >= 0 {
				if end >= len(line) {
					if d.ragged && a.field != mappedTime {
						return "" // what it lacks is not known
					}
					return "few-columns"
				}
				i = next
				column++
			}
			cell, from = line, i
			if i < len(line) && line[i] == '"' {
				var ok bool
				if cell, end, ok = mappedQuoted(line, i, d.sep, mem[:0]); !ok {
					return "bad-quote"
				}
				from, to = 0, len(cell)
			} else {
				for end = i; end < len(line) && line[end] != d.sep; end++ {
				}
				to = end
			}
			next = end + 1
		}
		if from < to && (isBlank(cell[from]) || isBlank(cell[to-1])) {
			from, to = mappedTrim(cell, from, to)
		}
		if !d.cell(a, cell, from, to, r, out) {
			return a.reason
		}
	}
	if d.ragged {
		return ""
	}
	column += mappedRest(line[end:], d.sep)
	switch {
	case column >= d.columns:
		return "many-columns"
	case column < d.columns-1:
		return "few-columns"
	}
	return ""
}

// mappedTrim takes the blanks off a cell.
func mappedTrim(b []byte, from, to int) (int, int) {
	for from < to && isBlank(b[from]) {
		from++
	}
	for from < to && isBlank(b[to-1]) {
		to--
	}
	return from, to
}

// mappedQuoted takes the quoted cell at line[i], unquoted into mem where it must
// be, and the index of the separator behind it.
func mappedQuoted(line []byte, i int, sep byte, mem []byte) (cell []byte, end int, ok bool) {
	i++
	from, doubled := i, false
	for ; i < len(line); i++ {
		if line[i] != '"' {
			if doubled {
				mem = append(mem, line[i])
			}
			continue
		}
		if i+1 < len(line) && line[i+1] == '"' {
			if !doubled {
				doubled, mem = true, append(mem, line[from:i]...)
			}
			mem = append(mem, '"')
			i++
			continue
		}
		if i+1 < len(line) && line[i+1] != sep {
			return nil, 0, false
		}
		if doubled {
			return mem, i + 1, true
		}
		return line[from:i], i + 1, true
	}
	return nil, 0, false
}

// mappedRest counts the separators in the rest of a row.
func mappedRest(b []byte, sep byte) int {
	if bytes.IndexByte(b, '"') < 0 {
		return bytes.Count(b, []byte{sep})
	}
	n, quoted := 0, false
	for _, c := range b {
		switch {
		case c == '"':
			quoted = !quoted
		case c == sep && !quoted:
			n++
		}
	}
	return n
}

// blanks takes the cells between runs of blanks.
func (d *mappedCSV) blanks(line []byte, r *mappedRow, out *ingest.Out) (reason string) {
	column, k, i := 0, 0, 0
	for {
		for i < len(line) && isBlank(line[i]) {
			i++
		}
		if i == len(line) {
			break
		}
		end := i
		for end < len(line) && !isBlank(line[end]) {
			end++
		}
		for ; k < len(d.acts) && d.acts[k].at == column; k++ {
			if !d.cell(&d.acts[k], line, i, end, r, out) {
				return d.acts[k].reason
			}
		}
		column++
		i = end
	}
	switch {
	case !d.ragged && column < d.columns:
		return "few-columns"
	case !d.ragged && column > d.columns:
		return "many-columns"
	}
	return ""
}
