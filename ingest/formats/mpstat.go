package formats

import (
	"bytes"
	"fmt"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// Mpstat reads the text of sysstat's mpstat: any version, locale and clock, -P, -N
// and -A among them. All is evidence of the host: cpu_iowait_share and its like are
// of all CPUs together, percpu_iowait_share of one, whose number is the text, and
// pernode_iowait_share of a NUMA node. The banner has the date and the rows the
// time, that of the interval's end; a clock that goes back by half a day has passed
// midnight. Rows of the time of their header are means since boot: rejects.
var Mpstat = ingest.Register(ingest.Format{
	Name:  "mpstat",
	Doc:   "sysstat mpstat text: shares of CPU time, iowait among them",
	Kind:  ingest.KindNone,
	Needs: "the banner, for host and date, else start_ns (times then count from 0); zone of the stamps (UTC is taken)",
	Lacks: "devices, I/O; tables of interrupts, topology and averages are notes",
	Sniff: sniffMpstat,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		stamps, err := newIOStamps(src)
		if err != nil {
			return nil, fmt.Errorf("mpstat: %w", err)
		}
		d := &mpstat{stamps: stamps, host: src.Host}
		d.stamps.day(src.Options.StartNS)
		return d, nil
	},
})

// day makes the day of a time that of stamps without a date.
func (z *ioStamps) day(ns int64) {
	at := time.Unix(0, ns).In(z.zone)
	z.date, z.hasDate = [3]int{at.Year(), int(at.Month()), at.Day()}, true
}

// mpstatHeader reads a table's header behind its stamp; known is false if no
// column is a share of CPU time.
func mpstatHeader(tok [][]byte, dst []string) (cols []string, prefix string, known bool) {
	if len(tok) < 3 {
		return dst, "", false
	}
	switch string(tok[0]) {
	case "CPU":
		prefix = "percpu_"
	case "NODE":
		prefix = "pernode_"
	default:
		return dst, "", false
	}
	for _, t := range tok[1:] {
		name := ""
		if t[0] == '%' {
			name = cpuName(t)
		}
		known = known || name != ""
		dst = append(dst, name)
	}
	return dst, prefix, known
}

func sniffMpstat(head []byte, _ string) int {
	var space [maxIOTokens][]byte
	var esc []byte
	for line := range bytes.Lines(head) {
		line = plainLine(line, &esc)
		tok := cutFields(line, space[:0])
		if n := clockWidth(tok); n > 0 && n < len(tok) {
			if _, _, ok := mpstatHeader(tok[n:], nil); ok {
				// sar -u begins so, too, but has no %irq and calls idle time the last of six.
				return 3 * min(bytes.Count(line, []byte("%irq"))+bytes.Count(line, []byte("%usr")), 1)
			}
		}
	}
	return 0
}

type mpstat struct {
	stamps ioStamps
	host   string
	cols   []string
	prefix string
	table  bool
	fromNS int64 // of the header: the interval's start
	space  [maxIOTokens][]byte
	esc    []byte
	name   []byte
}

func (d *mpstat) Line(line []byte, out *ingest.Out) {
	if d.quick(line, out) {
		return
	}
	text := line
	line = plainLine(line, &d.esc)
	tok := cutFields(line, d.space[:0])
	n := clockWidth(tok)
	switch {
	case isBanner(line) || bannerSeam(line) > 0:
		torn := d.table && !isBanner(line) && len(tok) > 0 && isDecimal(tok[0][0])
		line = line[bannerSeam(line):]
		open := bytes.IndexByte(line, '(')
		if end := bytes.IndexByte(line[open:], ')'); end > 1 {
			d.host = string(line[open+1 : open+end])
			d.stamps.banner(line[open+end+1:])
		}
		d.table = false
		if torn { // a row, to which the banner is glued
			out.Reject(text, seamReason)
		} else {
			out.Note()
		}
	case n == 0 || n >= len(tok):
		out.Note() // neither others' text nor a blank line ends a table
	default:
		stamp := tok[0]
		if n == 2 {
			stamp = line[offsetOf(line, tok[0]) : offsetOf(line, tok[1])+len(tok[1])]
		}
		d.row(tok[n:], stamp, text, out)
	}
}

// quick takes a usual row of a table in hand, of the stamp of the row before it.
func (d *mpstat) quick(line []byte, out *ingest.Out) bool {
	n := d.stamps.sameLen
	if !d.table || n == 0 || n >= len(line) || line[n] != ' ' || string(line[:n]) != string(d.stamps.same[:n]) || d.stamps.sameNS == d.fromNS {
		return false
	}
	from := skipSpaces(line, n)
	i := from
	for i < len(line) && line[i] != ' ' {
		i++
	}
	cpu := line[from:i]
	var read ioCPU
	for k := range d.cols {
		x, end, ok := blankField(line, i, '.')
		if !ok || x > 101 {
			return false
		}
		i = end
		read.put(d.cols[k], min(x/100, 1))
	}
	if skipSpaces(line, i) != len(line) || isHalf(cpu) || string(cpu) == "CPU" || string(cpu) == "NODE" {
		return false
	}
	cpuFacts(out, d.host, d.prefix, cpu, d.stamps.sameNS, &read, &d.name)
	out.Count(ingest.FateEvent, "", 1)
	return true
}

// row takes a line behind its stamp: a header or values.
func (d *mpstat) row(tok [][]byte, stamp, text []byte, out *ingest.Out) {
	ns, ok := d.stamps.timeOnly(stamp)
	if !ok {
		out.Reject(text, "bad-time")
		return
	}
	if string(tok[0]) == "CPU" || string(tok[0]) == "NODE" {
		d.cols, d.prefix, d.table = mpstatHeader(tok, d.cols[:0])
		d.fromNS = ns
		out.Note()
		return
	}
	switch {
	case !d.table:
		out.Note()
		return
	case len(tok) != len(d.cols)+1:
		out.Reject(text, "columns")
		return
	case ns == d.fromNS:
		out.Reject(text, "since-boot")
		return
	}
	var read ioCPU
	for i, name := range d.cols {
		if name == "" {
			continue
		}
		x, ok := percentShare(tok[i+1])
		if !ok {
			out.Reject(text, "bad-value")
			return
		}
		read.put(name, x)
	}
	cpuFacts(out, d.host, d.prefix, tok[0], ns, &read, &d.name)
	out.Count(ingest.FateEvent, "", 1)
}

// cpuFacts makes facts of the shares of one CPU, or of "all". name is scratch.
func cpuFacts(out *ingest.Out, host, prefix string, cpu []byte, ns int64, read *ioCPU, name *[]byte) {
	e := ingest.Evidence{TimeNS: ns, Host: out.Names.InternString(host), Position: out.Position}
	all := string(cpu) == "all" || string(cpu) == "-1"
	if !all {
		e.Text = out.Names.Intern(cpu)
	}
	facts := out.Facts(read.n)
	for i := range facts {
		s := &read.shares[i]
		if all {
			e.Name = out.Names.InternString(s.name)
		} else { // "cpu_" makes way for the prefix
			*name = append(append((*name)[:0], prefix...), s.name[len("cpu_"):]...)
			e.Name = out.Names.Intern(*name)
		}
		e.Value = s.share
		facts[i] = e
	}
}

func (d *mpstat) End(*ingest.Out) {}
