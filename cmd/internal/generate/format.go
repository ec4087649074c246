package generate

import (
	"cmp"
	"io"

	"github.com/iopathy/iopathy/ingest"
)

// Format writes the requests of one device as a tool would have.
type Format struct {
	Name     string // as --format has it
	Ingest   string // the format that reads it; empty: Name
	Ext      string // of a log's name, with what stands before it
	Parts    int    // files of a log; 0: one. They are told apart by their number behind Ext
	Staged   bool   // its lines are stages, in the order of time
	At       Stage  // else its lines come at this one, Queued or Completed
	Flat     bool   // logs are runs/RUN.Ext, whatever their host
	Clock    bool   // stamps count from startNS, which a clock file beside the log tells
	Settings string // iopathy.yaml, without which the log can't be read
	Host     func(v *Disk) string
	Device   func(v *Disk) string
	Open     func(v *Disk, out []*Output) Log // one Output a part
}

// reader is the name of the ingest format that reads it.
func (f *Format) reader() string { return cmp.Or(f.Ingest, f.Name) }

// key is what ingest calls a device that this format's logs tell of.
func (f *Format) key(v *Disk) (host, device string) {
	host = v.Host
	if f.Host != nil {
		host = f.Host(v)
	}
	return host, f.Device(v)
}

// Log is a Sink that is told its end.
type Log interface {
	Sink
	End()
}

// Formats are all that can be written, by name.
func Formats() []Format {
	return []Format{
		alibabaFormat, biosnoopFormat, biosnoopBCCFormat, biosnoopBTFormat, blkparseFormat, blktraceFormat, cloudPhysicsFormat, cydoniaFormat,
		darshanFormat, dftracerFormat, eventCSVFormat, fioLogFormat, fiuFormat, fsslowerFormat, ftraceFormat, mappedCSVFormat, mappedJSONFormat,
		mqsimFormat, msrFormat, perfScriptFormat, perfTraceFormat, spcFormat, straceFormat, systorFormat, tencentFormat, traceCmdFormat, vscsiFormat,
	}
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
const outputBytes = 64 << 10

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

// alone is a host of its own for each device, for formats that tell no device
// apart from another.
func alone(v *Disk) string { return v.Host + "-" + v.Name }

// thread is a task of its own for what can wait for one request at a time: the
// n-th of the program's.
func (r *Request) thread() int64 {
	if r.Op == ingest.OpFlush {
		return 99999
	}
	return 100000 + int64(r.load)<<12 + int64(r.slot)
}
