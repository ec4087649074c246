package formats

import (
	"bytes"
	"fmt"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/ingest"
)

// FioRates reads the bandwidth and IOPS logs of a fio job with log_avg_msec: a
// line tells one direction's rate over a window that ends at the line's stamp.
//
//	time_ms, rate[, rate_max], ddir, 0[, offset][, prio[, issue_ns]]
//
// A bw log counts KiB/s, an iops log I/Os a second. Both logs of a job are one
// source, and their windows one device's samples.
//
// fio writes nothing for a direction that moved nothing in a window: it has
// moved 0 then, and where whole windows are left out a sample says so. Logs of
// fio before 2.2, whose spans end with an I/O, are told by their stamp 0 or by
// uneven ones: there a rate holds since the line before.
//
// Stamps that fall back begin another job of the same file (per_job_logs=0).
var FioRates = ingest.Register(ingest.Format{
	Name:    "fio-rates",
	Doc:     "fio bandwidth and IOPS logs of windows (log_avg_msec), of one job together",
	Kind:    ingest.KindSample,
	Needs:   "a start (start_ns) unless the job set log_unix_epoch; names as fio gives them, PREFIX_bw.JOB.log and PREFIX_iops.JOB.log",
	Clock:   ingest.BaseRelative,
	Lacks:   "host, latency, queue depth, flushes; I/Os in a bw log alone, bytes in an iops log alone; the device is fio:PREFIX.JOB",
	Sniff:   sniffFioRates,
	Group:   fioRatesGroup,
	Records: func(src *ingest.Source) (ingest.RecordsDecoder, error) { return newFioRates(src) },
})

// fioBothWord stands for bw and iops in the path of a group.
const fioBothWord = "{bw,iops}"

// fioRatesGroup joins the bw and the iops log of a job.
func fioRatesGroup(path string) string {
	dir, base := filepath.Split(path)
	kind, at, word := fioWordOf(base)
	if kind != fioBW && kind != fioIOPS {
		return ""
	}
	return dir + base[:at] + fioBothWord + base[at+len(word):]
}

func sniffFioRates(head []byte, path string) int {
	if kind, _ := fioName(path); kind != fioBW && kind != fioIOPS || sniffFioRows(head, path) == 0 {
		return 0
	}
	if !fioAveraged(head) {
		return 0
	}
	return 2
}

// fioAveraged says that a log's lines tell windows: their block size is 0.
func fioAveraged(head []byte) bool {
	rows, hexes, columns := fioRows(head)
	if columns == 0 {
		return false
	}
	l, windows := fioLayoutOf(rows, hexes, columns), 0
	for i := range rows {
		if rows[i][l.ddir+1] == 0 {
			windows++
		}
	}
	return 4*windows >= 3*len(rows)
}

// fioBOM is the byte order mark that some editors put before a text.
const fioBOM = "\xef\xbb\xbf"

// fioDirections are the directions that have rates: read, write, trim.
const fioDirections = 3

const (
	fioMostRate  = 1 << 36 // of what can be: 64 TiB/s, 69 billion I/Os a second
	fioMostRuns  = 4096    // jobs of a file
	fioMostWaits = 4096    // windows that wait for those of the other log
	fioRunShift  = 43      // of a job's number beside a stamp in ms
)

// fioRates decodes the logs of one job.
type fioRates struct {
	members []fioRateLog
	startNS int64
	epoch   bool
	host    string
	device  string
	named   int64 // the job that name is the device of
	name    string
	count   int `state:"-"` // of the members
}

func newFioRates(src *ingest.Source) (*fioRates, error) {
	base := filepath.Base(src.Path)
	d := &fioRates{startNS: src.Options.StartNS, host: src.Host, members: make([]fioRateLog, len(src.Heads)), count: len(src.Heads)}
	kind, at, word := fioWordOf(base)
	if before, after, both := strings.Cut(base, fioBothWord); both {
		d.device = "fio:" + fioJobName(before, after)
	} else if kind == fioBW || kind == fioIOPS {
		d.device = "fio:" + fioJobName(base[:at], base[at+len(word):])
	} else {
		return nil, ingest.Refusal("fio-rates: the name does not tell bw or iops: name it PREFIX_bw.JOB.log or PREFIX_iops.JOB.log")
	}
	if len(src.Heads) > 2 {
		return nil, fmt.Errorf("fio-rates: %s: %d logs of one job, want at most a bw and an iops log", src.Path, len(src.Heads))
	}
	for i, head := range src.Heads {
		m := &d.members[i]
		m.iops = i == 1 || len(src.Heads) == 1 && kind == fioIOPS // of two names the shorter comes first
		m.last, m.gapless = -1, true
		rows, hexes, columns := fioRows(bytes.TrimPrefix(head, []byte(fioBOM)))
		if columns == 0 {
			continue
		}
		m.layout = fioLayoutOf(rows, hexes, columns)
		d.epoch = d.epoch || rows[0][0] >= fioEpochMS
		m.window, m.spans = fioWindowOf(rows)
	}
	return d, nil
}

