package ingest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// The formats that read by a mapping.
const (
	MappedText = "mapped-csv"
	MappedJSON = "mapped-json"
)

// format is the name of the format that reads by a mapping.
func (m *Mapping) format() string {
	if m.Layout == "jsonl" {
		return MappedJSON
	}
	return MappedText
}

// reads is the format that reads by a mapping, with its time base.
func (m *Mapping) reads() (Format, error) {
	f, err := FormatNamed(m.format())
	switch m.Time.Base {
	case "boot":
		f.Clock = BaseBoot
	case "relative":
		f.Clock = BaseRelative
	}
	return f, err
}

// pick gives the format of an input, and the mapping by which it reads: what
// the options force, else the mapping that claims the input, else the format
// that does. problem says in words that there is none, or are several.
func (o *Options) pick(head []byte, in *Input) (f Format, m *Mapping, problem string, err error) {
	var claims []*Mapping
	for i := range o.Mappings {
		c := &o.Mappings[i]
		if c.Name == o.Format {
			f, err = c.reads()
			return f, c, "", err
		}
		if (c.Layout == "parquet") == in.Table && (o.Format == "" || o.Format == c.format()) && c.Claims(head, in.Path) {
			claims = append(claims, c)
		}
	}
	if o.Format == MappedText || o.Format == MappedJSON {
		if len(o.Mappings) == 1 && o.Mappings[0].format() == o.Format {
			claims = []*Mapping{&o.Mappings[0]}
		}
		if len(claims) == 0 {
			f, err = FormatNamed(o.Format)
			return f, nil, "no mapping claims this input; name one by --format", err
		}
	} else if o.Format != "" {
		f, err = FormatNamed(o.Format)
		return f, nil, "", err
	}
	switch len(claims) {
	case 0:
		f, problem = Choose(head, in.Path)
		return f, nil, problem, nil
	case 1:
		f, err = claims[0].reads()
		return f, claims[0], "", err
	}
	var names []string
	for _, c := range claims {
		names = append(names, c.Name)
	}
	return Format{}, nil, "these mappings claim this input: " + strings.Join(names, ", ") + "; say --format", nil
}

// checkFormat says whether there is a format, or a mapping, of the name that the
// options force.
func (o *Options) checkFormat() error {
	if o.Format == "" || slices.ContainsFunc(o.Mappings, func(m Mapping) bool { return m.Name == o.Format }) {
		return nil
	}
	if _, err := FormatNamed(o.Format); err != nil {
		if len(o.Mappings) > 0 {
			return fmt.Errorf("%w; and the mappings %v", err, o.Mappings)
		}
		return err
	}
	return nil
}

// mapsTable says whether a mapping may read a Parquet file at a path.
func (o *Options) mapsTable(path string) bool {
	for i := range o.Mappings {
		m := o.Mappings[i]
		if m.Layout != "parquet" {
			continue
		}
		if m.Path == "" && len(m.Header) > 0 { // its header decides
			return true
		}
		if m.Header = nil; m.Claims(nil, path) {
			return true
		}
	}
	return false
}

// Claims says whether a mapping reads an input with that head and path: all
// that it asks of them must hold. One that asks nothing is used by name only.
func (m *Mapping) Claims(head []byte, path string) bool {
	if m.Path == "" && len(m.Header) == 0 {
		return false
	}
	if m.Path != "" {
		name := filepath.ToSlash(path)
		if !strings.Contains(m.Path, "/") {
			name = filepath.Base(path)
		}
		if ok, err := filepath.Match(m.Path, name); !ok || err != nil {
			return false
		}
	}
	if len(m.Header) == 0 {
		return true
	}
	if m.Layout == "jsonl" {
		return m.claimsObject(head)
	}
	_, _, ok := m.FindHeader(head)
	return ok
}

// claimsObject looks at the first object of a head.
func (m *Mapping) claimsObject(head []byte) bool {
	for line := range bytes.Lines(head) {
		if line = bytes.TrimLeft(bytes.TrimSpace(line), "[, \t"); len(line) == 0 || line[0] != '{' {
			continue
		}
		for _, key := range m.Header {
			leaf := key[strings.LastIndexByte(key, '.')+1:]
			if !bytes.Contains(line, []byte(`"`+leaf+`"`)) {
				return false
			}
		}
		return true
	}
	return false
}

// FindHeader gives the columns of the first line of head that names all that
// the mapping uses or asks for, and the offset behind that line.
func (m *Mapping) FindHeader(head []byte) (columns []string, end int, ok bool) {
	at := 0
	for line := range bytes.Lines(head) {
		at += len(line)
		columns = m.Cells(bytes.TrimRight(line, "\r\n"))
		if !slices.ContainsFunc(m.Used(), func(c string) bool { return !slices.Contains(columns, c) }) {
			return columns, at, true
		}
	}
	return nil, 0, false
}

// Used lists the columns that rows must have.
func (m *Mapping) Used() []string {
	list := append([]string{m.Time.Column}, m.Header...)
	for _, f := range m.Fields {
		if f.Column != "" {
			list = append(list, f.Column)
		}
	}
	for _, f := range m.Facts {
		list = append(list, f.Column)
	}
	return list
}

// Cells cuts a header: without its quotes and the blanks around its names, and
// without what marks it a comment.
func (m *Mapping) Cells(line []byte) []string {
	line = bytes.TrimPrefix(line, bom)
	if m.Comment != "" {
		line = bytes.TrimLeft(bytes.TrimPrefix(line, []byte(m.Comment)), " ")
	}
	sep := m.Separator()
	var cells []string
	if sep == ' ' {
		for _, c := range bytes.Fields(line) {
			cells = append(cells, string(c))
		}
		return cells
	}
	for len(line) > 0 {
		trimmed := bytes.TrimLeft(line, " ")
		if len(trimmed) > 0 && trimmed[0] == '"' {
			if end := bytes.IndexByte(trimmed[1:], '"'); end >= 0 {
				cells = append(cells, string(trimmed[1:1+end]))
				_, line, _ = bytes.Cut(trimmed[end+2:], []byte{sep})
				continue
			}
		}
		var c []byte
		c, line, _ = bytes.Cut(line, []byte{sep})
		cells = append(cells, string(bytes.TrimSpace(c)))
	}
	return cells
}
