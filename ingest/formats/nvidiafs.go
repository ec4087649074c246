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
	b := trimBlanks(bytes.TrimRight(line, "\r"))
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
		suffix := ""
		if unit > 1 {
			suffix = "_bytes"
		}
		e.Name, e.Value = d.named(out, title, []byte(suffix), ""), x*unit
		out.Fact(e)
		out.Count(ingest.FateEvent, "", 1)
		return
	}
	n := 0
	for pair := range bytes.FieldsSeq(rest) {
		key, value, ok := bytes.Cut(pair, []byte("="))
		x, fine := counterNumber(value, false)
		if !ok || !fine || x < 0 || len(key) == 0 || len(key) > 40 {
			if n == 0 {
				out.Reject(line, "bad-value")
			} else {
				out.Count(ingest.FateEvent, "", 1) // what stood before the tear
			}
			return
		}
		e.Name, e.Value = d.named(out, title, key, "_"), x
		out.Fact(e)
		n++
	}
	out.Count(ingest.FateEvent, "", 1)
}

// named is the name of a figure: nvfs_ROW_KEY, what is neither letter nor digit an
// underline.
func (d *nvidiaFS) named(out *ingest.Out, row, key []byte, between string) ingest.Name {
	d.name = append(d.name[:0], "nvfs_"...)
	put := func(b []byte) {
		for _, c := range b[:min(len(b), 60)] {
			switch {
			case c >= 'A' && c <= 'Z':
				c |= 0x20
			case !isDecimal(c) && (c < 'a' || c > 'z'):
				c = '_'
			}
			if c != '_' || d.name[len(d.name)-1] != '_' {
				d.name = append(d.name, c)
			}
		}
	}
	put(row)
	put([]byte(between))
	put(key)
	return out.Names.Intern(bytes.TrimRight(d.name, "_"))
}

func (d *nvidiaFS) End(*ingest.Out) {}
