package formats

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/ingest"
)

// EventCSV is iopathy's own exchange format: a header that names the columns,
// in any order, and a line per completed I/O.
//
//	time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error
//
// time_ns (completion), device, op and size_bytes must be there; host,
// latency_kind, depth, file and cgroup may be; other columns are passed over.
// op is a letter (R W F D) or a word (read write flush discard other), flags
// are the letters SMAUF, error is 0 or an errno of either sign. An empty cell
// is unknown. Latencies are q2c unless latency_kind says otherwise. Cells may
// be quoted as RFC 4180 has it, but must not hold a newline. Without a header
// (the format was forced) the columns are those above.
var EventCSV = ingest.Register(ingest.Format{
	Name:  "event-csv",
	Doc:   "iopathy's own CSV, a line per completed I/O",
	Kind:  ingest.KindQ2C,
	Needs: "a host for files without a host column",
	Lacks: "nothing, if all columns are there",
	Sniff: func(head []byte, _ string) int {
		if csvHeader(head) != nil {
			return 2
		}
		return 0
	},
	Line: func(src *ingest.Source) (ingest.LineDecoder, error) {
		cols := csvHeader(src.Head)
		if cols == nil {
			cols = csvOrder([]byte(csvColumns))
		}
		return &eventCSV{cols: cols, usual: slices.Equal(cols, csvOrder([]byte(csvColumns))), host: src.Host}, nil
	},
})

const csvColumns = "time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error"

// csvLastNS is the latest time that is taken: the start of the year 2200. A
// greater one is another unit or a broken number.
const csvLastNS = 7258118400_000_000_000

// csvField is what a column holds.
type csvField uint8

const (
	csvOther csvField = iota
	csvTime
	csvHost
	csvDevice
	csvPID
	csvComm
	csvOp
	csvFlags
	csvOffset
	csvSize
	csvQueue
	csvLatency
	csvError
	csvKind
	csvDepth
	csvFile
	csvCgroup
)

var csvFields = map[string]csvField{
	"time_ns": csvTime, "host": csvHost, "device": csvDevice, "pid": csvPID, "comm": csvComm, "op": csvOp,
	"flags": csvFlags, "offset_bytes": csvOffset, "size_bytes": csvSize, "queue_ns": csvQueue,
	"latency_ns": csvLatency, "error": csvError, "latency_kind": csvKind, "depth": csvDepth,
	"file": csvFile, "cgroup": csvCgroup,
}

// csvReasons names the cell that is wrong.
var csvReasons = [...]string{
	csvTime: "bad-time", csvHost: "bad-host", csvDevice: "no-device", csvPID: "bad-pid", csvComm: "bad-comm", csvOp: "bad-op",
	csvFlags: "bad-flags", csvOffset: "bad-offset", csvSize: "bad-size", csvQueue: "bad-queue",
	csvLatency: "bad-latency", csvError: "bad-error", csvKind: "bad-latency-kind", csvDepth: "bad-depth",
	csvFile: "bad-file", csvCgroup: "bad-cgroup", csvOther: "bad-cell",
}

// csvHeader reads the header in head: its first line that is neither blank nor
// a comment. It is nil if that is no header of this format.
func csvHeader(head []byte) []csvField {
	for len(head) > 0 {
		var line []byte
		line, head, _ = bytes.Cut(head, []byte{'\n'})
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if len(line) > 0 && line[0] != '#' {
			return csvOrder(line)
		}
	}
	return nil
}

// csvOrder reads a header; nil if a column that must be there is absent or one
// is there twice.
func csvOrder(line []byte) []csvField {
	if !bytes.Contains(line, []byte("time_ns")) {
		return nil
	}
	var cols []csvField
	var seen [csvCgroup + 1]bool
	rest := line
	for more := true; more; {
		cell, after, ok := csvCell(rest, nil)
		if !ok {
			return nil
		}
		more, rest = after != nil, after
		f := csvFields[strings.ToLower(string(bytes.TrimSpace(cell)))]
		if f != csvOther && seen[f] {
			return nil
		}
		seen[f] = true
		cols = append(cols, f)
	}
	if !seen[csvTime] || !seen[csvDevice] || !seen[csvOp] || !seen[csvSize] {
		return nil
	}
	return cols
}

