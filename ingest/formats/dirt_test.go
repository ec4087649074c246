package formats

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// places are the parts of dumped rows that tell where a row stood.
var places = regexp.MustCompile(`(?m) @\d+( |$)`)

// TestFormatsDirt holds what editors, other systems and copying do to a text
// without changing what it says: its rows and its account stay the same.
func TestFormatsDirt(t *testing.T) {
	if testing.Short() {
		t.Skip("a decoder starts no goroutine: nothing for the race detector")
	}
	binary := map[string]bool{"blktrace": true, "vscsi": true}
	dirt := []struct {
		name string
		do   func([]byte) []byte
	}{
		{"line ends of Windows", func(b []byte) []byte {
			return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
		}},
		{"a byte order mark", func(b []byte) []byte {
			return append([]byte("\xef\xbb\xbf"), bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))...)
		}},
		{"no end of the last line", func(b []byte) []byte { return bytes.TrimRight(b, "\r\n") }},
	}
	for _, s := range shelf(t) {
		if binary[s.format.Name] || !utf8.Valid(s.data) || s.path == "testdata/sadf-json/j.log" { // its last line is torn
			continue
		}
		t.Run(strings.TrimPrefix(s.path, "testdata/"), func(t *testing.T) {
			s.o.Host = "h"
			plain := func(data []byte) (string, string) {
				s.data = data
				got := read(t, s, 1, nil)
				if got.rep.Format != s.format.Name {
					t.Errorf("read as %q: %s", got.rep.Format, got.rep.Problem)
				}
				rows, _, _ := strings.Cut("\n"+got.rows, "\nreject line")
				return places.ReplaceAllString(rows, "$1"), fates(got.rep.Tally)
			}
			data := s.data
			if bytes.HasSuffix(data, []byte("\n")) {
				data = append(bytes.TrimRight(data, "\r\n"), '\n')
			}
			rows, account := plain(data)
			for _, d := range dirt {
				r, a := plain(d.do(data))
				if r != rows || a != account {
					t.Errorf("with %s: %s\n%s\n%s", d.name, firstDifference(rows, r), account, a)
				}
			}
		})
	}
}
