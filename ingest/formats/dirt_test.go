package formats

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
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
		{"line ends of Windows, written twice", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\r\n")) }},
		{"two bytes a sign", func(b []byte) []byte {
			v := []byte("\xff\xfe")
			for _, u := range utf16.Encode([]rune(strings.TrimPrefix(string(b), "\ufeff"))) {
				v = append(v, byte(u), byte(u>>8))
			}
			return v
		}},
		{"colours", func(b []byte) []byte {
			return regexp.MustCompile(`(?m)^[^\x1b\r\n]+`).ReplaceAll(b, []byte("\x1b[32;1m$0\x1b[0m\x1b[K"))
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
			if s.path != "testdata/iostat/long-names.log" && s.path != "testdata/biolatency/bpftrace.log" { // their rows are of several lines
				if r, _ := plain(bytes.ReplaceAll(data, []byte("\n"), []byte("\n\n"))); byKind(r) != byKind(rows) {
					t.Errorf("with each line end doubled: %s", firstDifference(byKind(rows), byKind(r)))
				}
			}
			for _, d := range dirt {
				if d.name == "colours" && (s.format.Stream != nil || s.format.Records != nil) {
					continue // programs write these into files
				}
				r, a := plain(d.do(data))
				if r != rows || a != account {
					t.Errorf("with %s: %s\n%s\n%s", d.name, firstDifference(rows, r), account, a)
				}
			}
		})
	}
}
