package reports

import (
	"fmt"
	"path"
	"strings"
)

// unpackers print a packed file's content, by the end of its name.
var unpackers = map[string]string{".gz": "gzip", ".zst": "zstd", ".xz": "xz", ".bz2": "bzip2", ".lz4": "lz4"}

// Command is what prints the lines from the first to the last as they stand in
// the input, in its folder; "" where the input holds no lines, or has a name
// that is no text. Bytes of a packed input count behind its unpacking.
func (r ByteRange) Command() string {
	if !r.Lines || r.First < 0 || r.Last < r.First || r.Source == "" || strings.Map(printable, r.Source) != r.Source {
		return ""
	}
	name := "'" + strings.ReplaceAll(r.Source, "'", `'\''`) + "'"
	if strings.HasPrefix(r.Source, "-") {
		name = "./" + name
	}
	from := fmt.Sprintf("tail -c +%d", r.First+1)
	if tool, packed := unpackers[strings.ToLower(path.Ext(r.Source))]; packed {
		from = tool + " -dc " + name + " | " + from
	} else {
		from += " " + name
	}
	if r.First == r.Last {
		return from + " | head -n 1"
	}
	return fmt.Sprintf("%s | (head -c %d; head -n 1)", from, r.Last-r.First)
}
