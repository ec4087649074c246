package ingest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// IdentityBytes is the most of an input that its identity is taken from.
const IdentityBytes = 64 << 10

// Identity is the ID of an input whose first decompressed bytes, at most
// IdentityBytes, are head: 32 hex digits of their SHA-256. With len(head) it
// tells a grown, renamed or recompressed copy again.
func Identity(head []byte) string {
	sum := sha256.Sum256(head)
	return hex.EncodeToString(sum[:16])
}

// Identify gives the identity of an input without reading it whole: that of
// the first n bytes of its Head, of all of it if n is 0. bytes is how many it
// has of these.
func Identify(in Input, o Options, n int) (id string, bytes int, err error) {
	head, err := Head(in, o)
	if err != nil {
		return "", 0, err
	}
	if n > 0 {
		head = head[:min(n, len(head))]
	}
	return Identity(head), len(head), nil
}

// FormatNamed gives the format of a name; the error lists the names there are.
func FormatNamed(name string) (Format, error) {
	var names []string
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Format{}, fmt.Errorf("ingest: no format %q; there are: %s", name, strings.Join(names, ", "))
}

// Choose gives the one format that claims head most surely, or the problem in
// words: nothing claims it, or several do.
func Choose(head []byte, path string) (f Format, problem string) {
	if len(head) == 0 {
		return Format{}, "empty"
	}
	if what := kindOf(head, true); what != "" { // a zip archive may hold lines as they are
		return Format{}, what
	}
	best := 0
	var claim []Format
	for _, f := range Formats() {
		switch s := f.Sniff(head, path); {
		case s <= 0 || s < best:
		case s == best:
			claim = append(claim, f)
		default:
			best, claim = s, append(claim[:0], f)
		}
	}
	switch len(claim) {
	case 1:
		return claim[0], ""
	case 0:
		if what := kindOf(head, false); what != "" {
			return Format{}, what
		}
		return Format{}, "no format claims this input; say --format if you know it"
	}
	var names []string
	for _, f := range claim {
		names = append(names, f.Name)
	}
	return Format{}, "these formats claim this input: " + strings.Join(names, ", ") + "; say --format"
}

