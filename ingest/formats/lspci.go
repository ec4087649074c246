package formats

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/iopathy/iopathy/ingest"
)

// Lspci reads what lspci -vv says of the links of PCIe functions. Evidence of each
// function with a link:
//
//	link_bytes_per_s          what the negotiated link carries each way, its line code taken off
//	link_capable_bytes_per_s  what the function's own port could
//	link_width link_speed_gts negotiated lanes, and 1e9 transfers a second of each
//	link_downgraded           1 if it runs below what the port can, else 0
//	numa_node                 where it is known
//
// Its text is the address. Packets' headers take another tenth, about: 85 % of
// link_bytes_per_s is a full link. Which disks stand behind a function lspci does
// not tell: lines of ls -l /sys/block (or /sys/class/block) in the same text do. A
// function without is nvme0 if it is the only NVMe controller, else pci:ADDRESS.
//
// Line codes: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, 242 of 256 bytes of a
// flit from 64 GT/s on (PCI Express Base Specification 6.0, 4.2).
var Lspci = ingest.Register(ingest.Format{
	Name:  "lspci",
	Doc:   "lspci -vv: speed and width of PCIe links; ls -l /sys/block in the same text tells whose they are",
	Kind:  ingest.KindNone,
	Needs: "root (else lspci hides the capabilities); ls -l /sys/block for the names of disks",
	Lacks: "host, time (a line with one before it counts); the links between a function's port and the CPU; what is not PCIe",
	Sniff: sniffLspci,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		clock, err := newSeriesClock(src)
		if err != nil {
			return nil, fmt.Errorf("lspci: %w", err)
		}
		return &lspci{clock: clock, host: src.Host, blocks: map[string][]string{}, states: map[string]pciState{}}, nil
	},
})

func sniffLspci(head []byte, _ string) int {
	slots, own := 0, 0
	for line := range bytes.Lines(head) {
		switch {
		case slotOf(line) != "":
			slots++
		case bytes.Contains(line, []byte("\tLnkCap:")) || bytes.Contains(line, []byte("\tLnkSta:")) || bytes.HasPrefix(line, []byte("\tControl: I/O")) || bytes.HasPrefix(line, []byte("\tSubsystem: ")):
			own++
		}
		if slots > 0 && own > 0 {
			return 2
		}
	}
	if blocks := bytes.Count(head, []byte("devices/pci")); blocks > 0 && bytes.Contains(head, []byte("/block/")) {
		return 1
	}
	return 0
}

// slotOf is the address that a function's first line begins with, with its domain;
// "" if it is none.
func slotOf(line []byte) string {
	end := bytes.IndexByte(line, ' ')
	if end < 7 || end > 13 {
		return ""
	}
	at := line[:end]
	domain := "0000:"
	if i := bytes.IndexByte(at, ':'); i != bytes.LastIndexByte(at, ':') {
		domain, at = string(at[:i+1]), at[i+1:]
	}
	if len(at) != 7 || at[2] != ':' || at[5] != '.' || at[6] < '0' || at[6] > '7' || !hexes(at[:2]) || !hexes(at[3:5]) || !hexes([]byte(domain[:len(domain)-1])) {
		return ""
	}
	return domain + string(at)
}

