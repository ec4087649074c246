package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// dmesgFate is what a message is.
type dmesgFate uint8

const (
	dmesgNote   dmesgFate = iota // nothing of storage
	dmesgNoTime                  // its stamp is none
	dmesgTorn                    // something of storage that was cut off
	dmesgFact
)

// dmesgFind is how a message names its device.
type dmesgFind uint8

const (
	findNone   dmesgFind = iota
	findParen            // "(device sda1)", "(sda1)"
	findBehind           // the word behind the needle, or behind the prefix if there is none
	findFirst            // "nvme0n1: ..."
)

// dmesgRule is a message: what it begins with, what it holds.
type dmesgRule struct {
	prefix, needle, name string
	device               dmesgFind
}

// dmesgRules are the messages that are no more than an event of a device, by their
// first letters.
var dmesgRules = map[byte][]dmesgRule{
	'a': {
		{"ata", "exception Emask", "kernel_ata_exception", findNone},
		{"ata", "failed command: ", "kernel_ata_failed_command", findNone},
		{"ata", "error: { UNC", "kernel_ata_uncorrectable", findNone},
		{"ata", "error: { ICRC", "kernel_ata_link_error", findNone},
		{"ata", "resetting link", "kernel_link_reset", findNone},
		{"ata", "limiting S", "kernel_link_slowed", findNone},
		{"ata", "limiting speed", "kernel_link_slowed", findNone},
		{"ata", "SATA link down", "kernel_link_down", findNone},
		{"ata", "qc timeout", "kernel_ata_timeout", findNone},
	},
	'A': {{"Aborting journal on device ", "", "kernel_fs_error", findBehind}},
	'B': {
		{"Buffer I/O error on dev ", "", "kernel_buffer_error", findBehind},
		{"Buffer I/O error on device ", "", "kernel_buffer_error", findBehind},
		{"BTRFS error", "", "kernel_fs_error", findParen},
		{"BTRFS critical", "", "kernel_fs_error", findParen},
	},
	'C': {{"CPU", "clock throttled", "kernel_thermal_throttle", findNone}},
	'c': {{"connection", "detected conn error", "kernel_path_failed", findNone}}, // iSCSI
	'd': {{"device-mapper: multipath", "Failing path", "kernel_path_failed", findNone}},
	'E': {
		{"EXT4-fs error", "", "kernel_fs_error", findParen},
		{"EXT4-fs (", "Remounting filesystem read-only", "kernel_read_only", findParen},
		{"EXT4-fs (", "I/O error", "kernel_fs_error", findParen},
		{"EXT3-fs error", "", "kernel_fs_error", findParen},
	},
	'J': {{"JBD2: Detected IO errors", " on ", "kernel_fs_error", findBehind}},
	'l': {{"lost page write due to I/O error on ", "", "kernel_buffer_error", findBehind}},
	'm': {
		{"md/", "Disk failure on ", "kernel_disk_failure", findBehind},
		{"md/", "read error corrected", "kernel_raid_read_error", findNone},
		{"md: recovery of RAID array ", "", "kernel_raid_rebuild", findNone},
		{"md: resync of RAID array ", "", "kernel_raid_rebuild", findNone},
		{"md: data-check of RAID array ", "", "kernel_raid_rebuild", findNone},
		{"md: requested-resync of RAID array ", "", "kernel_raid_rebuild", findNone},
		{"mmcblk", "error ", "kernel_mmc_error", findFirst},
		{"mmc", "Timeout waiting for hardware", "kernel_mmc_timeout", findNone},
	},
	'n': {{"nvme", " @ LBA ", "kernel_nvme_error", findFirst}},
	'p': {{"pcieport ", "AER: ", "kernel_pcie_error", findNone}},
	'r': {{"rport-", "blocked FC remote port time out", "kernel_path_failed", findNone}},
	's': {{"session", "session recovery timed out", "kernel_path_failed", findNone}}, // iSCSI
	't': {{"thermal ", "critical temperature", "kernel_thermal_critical", findNone}},
	'u': {{"usb ", "USB disconnect", "kernel_usb_disconnect", findNone}},
	'X': {
		{"XFS (", "I/O error", "kernel_fs_error", findParen},
		{"XFS (", "Corruption", "kernel_fs_error", findParen},
		{"XFS (", "error", "kernel_fs_error", findParen},
	},
}

