package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// dmesgTag is a SCSI command of which a line told.
type dmesgTag struct {
	device [32]byte
	n      int
	tag    int64
	event  string // what it was
}

// dmesgTags are the last commands that lines told of.
type dmesgTags struct {
	list [256]dmesgTag
	used int
	next int
}

// find gives the event that a command was part of, "" if none.
func (t *dmesgTags) find(device []byte, tag int64) string {
	for k := 1; k <= t.used; k++ {
		if c := &t.list[(t.next+len(t.list)-k)%len(t.list)]; c.tag == tag && string(c.device[:c.n]) == string(device) {
			return c.event
		}
	}
	return ""
}

func (t *dmesgTags) put(device []byte, tag int64, event string) {
	c := &t.list[t.next]
	c.n, c.tag, c.event = copy(c.device[:], device), tag, event
	t.next = (t.next + 1) % len(t.list)
	t.used = min(t.used+1, len(t.list))
}

// dmesgReset is a reset that goes on, and the disk that commands were last lost of.
type dmesgReset struct {
	from   dmesgTime
	open   bool
	host   int64
	device [32]byte
	n      int
	known  bool
}

// scsi takes "sd H:C:T:L: [sdX] tag#N TEXT".
func (d *dmesg) scsi(msg, line []byte, out *ingest.Out) dmesgFate {
	b := msg[3:]
	host, end := scanDigits(b, 0)
	colon := bytes.Index(b, []byte(": "))
	if end == 0 || colon < 0 || b[end] != ':' {
		return dmesgNote
	}
	b = trimBlanks(b[colon+2:])
	var device []byte
	if len(b) > 0 && b[0] == '[' {
		if end = bytes.IndexByte(b, ']'); end < 0 {
			return dmesgNote
		}
		device, b = b[1:end], trimBlanks(b[end+1:])
		if len(device) > 31 {
			device = nil
		}
	}
	tag := int64(ingest.Missing)
	if rest, ok := cutPrefix(b, "tag#"); ok {
		tag, end = scanDigits(rest, 0)
		b = trimBlanks(rest[end:])
	}
	begin := func(event string) dmesgFate {
		d.tags.put(device, tag, event)
		d.reset.host, d.reset.n, d.reset.known = host, copy(d.reset.device[:], device), len(device) > 0
		return d.event(out, event, device, msg, line)
	}
	has := func(s string) bool { return bytes.Contains(b, []byte(s)) }
	starts := func(s string) bool { return len(b) > len(s) && string(b[:len(s)]) == s }
	switch { // what a message begins with is looked at before what it holds
	case starts("Result: hostbyte="):
		return begin("kernel_scsi_failed")
	case starts("Sense Key : "):
		return d.sense(device, b[len("Sense Key : "):], out)
	case starts("Add. Sense: "):
		d.fact(out, "kernel_scsi_add_sense", device, b[len("Add. Sense: "):], 1)
		return dmesgFact
	case starts("CDB: "):
		return d.cdb(device, tag, b[len("CDB: "):], out)
	case has("abort_handler") || has("attempting task abort") || has("ABORT operation started"):
		return begin("kernel_scsi_abort")
	case has(" Result: hostbyte="):
		return begin("kernel_scsi_failed")
	case has("device reset occurred"):
		return d.event(out, "kernel_device_reset", device, msg, line)
	case has("timing out command"):
		return d.event(out, "kernel_scsi_timeout", device, msg, line)
	case has("Device offlined"):
		return d.event(out, "kernel_device_lost", device, msg, line)
	case has("rejecting I/O to offline device"):
		return d.event(out, "kernel_offline_io", device, msg, line)
	}
	return dmesgNote
}

// scsiSenses are the names of the sense keys.
var scsiSenses = [16]string{
	"No Sense", "Recovered Error", "Not Ready", "Medium Error", "Hardware Error", "Illegal Request", "Unit Attention", "Data Protect",
	"Blank Check", "Vendor Specific", "Copy Aborted", "Aborted Command", "Equal", "Volume Overflow", "Miscompare", "Completed",
}

// sense takes a sense key: the value is its number.
func (d *dmesg) sense(device, b []byte, out *ingest.Out) dmesgFate {
	if i := bytes.IndexByte(b, '['); i >= 0 {
		b = b[:i]
	}
	b = trimBlanks(b)
	for key, name := range scsiSenses {
		if string(b) == name {
			d.fact(out, "kernel_scsi_sense", device, b, float64(key))
			return dmesgFact
		}
	}
	return dmesgTorn
}

