package formats

import (
	"bytes"
	"fmt"

	"github.com/iopathy/iopathy/ingest"
)

// ProcVmstat reads snapshots of /proc/vmstat, whole or a choice of its lines (grep):
// each line is evidence of the host by the kernel's name: pgmajfault, nr_dirty and
// nr_writeback (pages), pgpgin (KiB). Counters stay counters, for rate("pgmajfault").
// A name that comes again opens the next snapshot.
var ProcVmstat = ingest.Register(ingest.Format{
	Name:  "proc-vmstat",
	Doc:   "/proc/vmstat, once or again and again, whole or grepped",
	Kind:  ingest.KindNone,
	Needs: "a time before each snapshot (# EPOCH, date, zzz ***), else start_ns and interval; without either the figures stand without a time",
	Lacks: "host, device, process; single I/Os",
	Sniff: sniffProcVmstat,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		clock, err := newSeriesClock(src)
		if err != nil {
			return nil, fmt.Errorf("proc-vmstat: %w", err)
		}
		return &procVmstat{clock: clock, host: src.Host}, nil
	},
})

// vmstatRow reads "name value", with the file's name before it or not; the name
// is nil if it is none. ok is false if the value is no figure.
func vmstatRow(line []byte) (name []byte, value int64, ok bool) {
	line = trimBlanks(line)
	if i := bytes.IndexByte(line, ':'); i > 0 && line[0] == '/' && bytes.HasSuffix(line[:i], []byte("vmstat")) {
		line = line[i+1:]
	}
	i := 0
	for i < len(line) && (line[i] >= 'a' && line[i] <= 'z' || line[i] == '_' || i > 0 && isDecimal(line[i])) {
		i++
	}
	if i == 0 || i > 64 || i == len(line) || line[i] != ' ' && line[i] != '\t' {
		return nil, 0, false
	}
	rest := trimBlanks(line[i:])
	negative := len(rest) > 1 && rest[0] == '-' // what old kernels print of a torn sum of CPUs
	v, n := scanDigits(rest[min(1, b2i(negative)):], 0)
	return line[:i], v, n > 0 && v >= 0 && n == len(rest) && !negative
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// vmstatSure are names that no other file of "name value" lines has.
var vmstatSure = map[string]bool{
	"nr_free_pages": true, "nr_dirty": true, "nr_writeback": true, "nr_dirtied": true, "nr_written": true, "nr_dirty_threshold": true,
	"nr_dirty_background_threshold": true, "pgpgin": true, "pgpgout": true, "pswpin": true, "pswpout": true, "pgfault": true, "pgmajfault": true,
	"pgscan_direct": true, "pgscan_kswapd": true, "pgsteal_direct": true, "pgsteal_kswapd": true, "allocstall": true, "workingset_refault": true,
	"workingset_refault_file": true, "balance_dirty_pages": true, "nr_zone_inactive_file": true, "nr_inactive_file": true, "oom_kill": true,
}

func sniffProcVmstat(head []byte, _ string) int {
	sure, other := 0, 0
	clock := seriesClock{stamps: ioStamps{zone: utcZone}}
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		name, _, ok := vmstatRow(line)
		switch {
		case ok && vmstatSure[string(name)]:
			sure++
		case ok, len(trimBlanks(line)) == 0, line[0] == '#', line[0] == '/', clock.mark(line):
		default:
			other++
		}
	}
	if sure > 0 && other <= sure {
		return 3
	}
	return 0
}

type procVmstat struct {
	clock seriesClock
	host  string
	first []byte // the name that the snapshot began with
}

func (d *procVmstat) Line(line []byte, out *ingest.Out) {
	if d.clock.glued(line, d, out) {
		return
	}
	name, value, ok := vmstatRow(line)
	if (!ok || markWord(name)) && d.clock.mark(line) {
		d.first = d.first[:0]
		out.Note()
		return
	}
	b := trimBlanks(line)
	switch {
	case len(b) == 0 || b[0] == '#' || b[0] == '=' || name == nil && b[0] == '/':
		out.Note()
		return
	case name == nil:
		out.Reject(line, "no-row")
		return
	case !ok:
		out.Reject(line, "bad-value")
		return
	case len(d.first) == 0:
		d.first = append(d.first, name...)
	case bytes.Equal(d.first, name):
		d.clock.next()
	}
	e := ingest.Evidence{Host: out.Names.InternString(d.host), Name: out.Names.Intern(name), Value: float64(value)}
	if d.clock.timed {
		e.TimeNS = d.clock.timeNS
	}
	out.Fact(e)
	out.Count(ingest.FateEvent, "", 1)
}

func (d *procVmstat) End(*ingest.Out) {}
