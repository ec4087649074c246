package formats

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// CgroupIO reads a cgroup's io.stat (v2: "MAJ:MIN rbytes=... wios=...") and the
// blkio files of v1 ("MAJ:MIN Read N"), snapshot behind snapshot. Samples are
// differences as for diskstats. A device without figures, which both the kernel
// and a torn snapshot print, takes no part: the next interval spans it.
//
// The rows of v1 are several splits of the same sum; Read, Write and Discard are
// taken, the others are notes. Whether they count bytes or requests only the
// file's name tells (io_service_bytes, io_serviced); else they are evidence.
var CgroupIO = ingest.Register(ingest.Format{
	Name: "cgroup-io-stat",
	Doc:  "cgroup io.stat (v2) and blkio.* totals (v1), once or again and again",
	Kind: ingest.KindSample,
	Needs: "a time before each snapshot (# EPOCH, date, zzz ***), else start_ns and interval; without either it gives counters as " +
		"evidence, no samples; v1: a file name with io_service_bytes or io_serviced",
	Lacks: "host, cgroup, what other cgroups do to the device, latency, queue depth, busy time, flushes, merges; device names (MAJ:MIN only)",
	Sniff: sniffCgroupIO,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		clock, err := newSeriesClock(src)
		if err != nil {
			return nil, fmt.Errorf("cgroup-io-stat: %w", err)
		}
		d := &cgroupIO{clock: clock, host: []byte(src.Host), device: []byte("dev:"), series: ctrSeries{apart: true}}
		d.quantity(filepath.Base(src.Path))
		return d, nil
	},
})

func sniffCgroupIO(head []byte, _ string) int {
	v2, v1, bare, other := 0, 0, 0, 0
	c := seriesClock{stamps: ioStamps{zone: time.UTC}}
	var space [4][]byte
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		tok := cutFields(line, space[:0])
		switch {
		case len(tok) == 0 || line[0] == '#':
		case isMajorMinor(tok[0]) && len(tok) == 1:
			bare++
		case isMajorMinor(tok[0]) && cgroupKey(tok[1]):
			v2++
		case isMajorMinor(tok[0]) && isMajorMinor(tok[1]):
			v2++
		case len(tok) == 3 && (isMajorMinor(tok[0]) || string(tok[0]) == "(unknown)") && blkioRow(tok[1]) != blkioNone:
			v1++
		case len(tok) == 2 && string(tok[0]) == "Total", c.mark(line):
		default:
			other++
		}
	}
	if v2+v1 > 0 && v2+v1+bare >= other {
		return 2
	}
	return 0
}

// isMajorMinor tells "254:3".
func isMajorMinor(b []byte) bool {
	_, i := scanDigits(b, 0)
	if i == 0 || i > 4 || i >= len(b) || b[i] != ':' {
		return false
	}
	_, end := scanDigits(b, i+1)
	return end > i+1 && end == len(b) && end < i+9
}

// cgroupKey tells that a field is one of io.stat's.
func cgroupKey(b []byte) bool {
	key, _, ok := bytes.Cut(b, []byte("="))
	return ok && (cgroupField(key) < ctrFields || bytes.HasPrefix(key, []byte("cost.")))
}

// cgroupField is the counter of a key, ctrFields if it is none.
func cgroupField(key []byte) ctrField {
	f := ctrFields
	switch {
	case len(key) == 0:
	case key[0] == 'r':
		f = ctrReads
	case key[0] == 'w':
		f = ctrWrites
	case key[0] == 'd':
		f = ctrDiscards
	}
	switch {
	case f == ctrFields:
	case string(key[1:]) == "bytes":
		return f - ctrReads + ctrReadBytes // the same order
	case string(key[1:]) == "ios":
		return f
	}
	return ctrFields
}

// blkioKind is a row of the blkio files of v1.
type blkioKind uint8

const (
	blkioNone blkioKind = iota
	blkioRead
	blkioWrite
	blkioDiscard
	blkioSum // Sync, Async, Total: other splits of the same, and the sum
)

func blkioRow(word []byte) blkioKind {
	switch string(word) {
	case "Read":
		return blkioRead
	case "Write":
		return blkioWrite
	case "Discard":
		return blkioDiscard
	case "Sync", "Async", "Total":
		return blkioSum
	}
	return blkioNone
}