// csvCell takes the first cell of line, unquoted into buf where needed, and
// what stands behind its comma: nil if it is the last.
func csvCell(line, buf []byte) (cell, rest []byte, ok bool) {
	if len(line) == 0 || line[0] != '"' {
		if i := bytes.IndexByte(line, ','); i >= 0 {
			return line[:i], line[i+1:], true
		}
		return line, nil, true
	}
	for i := 1; i < len(line); i++ {
		if line[i] != '"' {
			buf = append(buf, line[i])
			continue
		}
		switch {
		case i+1 == len(line):
			return buf, nil, true
		case line[i+1] == ',':
			return buf, line[i+2:], true
		case line[i+1] != '"':
			return nil, nil, false
		}
		buf = append(buf, '"')
		i++
	}
	return nil, nil, false
}

type eventCSV struct {
	cols  []csvField
	usual bool // the columns are those of csvColumns
	host  string
}

// Line decodes a line.
func (d *eventCSV) Line(line []byte, out *ingest.Out) {
	if d.usual && d.plain(line, out) {
		return
	}
	if len(line) == 0 || line[0] == '#' {
		out.Note()
		return
	}
	e := ingest.NewEvent()
	e.Kind = ingest.KindQ2C
	i := 0
	for k, f := range d.cols {
		if i < len(line) && line[i] == '"' {
			d.quoted(line, out)
			return
		}
		end := d.cell(f, line, i, &e, out)
		if end < 0 || end < len(line) && line[end] != ',' {
			d.bad(line, csvReasons[f], out)
			return
		}
		if end == len(line) && k < len(d.cols)-1 {
			d.bad(line, "few-columns", out)
			return
		}
		i = end + 1
	}
	if i <= len(line) {
		d.bad(line, "many-columns", out)
		return
	}
	d.event(line, &e, out)
}

// quoted decodes a line that has a quoted cell.
func (d *eventCSV) quoted(line []byte, out *ingest.Out) {
	e := ingest.NewEvent()
	e.Kind = ingest.KindQ2C
	var mem [256]byte
	rest := line
	for k, f := range d.cols {
		cell, after, ok := csvCell(rest, mem[:0])
		if !ok {
			d.bad(line, "bad-quote", out)
			return
		}
		if (after == nil) != (k == len(d.cols)-1) {
			d.bad(line, map[bool]string{true: "few-columns", false: "many-columns"}[after == nil], out)
			return
		}
		rest = after
		good := true
		switch f {
		case csvHost, csvDevice, csvComm, csvFile, csvCgroup, csvOther:
			good = d.text(f, cell, &e, out)
		default:
			good = d.cell(f, cell, 0, &e, out) == len(cell)
		}
		if !good {
			d.bad(line, csvReasons[f], out)
			return
		}
	}
	d.event(line, &e, out)
}

// event adds the event that the cells of a line give, if it is possible.
func (d *eventCSV) event(line []byte, e *ingest.Event, out *ingest.Out) {
	switch {
	case e.LatencyNS > e.TimeNS:
		d.bad(line, "bad-latency", out)
		return
	case e.LatencyNS > ingest.MaxLatencyNS:
		d.bad(line, "latency-over-a-day", out)
		return
	case e.OffsetBytes > math.MaxInt64-e.SizeBytes:
		d.bad(line, "bad-offset", out)
		return
	case e.Kind == ingest.KindQ2C && e.LatencyNS >= 0 && e.QueueNS > e.LatencyNS:
		d.bad(line, "bad-queue", out)
		return
	}
	if e.LatencyNS == ingest.Missing {
		e.Kind = ingest.KindNone
	}
	if e.Host == 0 {
		e.Host = out.Names.InternString(d.host)
	}
	out.Event(*e)
}

// bad rejects a line, unless it is a header that stands there again.
func (d *eventCSV) bad(line []byte, reason string, out *ingest.Out) {
	if cols := csvOrder(line); slices.Equal(cols, d.cols) {
		out.Note()
		return
	} else if cols != nil {
		reason = "other-header"
	}
	out.Reject(line, reason)
}
