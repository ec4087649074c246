package formats

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/iopathy/iopathy/ingest"
)

// FioLog reads the per-I/O logs of fio: write_lat_log, write_bw_log,
// write_iops_log. One line is
//
//	time_ms, value[, value_max], ddir, bs[, offset][, prio[, issue_ns]]
//
// Which of the optional columns stand is settled once, from the input's head,
// so that its lines can be decoded in parallel.
//
// fio writes each I/O into up to five logs, which the name tells apart
// (prefix_lat.1.log, prefix_clat.1.log, ...). An I/O must be counted once, and
// whether a sibling exists can't be seen from inside a log, so the rule is: the
// lines of a lat log are events; those of slat, bw and iops logs are notes; those
// of a clat log are notes too unless the format was forced (jobs with
// disable_lat=1 leave clat logs only). Averaged lines (log_avg_msec: bs is 0)
// are notes: a mean is no I/O. Averaged bw and iops logs are those of FioRates.
var FioLog = ingest.Register(ingest.Format{
	Name: "fio-log",
	Doc:  "fio per-I/O logs (write_lat_log), all column layouts",
	Kind: ingest.KindApp,
	Needs: "a start (start_ns) unless the job set log_unix_epoch; latency_unit=us for logs of fio before 2.99 " +
		"(ns is taken unless 16 or more lines without priority all stay below 1000); format=fio-log to read clat logs or a log whose name tells no kind",
	Clock: ingest.BaseRelative,
	Lacks: "host, process, queue depth, error; the device is the log's prefix (fio:PREFIX), the offset is that in the file, times have 1 ms; " +
		"averaged lines are notes (fio-rates reads averaged bw and iops logs), and so are bw, iops and histogram logs",
	Sniff: sniffFio,
	Line:  openFio,
})

// fioKind is what a log's values are.
type fioKind uint8

const (
	fioUnknown fioKind = iota
	fioLat
	fioClat
	fioSlat
	fioBW
	fioIOPS
	fioHist
)

// fioWords are the words that tell a kind in a log's name, longest first where
// one is the end of another.
var fioWords = []struct {
	word string
	kind fioKind
}{
	{"clat_hist", fioHist}, {"slat_hist", fioHist}, {"lat_hist", fioHist},
	{"clat", fioClat}, {"slat", fioSlat}, {"lat", fioLat}, {"iops", fioIOPS}, {"bw", fioBW},
}

// fioName takes a path apart: kind and prefix of prefix_KIND.JOB.log.
func fioName(path string) (fioKind, string) {
	base := filepath.Base(path)
	kind, at, _ := fioWordOf(base)
	if kind != fioUnknown {
		return kind, strings.TrimRight(base[:at], "_-.")
	}
	for _, suffix := range []string{".gz", ".zst", ".xz", ".bz2", ".log", ".txt"} {
		base = strings.TrimSuffix(base, suffix)
	}
	return fioUnknown, base
}

// fioWordOf finds the word that tells the kind in a log's name, and where it
// begins. Any non-letter bounds it; the last such word counts.
func fioWordOf(base string) (kind fioKind, at int, word string) {
	for i := len(base) - 1; i >= 0; i-- {
		if i > 0 && isLetter(base[i-1]) {
			continue
		}
		for _, w := range fioWords {
			rest, ok := strings.CutPrefix(base[i:], w.word)
			if !ok || rest != "" && isLetter(rest[0]) {
				continue
			}
			if w.kind != fioHist && strings.HasPrefix(rest, "_hist") {
				return fioHist, i, w.word
			}
			return w.kind, i, w.word
		}
	}
	return fioUnknown, 0, ""
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// fioInflate says that a log was stored compressed (log_store_compressed).
func fioInflate(path string) bool { return strings.HasSuffix(path, ".fz") }

func sniffFio(head []byte, path string) int {
	if kind, _ := fioName(path); (kind == fioBW || kind == fioIOPS) && fioAveraged(head) {
		return 0 // fio-rates
	}
	return sniffFioRows(head, path)
}

// sniffFioRows says how surely a head is rows of any of fio's logs.
func sniffFioRows(head []byte, path string) int {
	kind, _ := fioName(path)
	if fioInflate(path) && kind != fioUnknown {
		return 2
	}
	seen, damaged := 0, 0
	var f [fioMaxColumns]int64
	for line := range bytes.Lines(head) {
		whole := bytes.HasSuffix(line, []byte("\n"))
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' || !whole && seen > 0 {
			continue
		}
		n, _, ok := fioSplit(line, &f)
		if (ok && n >= 4 || kind == fioHist && n == fioMaxColumns) &&
			(bytes.Contains(line, []byte(", ")) || kind != fioUnknown && bytes.IndexByte(line, ',') > 0) { // who took the blanks away kept the name
			seen++
		} else {
			damaged++
		}
	}
	switch {
	case seen == 0 || seen < 2*damaged || kind == fioUnknown && damaged > 0:
		return 0
	case kind == fioUnknown:
		return 1
	}
	return 2
}

// fioMaxColumns is the most that a line of a per-I/O log has.
const fioMaxColumns = 8

