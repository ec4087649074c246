package reports

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The command that a card prints gives the lines, and nothing else, from a
// plain file and from a packed one.
func TestCommandsPrintTheLines(t *testing.T) {
	for _, tool := range []string{"sh", "tail", "head", "gzip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("no " + tool + " on this machine")
		}
	}
	var lines []string
	var at []int64
	var text bytes.Buffer
	for i := range 20000 { // more than a pipe or a block holds
		at = append(at, int64(text.Len()))
		line := fmt.Sprintf("line %d %s\n", i, strings.Repeat("x", i%97))
		lines = append(lines, line)
		text.WriteString(line)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"a.log": text.Bytes(), "it's $HOME; `a`.log.gz": packed.Bytes(), "-rf": text.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, r := range [][2]int{{0, 0}, {0, 19999}, {7, 8}, {4711, 15000}, {19999, 19999}} {
			command := ByteRange{Source: name, Lines: true, First: at[r[0]], Last: at[r[1]]}.Command()
			sh := exec.Command("sh", "-c", command)
			sh.Dir = dir
			got, err := sh.Output()
			if want := strings.Join(lines[r[0]:r[1]+1], ""); err != nil || string(got) != want {
				t.Errorf("%s: %d bytes, want %d (%v)", command, len(got), len(want), err)
			}
		}
	}
	for _, r := range []ByteRange{{Source: "a.bin"}, {Source: "a\nb", Lines: true}, {Source: "a\u202eb", Lines: true}, {Lines: true}, {Source: "a", Lines: true, First: 5, Last: 4}} {
		if c := r.Command(); c != "" {
			t.Errorf("%+v: %q", r, c)
		}
	}
}
