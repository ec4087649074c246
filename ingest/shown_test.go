package ingest

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
)

// encode16 is a text in UTF-16 with its mark.
func encode16(text string, big bool) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		if big {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return b
}

func TestUTF16(t *testing.T) {
	packed := func(b []byte) []byte {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		z.Write(b)
		z.Close()
		return out.Bytes()
	}
	text := "sda 1\nµs 😀 2\n" + strings.Repeat("x", 9000) + "\n"
	check := func(name string, data []byte, want, kind string) {
		t.Helper()
		for _, r := range []io.Reader{bytes.NewReader(data), iotest.OneByteReader(bytes.NewReader(data)), iotest.DataErrReader(bytes.NewReader(data))} {
			f, err := newInflow(r, DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(f)
			if err != nil || string(got) != want || f.compression != kind || f.torn != "" {
				t.Errorf("%s: %q... of %d bytes, %s, torn %q, %v", name, got[:min(len(got), 20)], len(got), f.compression, f.torn, err)
			}
			f.close()
		}
	}
	check("little-endian", encode16(text, false), text, UTF16)
	check("big-endian", encode16(text, true), text, UTF16)
	check("in gzip", packed(encode16(text, false)), text, Gzip)
	check("half a pair, half a sign", append(encode16("a", false), 0x3d, 0xd8, 'b', 0, 'c'), "a\ufffdb\ufffd", UTF16)
	check("half a pair at the end", append(encode16("a", false), 0x3d, 0xd8), "a\ufffd", UTF16)
	check("no text", []byte("\xff\xfe\x00\x00abcd"), "\xff\xfe\x00\x00abcd", Plain)
	check("UTF-8", []byte(text), text, Plain)
	check("short", []byte("\xff\xfe"), "\xff\xfe", Plain)
}

func TestUncoloured(t *testing.T) {
	check := func(line, want string) {
		t.Helper()
		if got := uncoloured([]byte(line)); string(got) != want {
			t.Errorf("%q became %q", line, got)
		}
	}
	check("plain", "plain")
	check("\x1b[32;1msda\x1b[0m 1\x1b[K", "sda 1")
	check("\x1b[m\x1b[K", "")
	check("a\x1b[2Jb", "a\x1b[2Jb") // it sets no colour
	check("a\x1b", "a\x1b")
	check("a\x1b[1", "a\x1b[1")
}

func TestSniffed(t *testing.T) {
	check := func(head, want string) {
		t.Helper()
		if got := sniffed([]byte(head)); string(got) != want {
			t.Errorf("%.40q became %.40q", head, got)
		}
	}
	hole := strings.Repeat("\x00", 9000)
	check("\xef\xbb\xbfa\n", "a\n")
	check(hole+"half\nwhole\n", "whole\n")
	check(hole+"one line", "one line")
	check(hole, hole[:SniffBytes])
	check("\x00a\n\x00b\n", "\x00a\n\x00b\n") // no text
	check("\xef\xbb\xbfa\nb\x00c\n", "a\nb\x00c\n")
	check("", "")
}