// fioSplit reads the columns of a line; hex has a bit for each that is written
// as 0x.... It fails on anything but non-negative integers.
func fioSplit(line []byte, f *[fioMaxColumns]int64) (n int, hex uint8, ok bool) {
	i := 0
	for {
		for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
			i++
		}
		if n == fioMaxColumns {
			return n, hex, false
		}
		start := i
		var v int64
		if i+2 < len(line) && line[i] == '0' && line[i+1]|0x20 == 'x' {
			i += 2
			start = i
			for i < len(line) && i-start < 15 {
				d := hexDigit(line[i])
				if d < 0 {
					break
				}
				v = v<<4 | int64(d)
				i++
			}
			hex |= 1 << n
		} else {
			var end int
			if v, end = scanDigits(line, i); end > i+18 {
				v = 0
				for end = i; end < i+18; end++ {
					v = v*10 + int64(line[end]-'0')
				}
			}
			i = end
		}
		if i == start {
			return n, hex, false
		}
		f[n] = v
		n++
		for i < len(line) && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r') {
			i++
		}
		if i == len(line) {
			return n, hex, true
		}
		if line[i] != ',' {
			return n, hex, false
		}
		i++
	}
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// fioLog decodes the lines of one log.
type fioLog struct {
	layout  fioLayout
	events  bool // the log's lines are events
	hist    bool
	unitNS  int64
	startNS int64
	epoch   bool // the head has stamps of the epoch
	host    string
	device  string
}

func openFio(src *ingest.Source) (ingest.LineDecoder, error) {
	kind, prefix := fioName(src.Path)
	if fioInflate(src.Path) {
		return nil, fmt.Errorf("fio-log: %s: compressed by fio (log_store_compressed): run fio --inflate-log=%s and read its output", src.Path, filepath.Base(src.Path))
	}
	forced := src.Options.Format == "fio-log"
	if kind == fioUnknown && !forced {
		return nil, fmt.Errorf("fio-log: %s: the name does not tell lat, clat, slat, bw or iops: name it PREFIX_lat.JOB.log, or force the format if its values are latencies", src.Path)
	}
	d := &fioLog{
		events:  kind == fioLat || forced && (kind == fioClat || kind == fioUnknown),
		hist:    kind == fioHist,
		unitNS:  1,
		startNS: src.Options.StartNS,
		host:    src.Host,
		device:  "fio:" + prefix,
	}
	rows, hexes, columns := fioRows(src.Head)
	smallest := true
	for i := range rows {
		smallest = smallest && rows[i][1] < 1000
		d.epoch = d.epoch || rows[i][0] >= fioEpochMS
	}
	if columns > 0 {
		d.layout = fioLayoutOf(rows, hexes, columns)
	}
	switch src.Options.LatencyUnit {
	case "ns":
	case "us":
		d.unitNS = 1000
	case "":
		// Priorities came after the change to ns. Without them, a head of which
		// nothing took a microsecond is in microseconds.
		if !d.layout.prio && smallest && len(rows) >= 16 {
			d.unitNS = 1000
		}
	default:
		return nil, fmt.Errorf("fio-log: latency unit %q: want ns or us", src.Options.LatencyUnit)
	}
	return d, nil
}

// fioEpochMS tells epoch stamps (log_unix_epoch) from times since the job's
// start: 13 digits, that is 2001 and later against 31 years of running.
const fioEpochMS = 1_000_000_000_000

func (d *fioLog) Line(line []byte, out *ingest.Out) {
	var f [fioMaxColumns]int64
	n, _, ok := fioSplit(line, &f)
	if !ok || n < 4 {
		d.odd(line, n, ok, out)
		return
	}
	if !d.events {
		out.Note()
		return
	}
	l := &d.layout
	if n != l.columns {
		out.Reject(line, "columns")
		return
	}
	ddir, bs := f[l.ddir], f[l.ddir+1]
	switch {
	case ddir > fioMaxDdir:
		out.Reject(line, "bad-op")
		return
	case bs == 0:
		out.Note() // an average over a window
		return
	case f[0] > maxStampMS || f[1] > maxLatencyNS/d.unitNS:
		out.Reject(line, "impossible")
		return
	}
	e := ingest.NewEvent()
	e.TimeNS = f[0] * 1e6
	if f[0] < fioEpochMS {
		e.TimeNS += d.startNS
	}
	e.LatencyNS = f[1] * d.unitNS
	e.Op = fioOps[ddir]
	e.SizeBytes = bs
	if l.offset > 0 {
		e.OffsetBytes = f[l.offset]
	}
	e.Kind = ingest.KindApp
	e.Host, e.Device = 1, 2 // in a batch of this log alone these are the names
	if out.Names.String(1) != d.host || out.Names.String(2) != d.device {
		e.Host, e.Device = out.Names.InternString(d.host), out.Names.InternString(d.device)
	}
	out.Event(e)
}

// OwnClock says whether the job set log_unix_epoch.
func (d *fioLog) OwnClock() (ingest.TimeBase, string) {
	if d.epoch {
		return ingest.BaseEpoch, ""
	}
	return ingest.BaseRelative, ""
}

// odd gives a fate to a line that is no row of a per-I/O log.
func (d *fioLog) odd(line []byte, n int, numbers bool, out *ingest.Out) {
	text := bytes.TrimSpace(line)
	switch {
	case len(text) == 0 || text[0] == '#':
		out.Note()
	case d.hist && n == fioMaxColumns:
		out.Note()
	case numbers:
		out.Reject(line, "columns")
	default:
		out.Reject(line, "bad-number")
	}
}

// The bounds of what can be: times of the years to 2100, a latency of a day.
const (
	maxStampMS   = 4_102_444_800_000
	maxLatencyNS = 86_400_000_000_000
)