// cdbField is where a command has its first block and the number of them.
type cdbField struct{ lba, lbaBytes, blocks, blocksBytes int }

// cdb takes a command's bytes: of which place, how much.
func (d *dmesg) cdb(device []byte, tag int64, b []byte, out *ingest.Out) dmesgFate {
	var v [16]byte
	n := 0
	for len(b) > 0 && n < len(v) {
		word := b
		if end := bytes.IndexByte(b, ' '); end >= 0 {
			word, b = b[:end], b[end+1:]
		} else {
			b = nil
		}
		if x, ok := hexByte(word); ok {
			v[n] = x
			n++
		} else if n > 0 {
			break
		}
	}
	if n < 6 {
		return dmesgTorn
	}
	op := ""
	switch v[0] {
	case 0x08, 0x28, 0xa8, 0x88:
		op = "READ"
	case 0x0a, 0x2a, 0xaa, 0x8a, 0x2e, 0x8e:
		op = "WRITE"
	case 0x35, 0x91:
		op = "FLUSH"
	case 0x41, 0x93:
		op = "WRITE_SAME"
	case 0x42:
		op = "DISCARD"
	}
	event := d.tags.find(device, tag)
	if event == "" {
		event = "kernel_scsi_command"
	}
	names := scsiNames[event]
	d.fact(out, names.opcode, device, []byte(op), float64(v[0]))
	var f cdbField
	switch {
	case v[0] == 0x08 || v[0] == 0x0a:
		f = cdbField{1, 3, 4, 1}
		v[1] &= 0x1f
	case op == "" || op == "FLUSH" || op == "DISCARD":
		return dmesgFact
	case v[0]>>5 == 1 || v[0]>>5 == 2:
		f = cdbField{2, 4, 7, 2}
	case v[0]>>5 == 5:
		f = cdbField{2, 4, 6, 4}
	default:
		f = cdbField{2, 8, 10, 4}
	}
	if n < f.blocks+f.blocksBytes {
		return dmesgFact
	}
	lba, blocks := bigEndian(v[f.lba:f.lba+f.lbaBytes]), bigEndian(v[f.blocks:f.blocks+f.blocksBytes])
	if f.lba == 1 && blocks == 0 {
		blocks = 256 // of six bytes
	}
	if lba < 1<<54 {
		d.fact(out, names.offset, device, []byte(op), float64(lba*512))
		d.fact(out, names.bytes, device, []byte(op), float64(blocks*512))
	}
	return dmesgFact
}

// scsiNames are the names of what is known of a command, by its event.
var scsiNames = map[string]struct{ opcode, offset, bytes string }{
	"kernel_scsi_abort":   {"kernel_scsi_abort_opcode", "kernel_scsi_abort_offset_bytes", "kernel_scsi_abort_bytes"},
	"kernel_scsi_failed":  {"kernel_scsi_failed_opcode", "kernel_scsi_failed_offset_bytes", "kernel_scsi_failed_bytes"},
	"kernel_scsi_command": {"kernel_scsi_command_opcode", "kernel_scsi_command_offset_bytes", "kernel_scsi_command_bytes"},
}

func bigEndian(b []byte) (v uint64) {
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
}

// hexByte reads a word of two hexadecimal digits.
func hexByte(b []byte) (v byte, ok bool) {
	if len(b) != 2 {
		return 0, false
	}
	for _, c := range b {
		switch {
		case isDecimal(c):
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		v = v<<4 | c
	}
	return v, true
}

// uas takes "scsi hostN: uas_eh_device_reset_handler start", and how it ends: one
// reset, with the bus's own line in between.
func (d *dmesg) uas(msg, line []byte, out *ingest.Out) dmesgFate {
	i := bytes.Index(msg, []byte("_reset_handler "))
	if i < 0 {
		return dmesgNote
	}
	host, _ := scanDigits(msg, len("scsi host"))
	var device []byte
	if d.reset.known && d.reset.host == host {
		device = d.reset.device[:d.reset.n]
	}
	switch rest := msg[i+len("_reset_handler "):]; {
	case bytes.HasPrefix(rest, []byte("start")):
		d.reset.from, d.reset.open = d.now, true
		return d.event(out, "kernel_device_reset", device, msg, line)
	case d.reset.open:
		d.reset.open = false
		if ns, ok := d.now.since(d.reset.from); ok {
			d.fact(out, "kernel_device_reset_ns", device, rest, float64(ns))
		}
		if !bytes.HasPrefix(rest, []byte("success")) {
			d.event(out, "kernel_device_reset_failed", device, msg, line)
		}
		return dmesgFact
	}
	return dmesgNote
}