// message tells what the kernel says.
func (d *dmesg) message(msg, line []byte, out *ingest.Out) dmesgFate {
	if rest, ok := cutPrefix(msg, "mce: "); ok {
		msg = rest
	}
	has := func(s string) bool { return bytes.Contains(msg, []byte(s)) }
	starts := func(s string) bool { return len(msg) >= len(s) && string(msg[:len(s)]) == s }
	if bytes.HasSuffix(msg, []byte("suppressed")) || starts("** ") {
		if fate := d.suppressed(msg, out); fate != dmesgNote {
			return fate
		}
	}
	if len(msg) < 4 {
		return dmesgNote
	}
	switch msg[0] {
	case 'b', 'p', 'e', 'I', 'c', 't', 'r', 'k', 'd', 'o', 'z', 'i':
		if starts("INFO: task ") {
			return d.hung(msg, line, out)
		}
		if fate := d.request(msg, line, out); fate != dmesgNote {
			return fate
		}
	case 's':
		switch {
		case starts("sd ") || starts("sr ") || starts("st "):
			return d.scsi(msg, line, out)
		case starts("scsi host"):
			return d.uas(msg, line, out)
		}
	case 'n':
		if starts("nvme ") {
			return d.nvme(msg, line, out)
		}
	case 'u':
		if starts("usb ") && has(": reset ") && has("USB device") {
			if d.reset.open {
				return dmesgFact // a part of that reset
			}
			return d.event(out, "kernel_device_reset", nil, msg, line)
		}
	}
	d.anchor(msg)
	for i := range dmesgRules[msg[0]] {
		r := &dmesgRules[msg[0]][i]
		if !starts(r.prefix) {
			continue
		}
		at := len(r.prefix)
		if r.needle != "" {
			i := bytes.Index(msg[at:], []byte(r.needle))
			if i < 0 {
				continue
			}
			at += i + len(r.needle)
		}
		return d.event(out, r.name, r.find(msg, at), msg, line)
	}
	return dmesgNote
}

// find is the device that a message names, nil if none.
func (r *dmesgRule) find(msg []byte, at int) []byte {
	switch r.device {
	case findBehind:
		return dmesgWord(msg[at:])
	case findFirst:
		return dmesgWord(msg)
	case findParen:
		open, shut := bytes.IndexByte(msg, '('), bytes.IndexByte(msg, ')')
		if open >= 0 && shut > open {
			inside, _ := cutPrefix(msg[open+1:shut], "device ")
			return dmesgWord(inside)
		}
	}
	return nil
}

// dmesgWord is the device's name at the start of b. A journal's number behind it
// ("sda1-8") is no part of it.
func dmesgWord(b []byte) []byte {
	end := 0
	for end < len(b) && end < 32 && b[end] > ' ' && b[end] != ',' && b[end] != ':' && b[end] != ';' && b[end] != ')' {
		end++
	}
	b = bytes.TrimRight(b[:end], ".")
	if i := bytes.LastIndexByte(b, '-'); i > 0 && i+1 < len(b) {
		if _, end := scanDigits(b, i+1); end == len(b) && !bytes.HasPrefix(b, []byte("dm-")) || bytes.Count(b, []byte("-")) > 1 && end == len(b) {
			b = b[:i]
		}
	}
	return b
}

// requestErrors are the block layer's words for how a request failed.
var requestErrors = []struct{ words, name, offset string }{
	{"I/O error", "kernel_io_error", "kernel_io_error_offset_bytes"},
	{"critical medium error", "kernel_medium_error", "kernel_medium_error_offset_bytes"},
	{"critical target error", "kernel_target_error", "kernel_target_error_offset_bytes"},
	{"critical space allocation error", "kernel_space_error", "kernel_space_error_offset_bytes"},
	{"critical nexus error", "kernel_nexus_error", "kernel_nexus_error_offset_bytes"},
	{"timeout error", "kernel_timeout_error", "kernel_timeout_error_offset_bytes"},
	{"recoverable transport error", "kernel_transport_error", "kernel_transport_error_offset_bytes"},
	{"protection error", "kernel_protection_error", "kernel_protection_error_offset_bytes"},
	{"kernel resource error", "kernel_resource_error", "kernel_resource_error_offset_bytes"},
	{"device resource error", "kernel_resource_error", "kernel_resource_error_offset_bytes"},
	{"device offline error", "kernel_offline_error", "kernel_offline_error_offset_bytes"},
	{"operation not supported error", "kernel_unsupported_error", "kernel_unsupported_error_offset_bytes"},
	{"zone open resources exceeded", "kernel_zone_error", "kernel_zone_error_offset_bytes"},
	{"zone active resources exceeded", "kernel_zone_error", "kernel_zone_error_offset_bytes"},
}

// request takes "I/O error, dev sda, sector 8 op 0x0:(READ) ...", with the function
// before it that older kernels name.
func (d *dmesg) request(msg, line []byte, out *ingest.Out) dmesgFate {
	b := msg
	for _, function := range [...]string{"blk_update_request: ", "print_req_error: ", "end_request: "} {
		if rest, ok := cutPrefix(b, function); ok {
			b = rest
			break
		}
	}
	for i := range requestErrors {
		e := &requestErrors[i]
		rest, ok := cutPrefix(b, e.words)
		if !ok {
			continue
		}
		if rest, ok = cutPrefix(rest, ", dev "); !ok {
			return dmesgNote
		}
		comma := bytes.IndexByte(rest, ',')
		if comma < 1 || comma > 31 {
			return dmesgTorn
		}
		device := rest[:comma]
		if rest, ok = cutPrefix(rest[comma:], ", sector "); !ok {
			return dmesgTorn
		}
		sector, end := scanDigits(rest, 0)
		if end == 0 {
			return dmesgTorn
		}
		var op []byte
		if i := bytes.Index(rest[end:], []byte(":(")); i >= 0 {
			op = rest[end+i+2:]
			if i = bytes.IndexByte(op, ')'); i >= 0 {
				op = op[:i]
			} else {
				op = nil
			}
		}
		d.event(out, e.name, device, msg, line)
		if sector >= 0 && sector < 1<<54 { // beyond: a request without a place
			d.fact(out, e.offset, device, op, float64(sector*512))
		}
		return dmesgFact
	}
	return dmesgNote
}