// kinds are files that are no logs, by magic bytes at an offset, and what to
// tell whoever handed one in.
var kinds = []struct {
	at    int
	magic string
	words string
}{
	{0, "\x89PNG\r\n\x1a\n", "a picture (PNG), not a log"},
	{0, "\xff\xd8\xff", "a picture (JPEG), not a log"},
	{0, "GIF8", "a picture (GIF), not a log"},
	{0, "BM", "a picture (BMP), not a log"},
	{0, "II*\x00", "a picture (TIFF), not a log"},
	{0, "MM\x00*", "a picture (TIFF), not a log"},
	{8, "WEBP", "a picture (WebP), not a log"},
	{8, "WAVE", "a sound (WAV), not a log"},
	{4, "ftyp", "a film or picture (MP4, HEIF), not a log"},
	{0, "%PDF-", "a PDF document, not a log"},
	{0, "\x7fELF", "a program (ELF), not a log"},
	{0, "MZ", "a program (Windows), not a log"},
	{0, "PAR1", "a Parquet file, not a log"},
	{0, "SQLite format 3\x00", "an SQLite database, not a log"},
	{0, "PK\x03\x04", "a zip archive (or office document): unpack it first"},
	{0, "7z\xbc\xaf\x27\x1c", "a 7-Zip archive: unpack it first"},
	{0, "\xfd7zXZ\x00", "compressed twice: unpack it first"},
	{0, "BZh", "compressed twice: unpack it first"},
	{0, "\x04\x22\x4d\x18", "compressed twice: unpack it first"},
	{0, "\x1f\x8b", "compressed twice: unpack it first"},
	{0, "\x28\xb5\x2f\xfd", "compressed twice: unpack it first"},
	{257, "ustar", "a tar archive within another input, or a damaged one: unpack it first"},
	{0, "\x5d\x00\x00", "an .lzma file: unpack it first"},
	{0, "LZIP\x01", "an .lz file: unpack it first"},
	{0, "\x89LZO\x00", "an .lzo file: unpack it first"},
	{0, "\x1f\x9d", "a .Z file of compress: unpack it first"},
	{0, "Rar!\x1a\x07", "a RAR archive: unpack it first"},
	{0, "\xff\x06\x00\x00sNaPpY", "a framed snappy stream: unpack it first"},
	{0, "PERFILE2", "binary data of perf record: run perf script -i FILE and read what it prints"},
	{0, "\x17\x08\x44tracing", "binary data of trace-cmd record: run trace-cmd report -i FILE and read what it prints"},
	{0, "LPKSHHRH", "binary data of systemd's journal: run journalctl -k -o short-iso-precise --file FILE and read what it prints"},
	{0, "\x0a\x0d\x0d\x0a", "captured packets (pcapng), not a log"},
	{0, "\xd4\xc3\xb2\xa1", "captured packets (pcap), not a log"},
	{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an office document: save it as CSV"},
	{0, "\x96\xd5", "binary data of sysstat's sadc: run sadf -j FILE -- -d and read what it prints"},
	{0, "\xd5\x96", "binary data of sysstat's sadc, of a big-endian machine: run sadf -j FILE -- -d there and read what it prints"},
	{0, "\xff\xfe", "UTF-16 text that does not begin with a sign of ASCII: convert it to UTF-8"},
	{0, "\xfe\xff", "UTF-16 text that does not begin with a sign of ASCII: convert it to UTF-8"},
}

// kindOf says what a file that no format claims is, "" if it is text; sure asks
// for what its magic bytes alone tell, since no text begins with them.
func kindOf(head []byte, sure bool) string {
	nul := bytes.IndexByte(head, 0) >= 0
	for _, k := range kinds {
		if len(head) < k.at+len(k.magic) || string(head[k.at:k.at+len(k.magic)]) != k.magic {
			continue
		}
		if sure && (len(k.magic) < 3 || k.at > 0 && !nul || k.at == 0 && !strings.ContainsFunc(k.magic, notText)) {
			continue
		}
		if len(k.magic) > 2 || nul { // two letters alone may begin a text
			return k.words
		}
	}
	if sure {
		return ""
	}
	if nul {
		return "binary data of a kind that no format claims, not a log"
	}
	return ""
}

// notText says whether a byte of a magic is none that a line of text begins with.
func notText(r rune) bool { return r < ' ' || r > '~' }

// FormatOf gives the one format that claims an input, by its head; the zero
// Format, and the problem in words, if there is none.
func FormatOf(in Input, o Options) (Format, string) {
	members := in.Members
	if len(members) == 0 {
		members = []Input{in}
	}
	problem := "empty"
	for _, m := range members {
		p, err := openPart(m, o.filled(), IdentityBytes)
		if err != nil {
			return Format{}, err.Error()
		}
		var f Format
		f, _, problem, err = o.pick(sniffed(p.head), &m)
		if err != nil {
			problem = err.Error()
		}
		n := len(p.head)
		p.close()
		if n > 0 {
			return f, problem
		}
	}
	return Format{}, problem
}

// Score is how surely a format, or a mapping, claims an input.
type Score struct {
	Format  string `json:"format"`
	Mapping string `json:"mapping,omitempty"` // a mapping stands before every format
	Sure    int    `json:"sure"`              // see Format.Sniff
}

// Scores lists what claims an input, the surest first: mappings, then formats.
func Scores(in Input, o Options) ([]Score, error) {
	o = o.filled()
	p, err := openPart(in, o, IdentityBytes)
	if err != nil {
		return nil, fmt.Errorf("ingest: reading %s: %w", in.Path, err)
	}
	defer p.close()
	head := sniffed(p.head)
	var all []Score
	for i := range o.Mappings {
		if m := &o.Mappings[i]; (m.Layout == "parquet") == in.Table && m.Claims(head, in.Path) {
			all = append(all, Score{Format: m.format(), Mapping: m.Name, Sure: 2})
		}
	}
	mappings := len(all)
	for _, f := range Formats() {
		if s := f.Sniff(head, in.Path); s > 0 && len(head) > 0 {
			all = append(all, Score{Format: f.Name, Sure: s})
		}
	}
	slices.SortStableFunc(all[mappings:], func(a, b Score) int { return cmp.Compare(b.Sure, a.Sure) })
	return all, nil
}