// fioJobName names a job by what stands before and behind the kind in a log's name.
func fioJobName(before, after string) string {
	for _, suffix := range []string{".gz", ".zst", ".xz", ".bz2", ".lz4", ".log", ".txt"} {
		after = strings.TrimSuffix(after, suffix)
	}
	return strings.Trim(strings.TrimRight(before, "_-.")+after, "_-.")
}

// OwnClock says whether the job set log_unix_epoch.
func (d *fioRates) OwnClock() (ingest.TimeBase, string) {
	if d.epoch {
		return ingest.BaseEpoch, ""
	}
	return ingest.BaseRelative, ""
}

// Time gives the order of the line at data[0].
func (d *fioRates) Time(member int, data []byte) (int64, bool) {
	m := &d.members[member]
	line, _, whole := bytes.Cut(data, []byte("\n"))
	if len(data) == 0 || !whole && len(line) < 256 && !bytes.Contains(line, []byte(",")) {
		return 0, false
	}
	var f [fioMaxColumns]int64
	n, _, _ := fioSplit(line[:min(len(line), 256)], &f)
	if n < 4 || n != m.layout.columns || f[0] > maxStampMS || f[m.layout.ddir] >= fioDirections {
		return m.order(), true
	}
	run, _ := m.place(f[0], f[m.layout.ddir])
	return max(run<<fioRunShift|f[0], m.order()), true
}

func (d *fioRates) Decode(run ingest.Run, out *ingest.Out) (took int) {
	m := &d.members[run.Member]
	start := out.Position
	for took < run.Room && took < len(run.Data) {
		data := run.Data[took:]
		line, n := data, len(data)
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			line, n = data[:i], i+1
		} else if !run.Final {
			break
		}
		if took > 0 && len(d.members) > 1 {
			if at, _ := d.Time(run.Member, data); at > run.Until {
				break
			}
		}
		out.Position = start + int64(took)
		if out.Position == 0 {
			line = bytes.TrimPrefix(line, []byte(fioBOM))
		}
		out.Tally.Lines++
		d.line(run.Member, m, line, out)
		out.Lineno++
		took += n
	}
	out.Position = start + int64(took)
	return took
}

func (d *fioRates) line(member int, m *fioRateLog, line []byte, out *ingest.Out) {
	reject := func(reason string) {
		m.gapless, m.open.torn = false, true
		out.Reject(line, reason)
	}
	text := bytes.TrimSpace(line)
	var f [fioMaxColumns]int64
	n, _, ok := fioSplit(line, &f)
	l := &m.layout
	switch {
	case len(line) > ingest.MaxLine:
		reject("line-too-long")
	case len(text) == 0 || text[0] == '#':
		out.Note()
	case bytes.IndexByte(line, 0) >= 0:
		reject("nul-byte")
	case !ok:
		reject("bad-number")
	case n != l.columns:
		reject("columns")
	case f[l.ddir] > fioMaxDdir:
		reject("bad-op")
	case f[l.ddir+1] != 0:
		reject("no-window") // a single I/O
	case f[0] > maxStampMS || f[1] > fioMostRate:
		reject("impossible")
	case f[l.ddir] >= fioDirections:
		out.Note() // syncs have no rates
	default:
		run, joins := m.place(f[0], f[l.ddir])
		if run >= fioMostRuns {
			reject("too-many-runs")
			return
		}
		if !joins {
			d.closed(member, out)
			if run != m.run {
				m.run, m.last, m.gapless = run, -1, true
			}
			m.open = fioWindow{run: run, end: f[0], from: -1, torn: !m.gapless, pos: out.Position, lineno: out.Lineno}
			m.span()
		}
		m.open.lines++
		m.open.rates[f[l.ddir]], m.open.seen[f[l.ddir]] = f[1], true
	}
}