func hexes(b []byte) bool {
	for _, c := range b {
		if !isDecimal(c) && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(b) > 0
}

// pciLink is a link's speed in GT/s and its lanes; 0 is unknown.
type pciLink struct{ speed, width float64 }

// bytesPerS is what a link carries each way.
func (l pciLink) bytesPerS() float64 {
	code := 128.0 / 130
	switch {
	case l.speed <= 5:
		code = 0.8
	case l.speed >= 64:
		code = 242.0 / 256
	}
	return math.Round(l.speed * 1e9 / 8 * code * l.width)
}

// pciState is what is known of one function's link.
type pciState struct {
	cap, sta       pciLink
	downgraded     bool
	node           float64 // -1: unknown
	hasCap, hasSta bool
}

// pciFunction is a function where it stands.
type pciFunction struct {
	pciState
	slot     string
	nvme     bool
	timeNS   int64
	position int64
}

// Bounds of what is kept until the end: functions, and disks behind one.
const (
	pciMost      = 1 << 11
	pciMostDisks = 128
)

type lspci struct {
	clock  seriesClock
	host   string
	all    []pciFunction
	open   bool
	blocks map[string][]string // disks by address
	states map[string]pciState // the last of each address
}

func (d *lspci) Line(line []byte, out *ingest.Out) {
	if d.clock.glued(line, d, out) {
		return
	}
	line = bytes.TrimRight(line, "\r")
	b := trimBlanks(line)
	slot := ""
	if len(line) > 0 && line[0] != ' ' && line[0] != '\t' {
		slot = slotOf(line)
	}
	switch {
	case slot != "":
		d.close()
		if len(d.all) >= pciMost {
			d.open = false
			out.Reject(line, "too-many-devices")
			return
		}
		f := pciFunction{slot: slot, nvme: bytes.Contains(line, []byte("Non-Volatile memory controller")), pciState: pciState{node: -1}, position: out.Position}
		if d.clock.timed {
			f.timeNS = d.clock.timeNS
		}
		d.all, d.open = append(d.all, f), true
		out.Note()
	case bytes.Contains(b, []byte("devices/pci")):
		d.block(b, out)
	case d.open && len(line) > 0 && (line[0] == '\t' || line[0] == ' '):
		d.within(b, out)
	case d.clock.mark(line):
		out.Note()
	default:
		out.Note()
	}
}

// close ends the function in hand: one that shows what it showed the last time
// adds nothing.
func (d *lspci) close() {
	if !d.open {
		return
	}
	d.open = false
	f := &d.all[len(d.all)-1]
	if last, ok := d.states[f.slot]; ok && last == f.pciState {
		d.all = d.all[:len(d.all)-1]
	}
	d.states[f.slot] = f.pciState
}

// block takes a line that shows which function a disk is behind: the last address
// in its path.
func (d *lspci) block(b []byte, out *ingest.Out) {
	path := b[bytes.Index(b, []byte("devices/pci")):]
	last, name := "", ""
	under := false
	for part := range bytes.SplitSeq(path, []byte("/")) {
		if s := slotOf(append(bytes.Clone(part), ' ')); s != "" {
			last = s
		}
		under = under || string(part) == "block" || string(part) == "nvme"
		name = string(part)
	}
	if last == "" || !under || name == "" || len(name) > 64 || slices.Contains(d.blocks[last], name) {
		out.Note()
		return
	}
	if len(d.blocks) >= pciMost || len(d.blocks[last]) >= pciMostDisks {
		out.Reject(b, "too-many-devices")
		return
	}
	d.blocks[last] = append(d.blocks[last], name)
	out.Note()
}

// within takes a line of a function.
func (d *lspci) within(b []byte, out *ingest.Out) {
	f := &d.all[len(d.all)-1]
	switch {
	case bytes.HasPrefix(b, []byte("LnkCap:")):
		link, ok := linkOf(b)
		if !ok {
			out.Reject(b, "bad-link")
			return
		}
		f.cap, f.hasCap = link, true
	case bytes.HasPrefix(b, []byte("LnkSta:")):
		link, ok := linkOf(b)
		if !ok {
			out.Reject(b, "bad-link")
			return
		}
		f.sta, f.hasSta = link, true
		f.downgraded = bytes.Contains(b, []byte("(downgraded)"))
	case bytes.HasPrefix(b, []byte("NUMA node:")):
		v, n := scanDigits(trimBlanks(b[len("NUMA node:"):]), 0)
		if n == 0 || v < 0 {
			out.Note()
			return
		}
		f.node = float64(v)
	default:
		out.Note()
		return
	}
	out.Count(ingest.FateEvent, "", 1)
}

// linkOf reads "Speed 8GT/s (downgraded), Width x4"; a link that is down has
// neither, which is known as 0.
func linkOf(b []byte) (l pciLink, ok bool) {
	read := func(key, unit string) float64 {
		i := bytes.Index(b, []byte(key))
		if i < 0 {
			return 0
		}
		rest := b[i+len(key):]
		n := 0
		for n < len(rest) && n < 8 && (isDecimal(rest[n]) || rest[n] == '.') {
			n++
		}
		x, ok := parseFloat(rest[:n])
		if !ok || !bytes.HasPrefix(rest[n:], []byte(unit)) {
			return 0
		}
		return x
	}
	l = pciLink{read("Speed ", "GT/s"), read("Width x", "")}
	known := bytes.Contains(b, []byte("Speed unknown")) || bytes.Contains(b, []byte("Width x0"))
	return l, known || l.speed >= 1 && l.speed <= 1024 && l.width >= 1 && l.width <= 32
}

func (d *lspci) End(out *ingest.Out) {
	d.close()
	controllers := map[string]bool{}
	for i := range d.all {
		if d.all[i].nvme {
			controllers[d.all[i].slot] = true
		}
	}
	for i := range d.all {
		f := &d.all[i]
		names := d.blocks[f.slot]
		switch {
		case len(names) > 0:
		case f.nvme && len(controllers) == 1:
			names = []string{"nvme0"}
		default:
			names = []string{"pci:" + f.slot}
		}
		for _, name := range names {
			f.facts(out, d.host, name)
		}
	}
}

func (f *pciFunction) facts(out *ingest.Out, host, device string) {
	e := ingest.Evidence{
		TimeNS: f.timeNS, Position: f.position, Host: out.Names.InternString(host),
		Device: out.Names.InternString(device), Text: out.Names.InternString(f.slot),
	}
	put := func(name string, x float64) {
		e.Name, e.Value = out.Names.InternString(name), x
		out.Evidence = append(out.Evidence, e)
	}
	if f.hasSta && f.sta.speed > 0 && f.sta.width > 0 {
		put("link_bytes_per_s", f.sta.bytesPerS())
		put("link_width", f.sta.width)
		put("link_speed_gts", f.sta.speed)
	}
	if f.hasCap && f.cap.speed > 0 && f.cap.width > 0 {
		put("link_capable_bytes_per_s", f.cap.bytesPerS())
		if f.hasSta && f.sta.speed > 0 && f.sta.width > 0 {
			put("link_downgraded", float64(b2i(f.downgraded || f.sta.speed < f.cap.speed || f.sta.width < f.cap.width)))
		}
	}
	if f.node >= 0 && (f.hasSta || f.hasCap) {
		put("numa_node", f.node)
	}
}
