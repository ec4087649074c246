package formats

import "bytes"

// cutJSON is how much of a document of JSON on one long line ends at a comma before a text
// or a key: what begins there can't be taken for the beginning of another document.
func cutJSON(long []byte) int {
	cut := 0
	within := false
	for i := 0; i < len(long); i++ {
		switch c := long[i]; {
		case within && c == '\\':
			i++
		case c == '"':
			within = !within
		case c == ',' && !within:
			if rest := bytes.TrimLeft(long[i+1:min(i+9, len(long))], " "); len(rest) > 0 && rest[0] == '"' {
				cut = i + 1
			}
		}
	}
	return cut
}

// cutObjects is how much of a list of objects on one long line ends behind an object.
func cutObjects(long []byte) int {
	if i := max(bytes.LastIndex(long, []byte(`},{"`)), bytes.LastIndex(long, []byte(`}, {"`))); i >= 0 {
		return i + 2
	}
	return 0
}