// closed ends the window in hand of a member: it becomes a sample if the other
// log has told its part, or can't any more.
func (d *fioRates) closed(member int, out *ingest.Out) {
	m := &d.members[member]
	w := m.open
	if w.lines == 0 {
		return
	}
	m.last, m.open = w.end, fioWindow{}
	switch length := w.end - w.from; {
	case w.from < 0 && w.end > 0:
		d.refused(&w, w.lines, "no-interval", out)
		return
	case length <= 0:
		out.Count(ingest.FateNote, "", w.lines) // what fio writes as it starts
		return
	case length > maxLatencyNS/1e6:
		d.refused(&w, w.lines, "impossible", out)
		return
	}
	if len(d.members) < 2 {
		d.sample(&w, nil, m.iops, out)
		return
	}
	other := &d.members[1-member]
	for len(other.waits) > 0 {
		o := other.waits[0]
		near := max((w.end-w.from)/2, 1)
		if o.run > w.run || o.run == w.run && o.end > w.end+near {
			break
		}
		other.waits = slices.Delete(other.waits, 0, 1)
		if o.run == w.run && o.end >= w.end-near {
			d.sample(&w, &o, m.iops, out)
			return
		}
		d.sample(&o, nil, other.iops, out)
	}
	if len(m.waits) == fioMostWaits {
		d.sample(&m.waits[0], nil, m.iops, out)
		m.waits = slices.Delete(m.waits, 0, 1)
	}
	m.waits = append(m.waits, w)
}

// refused rejects the lines of a window.
func (d *fioRates) refused(w *fioWindow, lines int64, reason string, out *ingest.Out) {
	pos, lineno := out.Position, out.Lineno
	out.Position, out.Lineno = w.pos, w.lineno
	out.Reject(nil, reason)
	out.Count(ingest.FateRejected, reason, lines-1)
	out.Position, out.Lineno = pos, lineno
}

// sample adds what one log or both tell of a window; iops is the kind of w.
func (d *fioRates) sample(w, o *fioWindow, iops bool, out *ingest.Out) {
	s := ingest.NewSample()
	s.TimeNS, s.IntervalNS = w.end*1e6, (w.end-w.from)*1e6
	if w.end < fioEpochMS {
		s.TimeNS += d.startNS
	}
	if w.run > 0 && d.named != w.run {
		d.named, d.name = w.run, fmt.Sprintf("%s#%d", d.device, w.run+1)
	}
	s.Host, s.Device = out.Names.InternString(d.host), out.Names.InternString(d.device)
	if w.run > 0 {
		s.Device = out.Names.InternString(d.name)
	}
	d.counts(&s, w, iops)
	out.Count(ingest.FateEvent, "", w.lines)
	s.Position = w.pos
	if o != nil {
		d.counts(&s, o, !iops)
		out.Count(ingest.FateEvent, "", o.lines)
		s.Position = min(w.pos, o.pos)
	}
	if idle := w.idle; idle > 0 && (o == nil || o.idle > 0) {
		none := s
		none.TimeNS, none.IntervalNS = s.TimeNS-s.IntervalNS, idle*1e6
		for _, v := range []*int64{&none.Reads, &none.Writes, &none.Discards, &none.ReadBytes, &none.WriteBytes, &none.DiscardBytes} {
			*v = min(*v, 0)
		}
		out.Samples = append(out.Samples, none)
	}
	out.Samples = append(out.Samples, s)
}

// counts turns the rates of a window into I/Os, or bytes.
func (d *fioRates) counts(s *ingest.Sample, w *fioWindow, iops bool) {
	to, unit := [fioDirections]*int64{&s.ReadBytes, &s.WriteBytes, &s.DiscardBytes}, int64(1024)
	if iops {
		to, unit = [fioDirections]*int64{&s.Reads, &s.Writes, &s.Discards}, 1
	}
	for i, v := range to {
		if w.torn && !w.seen[i] {
			continue
		}
		hi, lo := bits.Mul64(uint64(w.rates[i]*unit), uint64(w.end-w.from))
		lo, carry := bits.Add64(lo, 500, 0)
		n, _ := bits.Div64(hi+carry, lo, 1000)
		*v = int64(n)
	}
}

// End gives what has no more to wait for.
func (d *fioRates) End(out *ingest.Out) {
	for i := range d.members {
		d.closed(i, out)
	}
	for i := range d.members {
		m := &d.members[i]
		for k := range m.waits {
			d.sample(&m.waits[k], nil, m.iops, out)
		}
		m.waits = nil
	}
}
