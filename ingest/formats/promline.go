package formats

import "bytes"

// promLine is a series and its value.
type promLine struct {
	name, labels              []byte
	device, instance, uname   []byte // labels of these names (nodename), without their escapes
	series                    []byte // name and labels
	text                      []byte // the value
	value                     float64
	finite                    bool
	stamp                     []byte
	quantile, deviceAndNoMore bool
}

// parse reads NAME{LABELS} VALUE [STAMP] [# EXEMPLAR]; the reason is "" if it is one.
func (s *promLine) parse(line []byte) string {
	*s = promLine{}
	i := skipSpaceTab(line, 0)
	begin := i
	for i < len(line) && (isLetter(line[i]) || line[i] == '_' || line[i] == ':' || i > begin && line[i] >= '0' && line[i] <= '9') {
		i++
	}
	if s.name = line[begin:i]; len(s.name) == 0 {
		return "columns"
	}
	if i = skipSpaceTab(line, i); i < len(line) && line[i] == '{' {
		end := s.labelled(line, i+1)
		if end < 0 {
			return "torn-labels"
		}
		s.labels = line[i+1 : end-1]
		i = end
	}
	s.series = line[begin:i]
	i = skipSpaceTab(line, i)
	end := fieldEnd(line, i)
	if s.text = line[i:end]; end == i {
		return "columns"
	}
	if s.value, s.finite = parseFloat(s.text); !s.finite && !isNoFigure(s.text) {
		if s.value, s.finite = commaFloat(s.text); !s.finite { // of a script under a locale
			return "not-a-number"
		}
	}
	i = skipSpaceTab(line, end)
	end = fieldEnd(line, i)
	if end > i && line[i] != '#' {
		s.stamp = line[i:end]
		if i = skipSpaceTab(line, end); i < len(line) && line[i] != '#' {
			return "columns"
		}
	}
	return ""
}

// commaFloat reads a number with a decimal comma.
func commaFloat(b []byte) (float64, bool) {
	i := bytes.IndexByte(b, ',')
	if i <= 0 || len(b) > 40 || !isDecimal(b[i-1]) || bytes.IndexByte(b, '.') >= 0 {
		return 0, false
	}
	var mem [40]byte
	b = append(mem[:0], b...)
	b[i] = '.'
	return parseFloat(b)
}

// labelled reads the labels from i on and gives the index behind their brace, -1
// if there is none.
func (s *promLine) labelled(line []byte, i int) int {
	n := 0
	for {
		for i < len(line) && (isSpaceTab(line[i]) || line[i] == ',') {
			i++
		}
		if i < len(line) && line[i] == '}' {
			s.deviceAndNoMore = n == 1 && s.device != nil
			return i + 1
		}
		begin := i
		for i < len(line) && (isLetter(line[i]) || line[i] == '_' || i > begin && isDecimal(line[i])) {
			i++
		}
		key := line[begin:i]
		if i = skipSpaceTab(line, i); len(key) == 0 || i == len(line) || line[i] != '=' {
			return -1 // or a torn line, to which another is glued
		}
		if i = skipSpaceTab(line, i+1); i == len(line) || line[i] != '"' {
			return -1
		}
		i++
		begin = i
		for i < len(line) && line[i] != '"' {
			if line[i] == '\\' {
				i++
			}
			i++
		}
		if i >= len(line) {
			return -1
		}
		value := line[begin:i]
		if i = skipSpaceTab(line, i+1); i < len(line) && line[i] != ',' && line[i] != '}' {
			return -1 // another line's end is glued to it
		}
		n++
		switch string(key) {
		case "device":
			s.device = promUnescaped(value)
		case "instance":
			s.instance = promUnescaped(value)
		case "nodename":
			s.uname = promUnescaped(value)
		case "quantile":
			s.quantile = true
		}
	}
}

// promUnescaped is a label's value without its escapes, of which the exposition format
// has three.
func promUnescaped(v []byte) []byte {
	if bytes.IndexByte(v, '\\') < 0 {
		return v
	}
	text := make([]byte, 0, len(v))
	for i := 0; i < len(v); i++ {
		switch {
		case v[i] != '\\' || i+1 == len(v):
			text = append(text, v[i])
		case v[i+1] == 'n':
			text = append(text, '\n')
			i++
		default:
			text = append(text, v[i+1])
			i++
		}
	}
	return text
}

// stamped is the time that a series has of its own: ms, or seconds in OpenMetrics.
func (s *promLine) stamped() (int64, bool) {
	if ns, ok := epochTime(s.stamp); ok {
		return ns, true
	}
	v, ok := parseFloat(s.stamp)
	if !ok || v < 1e8 || v > 7e12 {
		return 0, false
	}
	if v < 7e9 {
		v *= 1e3
	}
	return int64(v*1e3) * 1000, true
}

// hostOf is the host that a series names, nil if none.
func (s *promLine) hostOf() []byte {
	if len(s.instance) == 0 {
		return nil
	}
	return promHost(s.instance)
}