// The four counters that every io.stat has had since Linux 4.5.
const cgroupAlways = 1<<ctrReadBytes | 1<<ctrWriteBytes | 1<<ctrReads | 1<<ctrWrites

type cgroupIO struct {
	clock  seriesClock
	host   []byte
	series ctrSeries
	read   ctrRow
	device []byte // "dev:MAJ:MIN"
	names  map[string]string

	fields [3]ctrField // v1: what Read, Write and Discard count
	names1 [3]string   // v1: their names as evidence
	text   []byte      // v1: the first row of device
	waits  bool        // v1: read holds the rows of device, not settled yet
}

// quantity tells by a file's name what the rows of v1 count.
func (d *cgroupIO) quantity(name string) {
	what := ""
	d.fields = [3]ctrField{ctrFields, ctrFields, ctrFields}
	switch {
	case strings.Contains(name, "io_service_bytes"):
		d.fields, what = [3]ctrField{ctrReadBytes, ctrWriteBytes, ctrDiscardBytes}, "io_service_bytes."
	case strings.Contains(name, "io_serviced"):
		d.fields, what = [3]ctrField{ctrReads, ctrWrites, ctrDiscards}, "io_serviced."
	case strings.Contains(name, "io_merged"):
		d.fields, what = [3]ctrField{ctrReadMerges, ctrWriteMerges, ctrDiscardMerges}, "io_merged."
	default:
		for _, w := range []string{"io_service_time", "io_wait_time", "io_queued"} {
			if strings.Contains(name, w) {
				what = w + "."
			}
		}
	}
	for i, row := range [3]string{"read", "write", "discard"} {
		d.names1[i] = "blkio." + what + row
	}
}

func (d *cgroupIO) Line(line []byte, out *ingest.Out) {
	if d.clock.glued(line, d, out) {
		return
	}
	i := skipSpaceTab(line, 0)
	end := fieldEnd(line, i)
	word := line[i:end]
	switch {
	case len(word) == 0:
		out.Note()
		return
	case isMajorMinor(word) || string(word) == "(unknown)":
		if next := skipSpaceTab(line, end); next < len(line) && line[next] >= 'A' && line[next] <= 'Z' {
			d.blkio(word, line[next:], line, out)
			return
		}
		d.settle(out)
		d.stat(line, i, out)
		return
	}
	if string(word) == "Total" { // over the devices
		out.Note()
		return
	}
	d.settle(out)
	if d.clock.mark(line) || !isDecimal(word[0]) {
		out.Note()
		return
	}
	out.Reject(line, "columns")
}

func isDecimal(c byte) bool { return c >= '0' && c <= '9' }

// fieldEnd is where the field that begins at i ends.
func fieldEnd(b []byte, i int) int {
	for i < len(b) && !isSpaceTab(b[i]) {
		i++
	}
	return i
}

// stat reads a line of io.stat. Kernels glue a device without figures to the
// next one's line: a line may hold several.
func (d *cgroupIO) stat(line []byte, i int, out *ingest.Out) {
	snap := &d.read.snap
	open, figures, reason := false, 0, ""
	for ; ; i = skipSpaceTab(line, i) {
		end, equal := i, -1
		for ; end < len(line) && !isSpaceTab(line[end]); end++ {
			if equal < 0 && line[end] == '=' {
				equal = end - i
			}
		}
		field := line[i:end]
		i = end
		if len(field) == 0 || equal < 0 && (isMajorMinor(field) || string(field) == "(unknown)") {
			if open && snap.known != 0 {
				if snap.known&cgroupAlways != cgroupAlways {
					reason = "torn"
				} else if reason == "" {
					d.device1(line, figures, out)
					figures++
				}
			}
			if len(field) == 0 {
				break
			}
			d.name(field)
			snap.known, open = 0, true
			continue
		}
		if equal < 0 {
			reason = "columns"
			continue
		}
		key, value := field[:equal], field[equal+1:]
		f := cgroupField(key)
		v, n := scanDigits(value, 0)
		switch {
		case f == ctrFields:
			d.fact(key, value, out)
		case n == 0 || n < len(value):
			reason = "not-a-number"
		case v < 0:
			reason = "impossible"
		default:
			snap.set(f, v)
		}
	}
	switch {
	case figures > 0:
	case reason != "":
		out.Reject(line, reason)
	default:
		out.Count(ingest.FateUnpaired, "no-figures", 1)
	}
}