// hung takes "INFO: task NAME:PID blocked for more than N seconds."
func (d *dmesg) hung(msg, line []byte, out *ingest.Out) dmesgFate {
	const words = " blocked for more than "
	i := bytes.Index(msg, []byte(words))
	if i < 0 {
		return dmesgNote
	}
	s, end := scanDigits(msg, i+len(words))
	if end == i+len(words) || s < 0 || s > 1e9 || !bytes.HasPrefix(msg[end:], []byte(" second")) {
		return dmesgTorn
	}
	task := msg[len("INFO: task "):max(i, len("INFO: task "))]
	var device []byte
	for _, worker := range [...]string{"jbd2/", "xfsaild/"} { // of one file system each
		if rest, ok := cutPrefix(task, worker); ok {
			device = dmesgWord(rest)
		}
	}
	d.event(out, "kernel_hung_task", device, msg, line)
	d.fact(out, "kernel_hung_task_ns", device, task, float64(s)*1e9)
	return dmesgFact
}

// nvme takes "nvme nvme0: TEXT".
func (d *dmesg) nvme(msg, line []byte, out *ingest.Out) dmesgFate {
	device := dmesgWord(msg[len("nvme "):])
	has := func(s string) bool { return bytes.Contains(msg, []byte(s)) }
	resets := has("will reset") || has("reset controller") || has("resetting controller")
	switch {
	case has("PCIe Bus Error") || has("AER: "):
		return d.event(out, "kernel_pcie_error", nil, msg, line)
	case !bytes.HasPrefix(device, []byte("nvme")):
		return dmesgNote
	case has(" QID ") && has(" timeout"):
		d.event(out, "kernel_nvme_timeout", device, msg, line)
	case has("after probe failure") || has("after reset failure") || has("controller dead"):
		return d.event(out, "kernel_device_lost", device, msg, line)
	case !resets:
		return dmesgNote
	}
	if resets {
		d.event(out, "kernel_device_reset", device, msg, line)
	}
	return dmesgFact
}

// suppressed takes the number of messages that the kernel left out.
func (d *dmesg) suppressed(msg []byte, out *ingest.Out) dmesgFate {
	name, rest := "kernel_messages_dropped", msg[min(3, len(msg)):]
	if msg[0] != '*' {
		colon := bytes.IndexByte(msg, ':')
		if colon < 0 {
			return dmesgNote
		}
		name, rest = "kernel_suppressed", trimBlanks(msg[colon+1:])
		switch string(msg[:colon]) {
		case "blk_update_request", "print_req_error", "blk_print_req_error", "end_request", "buffer_io_error", "scsi_io_completion",
			"scsi_io_completion_action", "nvme_log_error", "nvme_log_err_passthru":
		default:
			return dmesgNote
		}
	}
	n, end := scanDigits(rest, 0)
	if end == 0 || n < 0 || name == "kernel_messages_dropped" && !bytes.Contains(rest, []byte("messages dropped")) {
		return dmesgNote
	}
	d.fact(out, name, nil, msg, float64(n))
	return dmesgFact
}

// anchor takes what a message says of the clock, so that stamps since boot become
// times: "setting system clock to ... (1603788690)", "audit(1603788690.568:1)".
func (d *dmesg) anchor(msg []byte) {
	if d.anchored || !d.now.booted || d.now.walled || msg[0] != 'a' && msg[0] != 'r' {
		return
	}
	var b []byte
	if i := bytes.Index(msg, []byte(" audit(")); i >= 0 && bytes.HasPrefix(msg, []byte("audit: ")) {
		b = msg[i+len(" audit("):]
		if i = bytes.IndexByte(b, ':'); i < 0 {
			return
		}
		b = b[:i]
	} else if i := bytes.Index(msg, []byte("setting system clock to ")); i >= 0 && bytes.HasPrefix(msg, []byte("rtc")) {
		from, to := bytes.LastIndexByte(msg, '('), bytes.LastIndexByte(msg, ')')
		if from < i || to < from {
			return
		}
		b = msg[from+1 : to]
	}
	if ns, ok := epochTime(b); ok && ns > d.now.bootNS {
		d.bootNS, d.anchored, d.told = ns-d.now.bootNS, true, true
	}
}
