package formats

import (
	"bytes"
	"fmt"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// Dmesg reads the kernel's log, as dmesg prints it (seconds since boot, -T, iso, -x,
// -r, -d), as journalctl -k does, as syslog keeps it, and as /dev/kmsg gives it. What
// it says of storage is evidence, one fact of value 1 for each event, the message its
// text:
//
//	kernel_io_error kernel_medium_error kernel_timeout_error ...   requests that failed
//	kernel_scsi_abort kernel_scsi_failed kernel_nvme_timeout ...   commands
//	kernel_device_reset kernel_link_reset kernel_hung_task kernel_thermal_throttle ...
//
// What an event says besides is a fact of its own with the event's name before it:
// kernel_medium_error_offset_bytes (the text is the operation), kernel_scsi_abort_bytes,
// kernel_hung_task_ns. Lines about one SCSI command are joined by its tag. Blocks of
// SCSI commands count as 512 bytes. kernel_suppressed is the number of messages that
// the kernel left out: counts of events are lower bounds.
//
// Seconds since boot become times by start_ns (that of the boot) or by what the log says
// of the clock (audit, rtc). Without either the facts have no time, and the stamp
// stands in the text.
var Dmesg = ingest.Register(ingest.Format{
	Name:  "dmesg",
	Doc:   "kernel log: dmesg, journalctl -k, /dev/kmsg, kernel lines of syslog",
	Kind:  ingest.KindNone,
	Needs: "start_ns, the time of the boot, for stamps since boot; zone of local times; for syslog the year that start_ns is in",
	Clock: ingest.BaseBoot,
	Lacks: "host in dmesg's own forms; latency; messages that the kernel suppressed or the ring lost: counts are lower bounds; the block size of SCSI commands",
	Sniff: sniffDmesg,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		stamps, err := newIOStamps(src)
		if err != nil {
			return nil, fmt.Errorf("dmesg: %w", err)
		}
		d := &dmesg{zone: stamps.zone, host: src.Host, bootNS: src.Options.StartNS, anchored: src.Options.StartNS != 0}
		if d.anchored {
			d.year = unixTime(src.Options.StartNS, stamps.zone).Year()
		}
		return d, nil
	},
})

func sniffDmesg(head []byte, _ string) int {
	d := dmesg{zone: time.UTC, year: 2000}
	kernel, system, other := 0, 0, 0
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n \t")
		if len(line) == 0 || line[0] == ' ' && bytes.IndexByte(line, '=') > 1 { // of a record of /dev/kmsg
			continue
		}
		switch msg, kind := d.head(line); {
		case kind == dmesgKernel && len(msg) > 0 && msg[0] == '[' && line[0] == '[' && !d.now.booted:
			other++ // a web server's
		case kind == dmesgKernel:
			kernel++
		case kind == dmesgSystem:
			system++
		default:
			other++
		}
	}
	if kernel > 0 && kernel+system > other {
		return 2
	}
	return 0
}

// dmesgKind is whose line it is.
type dmesgKind uint8

const (
	dmesgBare   dmesgKind = iota // without a stamp
	dmesgKernel                  // the kernel's
	dmesgSystem                  // another program's, in syslog
	dmesgBad                     // its stamp is none
)

// dmesgTime is when a line was written: ns since the epoch, ns since boot, or both.
type dmesgTime struct {
	wallNS, bootNS int64
	walled, booted bool
}

// since is the time from an earlier one, by the clock that both tell.
func (t dmesgTime) since(from dmesgTime) (ns int64, ok bool) {
	switch {
	case t.booted && from.booted:
		ns = t.bootNS - from.bootNS
	case t.walled && from.walled:
		ns = t.wallNS - from.wallNS
	default:
		return 0, false
	}
	return ns, ns >= 0
}

// dmesg is the state between lines.
type dmesg struct {
	zone     *time.Location
	host     string
	bootNS   int64 // epoch of the boot
	anchored bool  // it is known
	told     bool  // by a message
	year     int   // of syslog's stamps, 0: not known
	month    int   // of the last one

	now     dmesgTime
	named   []byte // the host that the line names
	stamp   []byte // the last date, and what it meant: many lines share one
	stampNS int64
	last    []byte // the message of the last line, if it was the kernel's
	tags    dmesgTags
	reset   dmesgReset
}

func (d *dmesg) Line(line []byte, out *ingest.Out) {
	fate := dmesgNote
	if i := dmesgSeam(line); i > 0 {
		fate = d.part(line[:i], out)
		line = line[i:]
	}
	switch max(fate, d.part(line, out)) {
	case dmesgFact:
		out.Count(ingest.FateEvent, "", 1)
	case dmesgTorn:
		out.Reject(line, "torn-message")
	case dmesgNoTime:
		out.Reject(line, "bad-time")
	default:
		out.Note()
	}
}

// part takes a message with its stamps.
func (d *dmesg) part(line []byte, out *ingest.Out) dmesgFate {
	msg, kind := d.head(line)
	switch {
	case kind == dmesgBad:
		return dmesgNoTime
	case kind == dmesgSystem || len(msg) == 0:
		d.last = d.last[:0]
		return dmesgNote
	}
	n, again := dmesgAgain(msg)
	switch {
	case n > 0 && again == nil:
		again = d.last
	case n == 0:
		again = msg
		fallthrough
	default:
		d.last = append(d.last[:0], again...)
	}
	fate := dmesgNote
	for range max(n, 1) {
		fate = max(fate, d.message(again, line, out))
	}
	return fate
}

func (d *dmesg) End(*ingest.Out) {}