// name keeps the device of a row.
func (d *cgroupIO) name(field []byte) {
	d.device = append(append(d.device[:0], "dev:"...), field...)
	if field[0] == '(' {
		d.device = d.device[:0]
	}
}

// device1 takes the figures of one device; before is how many the line had
// already, which gave it its fate.
func (d *cgroupIO) device1(line []byte, before int, out *ingest.Out) {
	r := &d.read
	r.lines = 1
	if before > 0 {
		r.lines = 0
	}
	if len(d.device) == 0 {
		out.Count(ingest.FateUnpaired, "unknown-device", r.lines)
		return
	}
	r.position, r.lineno, r.text = out.Position, out.Lineno, line
	d.reading(out)
}

// reading takes what was read of a device.
func (d *cgroupIO) reading(out *ingest.Out) {
	r := &d.read
	r.host, r.device = d.host, d.device
	if !d.clock.timed {
		r.snap.facts(out, out.Names.Intern(r.host), out.Names.Intern(r.device), 0, r.position)
		out.Count(ingest.FateEvent, "", r.lines)
		return
	}
	if b := d.series.base(r.host, r.device); b != nil && b.timeNS == d.clock.timeNS {
		d.clock.next()
	}
	r.timeNS = d.clock.timeNS
	d.series.add(r, out)
}

// fact keeps a figure that is no counter of I/Os (cost.*, latency targets).
func (d *cgroupIO) fact(key, value []byte, out *ingest.Out) {
	v, ok := parseFloat(value)
	if !ok || len(d.device) == 0 {
		return
	}
	name, known := d.names[string(key)]
	if !known {
		if d.names == nil {
			d.names = make(map[string]string)
		}
		if len(d.names) >= 256 {
			return
		}
		name = "io.stat." + string(key)
		d.names[string(key)] = name
	}
	e := ingest.Evidence{Host: out.Names.Intern(d.host), Device: out.Names.Intern(d.device), Name: out.Names.InternString(name), Value: v}
	if d.clock.timed {
		e.TimeNS = d.clock.timeNS
	}
	out.Fact(e)
}

// blkio reads a row of v1: the device, which half, and the number.
func (d *cgroupIO) blkio(device, rest, line []byte, out *ingest.Out) {
	end := fieldEnd(rest, 0)
	kind := blkioRow(rest[:end])
	i := skipSpaceTab(rest, end)
	v, end := scanDigits(rest, i)
	switch {
	case kind == blkioNone || i == len(rest):
		out.Reject(line, "columns")
		return
	case end == i || skipSpaceTab(rest, end) < len(rest):
		out.Reject(line, "not-a-number")
		return
	case v < 0:
		out.Reject(line, "impossible")
		return
	case device[0] == '(':
		d.settle(out)
		out.Count(ingest.FateUnpaired, "unknown-device", 1)
		return
	case kind == blkioSum:
		out.Note()
		return
	}
	r := &d.read
	k := kind - blkioRead
	f := d.fields[k]
	if same := d.waits && string(d.device[4:]) == string(device); !same || f < ctrFields && r.snap.has(f) {
		d.settle(out)
		d.name(device)
		r.snap.known, r.lines, r.position, r.lineno = 0, 0, out.Position, out.Lineno
		d.text = append(d.text[:0], line...)
		r.text = d.text
	}
	if f == ctrFields {
		e := ingest.Evidence{Host: out.Names.Intern(d.host), Device: out.Names.Intern(d.device), Name: out.Names.InternString(d.names1[k]), Value: float64(v)}
		if d.clock.timed {
			e.TimeNS = d.clock.timeNS
		}
		out.Fact(e)
		out.Count(ingest.FateEvent, "", 1)
		return
	}
	d.waits = true
	r.lines++
	r.snap.set(f, v)
}

// settle takes the rows of v1 that wait for the others of their device.
func (d *cgroupIO) settle(out *ingest.Out) {
	if d.waits {
		d.waits = false
		d.reading(out)
	}
}

func (d *cgroupIO) End(out *ingest.Out) {
	d.settle(out)
	d.series.end(out)
}
