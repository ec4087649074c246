package generate

import (
	"io"
	"strconv"

	"github.com/iopathy/iopathy/ingest"
)

// Format writes the requests of one device as a tool would have.
type Format struct {
	Name   string // of the ingest format
	Ext    string // of a log's name
	Parts  int    // files of a log; 0: one. More than one are told apart by their number behind Ext
	Staged bool   // its lines are stages, in the order of time
	Flat   bool   // logs are runs/RUN.Ext, whatever their host
	Clock  bool   // stamps count from startNS, which a clock file beside the log tells
	Device func(v *Disk) string
	Open   func(v *Disk, out []*Output) Log // one Output a part
}

// Log is a Sink that is told its end.
type Log interface {
	Sink
	End()
}

// Formats are all that can be written, by name.
func Formats() []Format {
	return []Format{blkparseFormat, eventCSVFormat, msrFormat}
}

// formatNamed finds a format.
func formatNamed(name string) (Format, bool) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}

// Output is a file in the making. A log appends to Text and then says so by
// Written, which empties it when there is enough.
type Output struct {
	Text  []byte
	to    io.Writer
	bytes int64
	err   error
}

// outputBytes is what is written at once.
const outputBytes = 256 << 10

func newOutput(to io.Writer) *Output {
	return &Output{Text: make([]byte, 0, outputBytes+64<<10), to: to}
}

// Written tells that text was appended.
func (o *Output) Written(text []byte) {
	if o.Text = text; len(text) >= outputBytes {
		o.flush()
	}
}

func (o *Output) flush() {
	o.bytes += int64(len(o.Text))
	if o.err == nil {
		_, o.err = o.to.Write(o.Text)
	}
	o.Text = o.Text[:0]
}

const sector = 512

// padded appends v after blanks, in width columns or more.
func padded(b []byte, v int64, width int) []byte {
	n := 1
	for p := int64(10); n < width && v >= p; p *= 10 {
		n++
	}
	for ; n < width; n++ {
		b = append(b, ' ')
	}
	return strconv.AppendInt(b, v, 10)
}

// text appends s after blanks, in width columns or more.
func text(b []byte, s string, width int) []byte {
	for n := len(s); n < width; n++ {
		b = append(b, ' ')
	}
	return append(b, s...)
}

// fraction appends the lowest digits of v, with zeros in front.
func fraction(b []byte, v int64, digits int) []byte {
	n := len(b) + digits
	for range digits {
		b = append(b, '0')
	}
	for i := n - 1; v > 0 && i >= n-digits; i-- {
		b[i] = byte('0' + v%10)
		v /= 10
	}
	return b
}

// seconds appends ns as seconds with 9, 6, ... digits behind the point.
func seconds(b []byte, ns int64, digits int) []byte {
	b = strconv.AppendInt(b, ns/1e9, 10)
	part := ns % 1e9
	for i := digits; i < 9; i++ {
		part /= 10
	}
	return fraction(append(b, '.'), part, digits)
}

// rwbs is what tracepoints tell of an operation and its flags.
var rwbs = func() (words [5][32]string) {
	letters := [5]string{"N", "R", "W", "N", "D"}
	for op := range words {
		for f := range words[op] {
			flags, w := ingest.Flags(f), ""
			if flags&ingest.FlagPreflush != 0 {
				w = "F"
			}
			w += letters[op]
			for _, l := range []struct {
				flag   ingest.Flags
				letter string
			}{{ingest.FlagFUA, "F"}, {ingest.FlagReadahead, "A"}, {ingest.FlagSync, "S"}, {ingest.FlagMeta, "M"}} {
				if flags&l.flag != 0 {
					w += l.letter
				}
			}
			words[op][f] = w
		}
	}
	return words
}()

// flagLetters are the words of all flags, for the event CSV.
var flagLetters = func() (words [32]string) {
	for f := range words {
		words[f] = ingest.Flags(f).String()
	}
	return words
}()

func (r *Request) rwbs() string { return rwbs[r.Op][r.Flags&31] }

// doneCPU is where the request completes: mostly where it was asked for.
func (r *Request) doneCPU() uint8 {
	if (r.Offset>>12+r.Size>>9)&3 == 0 {
		return r.CPU ^ 1
	}
	return r.CPU
}

// theName is the device's name, for formats that tell it, or whose numbers a
// table of partitions beside the log explains.
func theName(v *Disk) string { return v.Name }
