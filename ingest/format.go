package ingest

import (
	"fmt"
	"sort"
	"sync"
)

// Format is one log format: what an adapter in ingest/formats provides. It is
// one file and one testdata folder of the same name. Exactly one of Line,
// Lines, Stream and Records is set.
type Format struct {
	Name  string      // lower case, dashes
	Doc   string      // one line: which tool writes it
	Kind  LatencyKind // what its latencies span; KindSample for interval counters
	Needs string      // what the reader must supply (time base, host, unit), or ""
	Lacks string      // what it can't tell, in words
	Clock TimeBase    // what its stamps count from, unless a log tells more (Clocked)

	// Sniff says how surely head (at most SniffBytes, decompressed) is of
	// this format: 0 no, 1 possible (a shape others share), 2 sure, 3 surer than
	// one whose table may stand beside this format's in the same text. path is
	// a hint only: logs are found by content.
	Sniff func(head []byte, path string) int

	// Group, where set, gives a key, the path that stands for them all; inputs
	// of one key that the format claims form one source. "": it stands alone.
	// Only Records reads such a source.
	Group func(path string) string

	// Line opens a decoder without memory between lines: blocks of an input
	// are decoded in parallel by the one value it returns.
	Line func(src *Source) (LineDecoder, error)

	// Lines opens a decoder with memory between lines (issue and completion).
	Lines func(src *Source) (LinesDecoder, error)

	// Cut, where set beside Lines, says how much of the beginning of a line that is longer
	// than MaxLine may be handed to the decoder as a line of its own, 0 if that can't be
	// told. What is left is the next line. So a document of JSON may stand on one line.
	Cut func(long []byte) int

	// Stream opens a decoder of binary records or of JSON.
	Stream func(src *Source) (StreamDecoder, error)

	// Records opens a decoder of binary records with a time, of one stream of
	// bytes or of several that are read together in the order of time.
	Records func(src *Source) (RecordsDecoder, error)
}

// SniffBytes is the most of an input's head that a Sniff sees.
const SniffBytes = 4096

// Source is what is known of an input before its first line. A decoder may keep
// it; Head is not to be read after the input's end.
type Source struct {
	Path    string // as given; for messages and for names in it, never for content
	ID      string // 32 hex digits: the input's identity
	Head    []byte // the first decompressed bytes, at most SniffBytes, without a byte order mark, colours and a hole of zeros at the start
	Host    string // host for rows whose content names none; never empty
	Options Options
	Mapping *Mapping // by which the input is to be read; nil: by none

	// Heads are the first decompressed bytes, at most IdentityBytes, of each
	// member of a group, of the input itself if it is none; for Records, and
	// only until it has opened its decoder.
	Heads [][]byte
}

// Refusal is why a decoder can't read an input, in words, when that is the
// input's own fault: it stands in the report, and a run goes on.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// LineDecoder decodes one line without memory. It must not keep line, must be
// safe for concurrent use with different outs, and must give the line one
// fate: through out.Event, out.Sample, out.Evidence, out.Note or out.Reject.
type LineDecoder interface {
	Line(line []byte, out *Out)
}

// RunDecoder is a LineDecoder that also takes runs of usual lines at once: those at
// the start of data, whole lines, up to the first that it leaves to Line. It
// must do with each what Line would, moves out.Position and out.Lineno from line to
// line, and says how many bytes it took.
type RunDecoder interface {
	Run(data []byte, out *Out) (took int)
}

// What a decoder keeps is saved with a checkpoint, field by field, hidden ones too,
// and loaded into a newly opened decoder (state.go): plain data, no channels, no
// interfaces, no pointers into other values. Loaded numbers that are indices or
// bounds get a CheckState (StateChecker). TestResume in ingest/formats holds each
// format to it.

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

// RecordsDecoder takes the records of one or several members, each of which has
// its records about in the order of time, as they come in the order of all.
//
// Time is that of the record at data[0] of a member; known is false if data is
// too short to tell. What is no record has the time of the one before it.
//
// Decode takes records from run.Data, at least the first if it is whole, and says
// how many bytes it took. It stops before a record that is later than run.Until
// or that begins at or beyond run.Data[run.Room], the end of the chunk. It counts
// its records by out.Tally.Lines and out.Lineno, which is the number of the record
// at run.Data[0] and then of the one behind what was taken; out.Position, the
// offset in the member, it moves from record to record.
type RecordsDecoder interface {
	Time(member int, data []byte) (ns int64, known bool)
	Decode(run Run, out *Out) (took int)
	End(out *Out)
}

// ReadDecoder is a RecordsDecoder of which the reading of usual records needs nothing of
// the records before them: those of each member are read ahead of their turn.
type ReadDecoder interface {
	RecordsDecoder
	// Reader opens a reader of a member's next records, which shares nothing that
	// changes with the decoder or with other readers; nil if they are unusual.
	Reader(member int) RecordsReader
	// Take is Decode of records that a reader has read: the i-th stands at run.Data[0].
	Take(run Run, read RecordsReader, i int, out *Out) (took int)
}

// RecordsReader reads the records of a member that stand in some bytes.
type RecordsReader interface {
	// Read reads the whole records at the start of data, which stay until the next
	// call, and says how many bytes they are. ok is false if no usual record stands
	// behind them; else the rest is the start of one.
	Read(data []byte) (took int, ok bool)
	Len() int         // how many records
	Time(i int) int64 // of one, as the decoder's Time; negative: that has to tell
}

// Run is records of one member that are next in the order of all members.
type Run struct {
	Member int
	Data   []byte // its next bytes
	Room   int    // where in Data the chunk ends, or beyond
	Until  int64  // no other member has an earlier record than this time
	Final  bool   // nothing follows Data
}

// MaxLine bounds a line in bytes; a longer one is a reject ("line-too-long").
const MaxLine = 1 << 20

// MaxRecord bounds what a StreamDecoder or RecordsDecoder may leave untaken in bytes.
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
	for _, set := range []bool{f.Line != nil, f.Lines != nil, f.Stream != nil, f.Records != nil} {
		if set {
			n++
		}
	}
	if f.Name == "" || f.Doc == "" || f.Sniff == nil || n != 1 || f.Group != nil && f.Records == nil {
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

// HasLines says whether inputs of a registered format are text, a line a
// record: then a position in one is where a line begins.
func HasLines(format string) bool {
	shelf.Lock()
	defer shelf.Unlock()
	f := shelf.byName[format]
	return f.Line != nil || f.Lines != nil
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