// head takes a line's stamps, host and program from its message.
func (d *dmesg) head(line []byte) (msg []byte, kind dmesgKind) {
	b := trimBlanks(line)
	if len(b) == 0 {
		return nil, dmesgBare
	}
	was := d.now
	d.now, d.named = dmesgTime{}, d.named[:0]
	if b[0] == '<' {
		if _, end := scanDigits(b, 1); end > 1 && end < 5 && end < len(b) && b[end] == '>' {
			b = b[end+1:]
		}
	} else if b[0] >= '0' && b[0] <= '9' {
		if rest, ok := d.kmsg(b); ok {
			return rest, dmesgKernel
		}
	} else if rest, ok := dmesgLevel(b); ok {
		b = rest
	}
	kind = dmesgBare
	if rest, plain, ok := d.date(b); ok {
		b = rest
		kind = dmesgKernel
		if !plain {
			if b, ok = d.program(b); !ok {
				return nil, dmesgSystem
			}
		}
	}
	for len(b) > 0 && b[0] == '[' {
		end := bytes.IndexByte(b, ']')
		if end < 0 {
			break
		}
		inside := trimBlanks(b[1:end])
		took, bad := d.bracket(inside, kind)
		if bad {
			return nil, dmesgBad
		}
		if !took {
			break
		}
		kind = dmesgKernel
		if b = b[end+1:]; len(b) > 0 && b[0] == ' ' {
			b = b[1:]
		}
	}
	if kind == dmesgBare {
		d.now = was // the message goes on
	}
	return trimBlanks(b), kind
}

// kmsg takes the head of a record of /dev/kmsg: LEVEL,NUMBER,MICROSECONDS,FLAG;
func (d *dmesg) kmsg(b []byte) ([]byte, bool) {
	semi := bytes.IndexByte(b, ';')
	if semi < 0 || semi > 80 {
		return nil, false
	}
	i := 0
	var v [3]int64
	for k := range v {
		n, end := scanDigits(b, i)
		if end == i || n < 0 || end >= semi || b[end] != ',' {
			return nil, false
		}
		v[k], i = n, end+1
	}
	if v[2] > dmesgMostBoot/1000 {
		return nil, false
	}
	d.now.bootNS, d.now.booted = v[2]*1000, true
	return b[semi+1:], true
}

// dmesgMostBoot is 100 years: no machine is up for longer.
const dmesgMostBoot = int64(100 * 366 * 86400e9)

// dmesgLevel takes what dmesg -x puts before the stamp: "kern  :err   : ".
func dmesgLevel(b []byte) ([]byte, bool) {
	if len(b) < 16 || b[6] != ':' || b[13] != ':' || b[14] != ' ' {
		return nil, false
	}
	for _, facility := range [...]string{"kern  ", "user  ", "daemon", "syslog", "auth  "} {
		if string(b[:6]) == facility {
			return b[15:], true
		}
	}
	return nil, false
}

// bracket takes what stands in brackets before the message: seconds since boot,
// a date, or the task or processor that wrote it.
func (d *dmesg) bracket(b []byte, kind dmesgKind) (took, bad bool) {
	if len(b) == 0 {
		return false, false
	}
	if c := b[0]; c >= '0' && c <= '9' {
		s, end := scanDigits(b, 0)
		if len(b) < end+7 || b[end] != '.' {
			return false, false
		}
		us, last := scanDigits(b, end+1)
		if last != end+7 || last < len(b) && b[last] != ' ' {
			return false, false
		}
		if s < 0 || s > 1e10 {
			return false, true
		}
		ns := s*1e9 + us*1000
		if ns > dmesgMostBoot {
			return false, true
		}
		d.now.bootNS, d.now.booted = ns, true
		return true, false
	}
	if _, end := scanDigits(b, 1); kind == dmesgKernel && (b[0] == 'T' || b[0] == 'C') && end > 1 && end == len(b) {
		return true, false
	}
	if d.now.walled || len(b) < 20 || len(b) > 40 || !isLetter(b[0]) && b[0] < 0x80 || bytes.IndexByte(b, ':') < 0 {
		return false, false
	}
	ns, ok := d.dated(b)
	if ok {
		d.now.wallNS, d.now.walled = ns, true
	}
	return ok, false
}

// time is that of the line in hand, as far as it is known.
func (d *dmesg) time() (ns int64, known bool) {
	switch {
	case d.now.walled:
		return d.now.wallNS, true
	case d.now.booted && d.anchored:
		return d.bootNS + d.now.bootNS, true
	}
	return 0, false
}

// fact adds evidence of the line in hand.
func (d *dmesg) fact(out *ingest.Out, name string, device, text []byte, value float64) {
	ns, _ := d.time()
	e := ingest.Evidence{
		TimeNS: ns, Device: out.Names.Intern(device), Name: out.Names.InternString(name),
		Text: out.Names.Intern(text[:min(len(text), ingest.RejectTextBytes)]), Value: value,
	}
	if len(d.named) > 0 {
		e.Host = out.Names.Intern(d.named)
	} else {
		e.Host = out.Names.InternString(d.host)
	}
	out.Fact(e)
}

// event adds an event whose text is the message; with its stamp, if that is all that
// is known of the time.
func (d *dmesg) event(out *ingest.Out, name string, device, msg, line []byte) dmesgFate {
	if _, known := d.time(); !known {
		msg = trimBlanks(line)
	}
	d.fact(out, name, device, msg, 1)
	return dmesgFact
}

// OwnClock says whether the log has times, or what in it ties its stamps to them.
func (d *dmesg) OwnClock() (ingest.TimeBase, string) {
	switch {
	case d.now.walled:
		return ingest.BaseEpoch, ""
	case d.told:
		return ingest.BaseBoot, "its message of the clock"
	}
	return ingest.BaseBoot, ""
}
