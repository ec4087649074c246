package formats

import (
	"bytes"
	"fmt"

	"github.com/iopathy/iopathy/ingest"
)

// MappedJSON reads any text of a JSON object per line whose keys a mapping of
// the settings explains. Keys of objects within it are joined by points
// (io.offset). Lists are passed over. A list of objects, one on each line, is
// read as well.
var MappedJSON = ingest.Register(ingest.Format{
	Name:  ingest.MappedJSON,
	Doc:   "any JSON lines, by a mapping of the settings (ingest.mappings)",
	Kind:  ingest.KindNone,
	Needs: "a mapping that claims it by path or keys, or is named by --format; start_ns for times since boot or a start",
	Lacks: "what the mapping has no key for; the latency kind is the mapping's (app if it says none)",
	Sniff: func([]byte, string) int { return 0 }, // a mapping claims it, before any format is asked
	Line: func(src *ingest.Source) (ingest.LineDecoder, error) {
		m, err := newMapped(src)
		if err != nil {
			return nil, err
		}
		d := &mappedJSON{mapped: m, keys: make(map[string][]int), comment: src.Mapping.Comment}
		for i := range d.acts {
			d.keys[d.acts[i].column] = append(d.keys[d.acts[i].column], i)
		}
		if len(d.acts) > 64 {
			return nil, fmt.Errorf("mapping %s: more than 64 keys", src.Mapping.Name)
		}
		return d, nil
	},
})

type mappedJSON struct {
	*mapped
	keys    map[string][]int // acts by key
	comment string
}

// Line decodes an object.
func (d *mappedJSON) Line(line []byte, out *ingest.Out) {
	b := trimBlanks(line)
	if len(b) == 0 || len(bytes.Trim(b, "[], ")) == 0 || d.comment != "" && bytes.HasPrefix(b, []byte(d.comment)) {
		out.Note()
		return
	}
	if b[0] == '[' {
		b = bytes.TrimLeft(b[1:], " \t")
	}
	if b = bytes.TrimRight(b, ",] \t"); len(b) < 2 || b[0] != '{' {
		out.Reject(line, "no-object")
		return
	}
	s := mappedScan{d: d, b: b, out: out}
	if d.record != ingest.RecordEvent {
		s.row.values = new([ingest.MaxMappedFacts]float64)
	}
	d.begin(&s.row, out)
	reason := s.object()
	if reason == "" && s.i < len(b) {
		reason = "text-behind-object"
	}
	if reason == "" {
		reason = d.finish(&s.row, out)
	}
	if reason != "" {
		out.Reject(line, reason)
	}
}

// mappedScan walks an object.
type mappedScan struct {
	d     *mappedJSON
	b     []byte
	i     int
	path  [128]byte // of the key in hand
	n     int       // its length; above 128: too long to be one of the mapping's
	depth int
	row   mappedRow
	out   *ingest.Out
}

func (s *mappedScan) blanks() {
	for s.i < len(s.b) && isBlank(s.b[s.i]) {
		s.i++
	}
}

// object takes the object at s.i.
func (s *mappedScan) object() (reason string) {
	if s.depth++; s.depth > jsonWalkDepth {
		return "nested-too-deep"
	}
	s.i++
	outer := s.n
	for first := true; ; first = false {
		s.blanks()
		if s.i < len(s.b) && s.b[s.i] == '}' && first {
			break
		}
		if s.i >= len(s.b) || s.b[s.i] != '"' {
			return "torn-object"
		}
		key, n, _ := jsonString(s.b[s.i:])
		if n == 0 {
			return "torn-object"
		}
		s.i += n
		s.blanks()
		if s.i >= len(s.b) || s.b[s.i] != ':' {
			return "torn-object"
		}
		s.i++
		s.blanks()
		key = jsonUnescaped(key)
		s.n = outer
		if s.n > 0 && s.n < len(s.path) {
			s.path[s.n] = '.'
			s.n++
		}
		if s.n+len(key) < len(s.path) {
			s.n += copy(s.path[s.n:], key)
		} else {
			s.n = len(s.path)
		}
		if reason := s.value(); reason != "" {
			return reason
		}
		s.blanks()
		if s.i >= len(s.b) || s.b[s.i] != ',' && s.b[s.i] != '}' {
			return "torn-object"
		}
		if s.b[s.i] == '}' {
			break
		}
		s.i++
	}
	s.i++
	s.n = outer
	s.depth--
	return ""
}

// value takes the value at s.i.
func (s *mappedScan) value() (reason string) {
	if s.i >= len(s.b) {
		return "torn-object"
	}
	switch s.b[s.i] {
	case '{':
		return s.object()
	case '[':
		return s.list()
	case '"':
		v, n, _ := jsonString(s.b[s.i:])
		if n == 0 {
			return "torn-object"
		}
		s.i += n
		return s.take(jsonUnescaped(v))
	}
	from := s.i
	for s.i < len(s.b) && !fioEnds(s.b[s.i]) {
		s.i++
	}
	v := s.b[from:s.i]
	if len(v) == 0 {
		return "torn-object"
	}
	if string(v) == "null" {
		v = nil
	}
	return s.take(v)
}

// take hands a value to what the mapping does with its key.
func (s *mappedScan) take(v []byte) (reason string) {
	if s.n == len(s.path) {
		return ""
	}
	for _, k := range s.d.keys[string(s.path[:s.n])] {
		if a := &s.d.acts[k]; !s.d.cell(a, v, 0, len(v), &s.row, s.out) {
			return a.reason
		}
	}
	return ""
}

// list passes over the list at s.i.
func (s *mappedScan) list() (reason string) {
	for depth := 0; s.i < len(s.b); {
		switch s.b[s.i] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '"':
			_, n, _ := jsonString(s.b[s.i:])
			if n == 0 {
				return "torn-object"
			}
			s.i += n - 1
		}
		s.i++
		if depth == 0 {
			return ""
		}
	}
	return "torn-object"
}
