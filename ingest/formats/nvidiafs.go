package formats

import (
	"bytes"
	"fmt"

	"github.com/iopathy/iopathy/ingest"
)

// NvidiaFS reads snapshots of /proc/driver/nvidia-fs/stats (GPUDirect Storage). Each
// figure is evidence of the host, named after its row and key in lower case:
// nvfs_reads_err, nvfs_reads_io_state_err, nvfs_writes_pg_cache, nvfs_ops_read,
// nvfs_active_shadow_buffer_bytes. Rows of a GPU have its address as text, and the
// two rows that old versions have for reads are one. A first line again, or a row
// that comes again, opens the next snapshot.
var NvidiaFS = ingest.Register(ingest.Format{
	Name:  "nvidia-fs",
	Doc:   "/proc/driver/nvidia-fs/stats (GPUDirect Storage), once or again and again",
	Kind:  ingest.KindNone,
	Needs: "a time before each snapshot (# EPOCH, date, zzz ***), else start_ns and interval; without either the figures stand without a time",
	Lacks: "host, devices, single I/Os; figures that the driver has switched off (IO stats: Disabled) are 0",
	Sniff: func(head []byte, _ string) int {
		if bytes.Contains(head, []byte("NVFS ")) || bytes.Contains(head, []byte("GDS Version")) || bytes.Contains(head, []byte("nvidia-fs")) && bytes.Contains(head, []byte("Bar1-map")) {
			return 2
		}
		return 0
	},
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		clock, err := newSeriesClock(src)
		if err != nil {
			return nil, fmt.Errorf("nvidia-fs: %w", err)
		}
		return &nvidiaFS{clock: clock, host: src.Host}, nil
	},
})

type nvidiaFS struct {
	clock seriesClock
	host  string
	began bool // the head of a snapshot was seen
	again bool // a snapshot was before
	timed bool // a time stood before this one
	name  []byte
}

func (d *nvidiaFS) Line(line []byte, out *ingest.Out) {
	if d.clock.glued(line, d, out) {
		return
	}
	b := trimBlanks(line)
	colon := bytes.IndexByte(b, ':')
	switch {
	case bytes.HasPrefix(b, []byte("GDS Version")), bytes.HasPrefix(b, []byte("NVFS statistics")) && !d.began:
		if d.again && !d.timed {
			d.clock.next()
		}
		d.began, d.again, d.timed = true, true, false
		out.Note()
	case d.clock.mark(b):
		d.began, d.timed = false, true
		out.Note()
	case len(b) == 0 || b[0] == '#':
		out.Note()
	case colon < 0:
		out.Note()
	case !isLetter(b[0]) || bytes.IndexByte(b[:colon], '|') >= 0:
		out.Reject(line, "no-row") // something stands before it
	default:
		d.row(b, colon, line, out)
	}
}

// row takes "Reads : err=0 io_state_err=0", "Active Shadow-Buffer (MiB): 0" and
// "GPU 0000:34:00.0 uuid:...: Registered_MiB=0".
func (d *nvidiaFS) row(b []byte, colon int, line []byte, out *ingest.Out) {
	e := ingest.Evidence{Host: out.Names.InternString(d.host)}
	if d.clock.timed {
		e.TimeNS = d.clock.timeNS
	}
	title, rest := trimBlanks(b[:colon]), trimBlanks(b[colon+1:])
	if gpu, ok := cutPrefix(b, "GPU "); ok {
		end := bytes.IndexByte(gpu, ' ')
		at := bytes.LastIndex(gpu, []byte(": "))
		if end < 0 || at < end {
			out.Note()
			return
		}
		title, rest = b[:3], trimBlanks(gpu[at+1:])
		e.Text = out.Names.Intern(gpu[:end])
	}
	if bytes.IndexByte(rest, '=') < 0 {
		x, ok := counterNumber(rest, false)
		if !ok || x < 0 {
			out.Note() // words: a version, Enabled
			return
		}
		unit := 1.0
		if mib, ok := bytes.CutSuffix(title, []byte("(MiB)")); ok {
			title, unit = trimBlanks(mib), 1<<20
		}
		d.titled(title)
		suffix := []byte(nil)
		if unit > 1 {
			suffix = []byte("bytes")
		}
		e.Name, e.Value = d.keyed(out, len(d.name), suffix), x*unit
		out.Fact(e)
		out.Count(ingest.FateEvent, "", 1)
		return
	}
	n := 0
	d.titled(title)
	stem := len(d.name)
	for len(rest) > 0 {
		end := 0
		for end < len(rest) && !isBlank(rest[end]) {
			end++
		}
		at := bytes.IndexByte(rest[:end], '=')
		x, ok := 0.0, false
		if at > 0 && at <= 40 {
			x, ok = counterNumber(rest[at+1:end], false)
		}
		if !ok || x < 0 {
			if n == 0 {
				out.Reject(line, "bad-value")
			} else {
				out.Count(ingest.FateEvent, "", 1) // what stood before the tear
			}
			return
		}
		e.Name, e.Value = d.keyed(out, stem, rest[:at]), x
		out.Fact(e)
		n++
		for end < len(rest) && isBlank(rest[end]) {
			end++
		}
		rest = rest[end:]
	}
	out.Count(ingest.FateEvent, "", 1)
}

// nvfsLetter is how a sign stands in the name of a figure.
var nvfsLetter = func() (to [256]byte) {
	for c := range to {
		switch b := byte(c); {
		case b >= 'A' && b <= 'Z':
			to[c] = b | 0x20
		case isDecimal(b) || b >= 'a' && b <= 'z':
			to[c] = b
		default:
			to[c] = '_'
		}
	}
	return to
}()

// titled begins the name of a figure with that of its row: nvfs_ROW.
func (d *nvidiaFS) titled(row []byte) {
	d.name = append(d.name[:0], "nvfs_"...)
	d.put(row)
}

// put goes on with the name; what is neither letter nor digit is an underline.
func (d *nvidiaFS) put(b []byte) {
	for _, c := range b[:min(len(b), 60)] {
		if c = nvfsLetter[c]; c != '_' || d.name[len(d.name)-1] != '_' {
			d.name = append(d.name, c)
		}
	}
}

// keyed is the name of a figure of the row whose name is the first stem bytes:
// nvfs_ROW_KEY.
func (d *nvidiaFS) keyed(out *ingest.Out, stem int, key []byte) ingest.Name {
	if d.name = d.name[:stem]; d.name[stem-1] != '_' {
		d.name = append(d.name, '_')
	}
	d.put(key)
	name := d.name
	for name[len(name)-1] == '_' { // it begins with a letter
		name = name[:len(name)-1]
	}
	return out.Names.Intern(name)
}

func (d *nvidiaFS) End(*ingest.Out) {}
