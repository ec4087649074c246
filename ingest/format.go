package ingest

import (
	"fmt"
	"sort"
	"sync"
)

// Format is one log format: what an adapter in ingest/formats provides. It is
// one file and one testdata folder of the same name. Exactly one of Line,
// Lines and Stream is set.
type Format struct {
	Name  string      // lower case, dashes
	Doc   string      // one line: which tool writes it
	Kind  LatencyKind // what its latencies span; KindSample for interval counters
	Needs string      // what the reader must supply (time base, host, unit), or ""
	Lacks string      // what it can't tell, in words

	// Sniff says how surely head (at most SniffBytes, decompressed) is of
	// this format: 0 no, 1 possible (a shape others share), 2 sure. path is a
	// hint only: logs are found by content.
	Sniff func(head []byte, path string) int

	// Group, where set, gives a key; inputs of one key form one source.
	Group func(path string) string

	// Line opens a decoder without memory between lines: blocks of an input
	// are decoded in parallel by the one value it returns.
	Line func(src *Source) (LineDecoder, error)

	// Lines opens a decoder with memory between lines (issue and completion).
	Lines func(src *Source) (LinesDecoder, error)

	// Stream opens a decoder of binary records or of JSON.
	Stream func(src *Source) (StreamDecoder, error)
}

// SniffBytes is the most of an input's head that a Sniff sees.
const SniffBytes = 4096

// Source is what is known of an input before its first line. A decoder may keep
// it; Head is not to be read after the input's end.
type Source struct {
	Path    string // as given; for messages and for names in it, never for content
	ID      string // 32 hex digits: the input's identity
	Head    []byte // the first decompressed bytes, at most SniffBytes, without a byte order mark
	Host    string // host for rows whose content names none; never empty
	Options Options
}

// LineDecoder decodes one line without memory. It must not keep line, must be
// safe for concurrent use with different outs, and must give the line one
// fate: through out.Event, out.Sample, out.Evidence, out.Note or out.Reject.
type LineDecoder interface {
	Line(line []byte, out *Out)
}

// LinesDecoder decodes lines in their order. Fates may be given later (a
// queued I/O becomes an event when it completes): End settles what is open.
// The names of out start anew with each chunk: what a decoder keeps from line
// to line is text, never a Name.
type LinesDecoder interface {
	Line(line []byte, out *Out)
	End(out *Out)
}

// StreamDecoder takes what it can of block, the input's next bytes, and says
// how many it took; the rest comes again with more behind it. final says
// that nothing follows. out.Position and out.Lineno stand at block[0]. It
// counts its own lines (records) by out.Tally.Lines. It should stop before a
// record that begins at or beyond out.Limit, the end of the chunk, so that a
// record stands in the chunk in which it begins; one call may take no record at
// all. As for lines, what it keeps from call to call is text, never a Name.
type StreamDecoder interface {
	Decode(block []byte, final bool, out *Out) (took int)
	End(out *Out)
}

// MaxLine bounds a line in bytes; a longer one is a reject ("line-too-long").
const MaxLine = 1 << 20

// MaxRecord bounds what a StreamDecoder may leave untaken in bytes.
const MaxRecord = 64 << 20

var shelf struct {
	sync.Mutex
	byName map[string]Format
}

// Register puts a format on the shelf. Each adapter calls it once, from a
// package-level variable of its own file; a second format of one name or one
// without exactly one decoder is a bug of the caller and panics.
func Register(f Format) Format {
	n := 0
	for _, set := range []bool{f.Line != nil, f.Lines != nil, f.Stream != nil} {
		if set {
			n++
		}
	}
	if f.Name == "" || f.Doc == "" || f.Sniff == nil || n != 1 {
		panic(fmt.Sprintf("ingest: format %q needs a name, a doc, a sniff and exactly one decoder", f.Name))
	}
	shelf.Lock()
	defer shelf.Unlock()
	if shelf.byName == nil {
		shelf.byName = make(map[string]Format)
	}
	if _, dup := shelf.byName[f.Name]; dup {
		panic(fmt.Sprintf("ingest: format %q registered twice", f.Name))
	}
	shelf.byName[f.Name] = f
	return f
}

// Formats gives the registered formats by name.
func Formats() []Format {
	shelf.Lock()
	defer shelf.Unlock()
	all := make([]Format, 0, len(shelf.byName))
	for _, f := range shelf.byName {
		all = append(all, f)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}
