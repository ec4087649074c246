package formats

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/iopathy/iopathy/ingest"
)

// Smartctl reads what smartctl -j prints of a disk, one document or many, of ATA,
// SCSI and NVMe. All is evidence at the time that the document tells:
//
//	smart_exit_status, and smart_exit_disk_failing and its like for each bit of it
//	smart_passed, smart_temperature_c, smart_power_on_ns, smart_power_cycles
//	smart_ata_5_raw, _value, _worst, _thresh, _failed for each attribute, by its number
//	smart_ata_error_count, smart_self_test_failed, smart_phy_1, smart_stat_1_8 (page, offset)
//	smart_scsi_read_uncorrected and its like, smart_scsi_grown_defects
//	nvme_media_errors and its like: the names of nvme-smart
//
// The text is the attribute's name, of smart_passed the disk's model. A line's fate
// is event if a fact ends in it, else note.
var Smartctl = ingest.Register(ingest.Format{
	Name:  "smartctl",
	Doc:   "smartctl -j: ATA attributes, SCSI error counters, NVMe health log",
	Kind:  ingest.KindNone,
	Needs: "a time where the document has no local_time: a line with one before it (# EPOCH), else start_ns",
	Lacks: "host; single I/Os; when an attribute changed between two documents; the namespace of an NVMe controller; what packed raw values mean",
	Sniff: sniffSmartctl,
	Cut:   cutJSON,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		facts, err := newSmartFacts(src)
		if err != nil {
			return nil, fmt.Errorf("smartctl: %w", err)
		}
		facts.walk.first = "json_format_version"
		return &smartctl{smartFacts: facts}, nil
	},
})

func sniffSmartctl(head []byte, _ string) int {
	has := func(s string) bool { return bytes.Contains(head, []byte(s)) }
	if has(`"json_format_version"`) && has(`"smartctl"`) || has(`"info_name"`) && has(`"protocol"`) ||
		has(`"nvme_smart_health_information_log"`) || has(`"ata_smart_attributes"`) {
		return 2
	}
	return 0
}

// smartExits are the bits of smartctl's exit status, from the lowest.
var smartExits = [8]string{
	"smart_exit_command_line", "smart_exit_open", "smart_exit_command", "smart_exit_disk_failing",
	"smart_exit_prefail", "smart_exit_was_prefail", "smart_exit_error_log", "smart_exit_self_test",
}

// smartctl is the state between lines.
type smartctl struct {
	smartFacts
	kind, model string
	row         smartRow // the element of a table that is open
	page        float64  // of the device statistics
	hours       float64
	minutes     float64
	powered     bool // power_on_time was told
	failed      float64
	tested      bool // a self-test was told
}

// smartRow is an element of a table.
type smartRow struct {
	id, value, worst, thresh, raw float64
	has                           uint8 // bits of the five
	name                          string
	failed                        string // when_failed
	unsure                        bool   // it is marked as not valid
}

const (
	smartID = 1 << iota
	smartValue
	smartWorst
	smartThresh
	smartRaw
)

func (r *smartRow) take(key string, x float64) {
	switch key {
	case "id", "offset":
		r.id, r.has = x, r.has|smartID
	case "value":
		r.value, r.has = x, r.has|smartValue
	case "worst":
		r.worst, r.has = x, r.has|smartWorst
	case "thresh":
		r.thresh, r.has = x, r.has|smartThresh
	}
}

func (d *smartctl) Line(line []byte, out *ingest.Out) { d.take(line, d, out) }
func (d *smartctl) End(out *ingest.Out)               { d.end(d, out) }

func (d *smartctl) opened(*ingest.Out) {
	switch {
	case d.walk.depth == 1:
		d.begin()
		*d = smartctl{smartFacts: d.smartFacts}
	case d.walk.depth == 4 && d.walk.at(4) == "" && d.walk.at(2) != "ata_device_statistics" || d.walk.depth == 6 && d.walk.at(5) == "table":
		d.row = smartRow{}
	}
}

func (d *smartctl) value(v []byte, text bool, _ *ingest.Out) {
	w := &d.walk
	key := string(w.key)
	x, number := fioNumber(v)
	if text && !number {
		x, number = commaFloat(v)
	}
	if text && key != "gigabytes_processed" {
		number = false
	}
	section := w.at(2)
	switch {
	case w.depth == 1:
		switch {
		case key == "model_name" && text:
			d.model = d.word([]byte(fioText(v)))
		case key == "power_cycle_count":
			d.put("smart_power_cycles", "", x, number)
		case key == "scsi_grown_defect_list":
			d.put("smart_scsi_grown_defects", "", x, number)
		}
	case section == "nvme_smart_health_information_log" && w.depth <= 3:
		d.nvme(key, x, number && !text)
	case w.depth == 2:
		d.head(section, key, v, x, number)
	case section == "ata_smart_error_log" && w.depth == 3 && key == "count":
		d.put("smart_ata_error_count", "", x, number)
	case section == "ata_smart_self_test_log" && key == "passed":
		d.tested = true
		if string(v) == "false" {
			d.failed++
		}
	case section == "scsi_error_counter_log" && w.depth == 3:
		d.scsi(w.at(3), key, x, number)
	case section == "ata_device_statistics" && w.depth == 4 && key == "number":
		d.page = x
	default:
		d.tableCell(section, key, v, x, number)
	}
}

// head takes the sections with figures of their own.
func (d *smartctl) head(section, key string, v []byte, x float64, number bool) {
	switch section {
	case "smartctl":
		if key == "exit_status" {
			d.put("smart_exit_status", "", x, number && x <= 255)
			for bit, name := range smartExits {
				if number && x <= 255 && int(x)>>bit&1 != 0 {
					d.put(name, "", 1, true)
				}
			}
		}
	case "device":
		switch key {
		case "name":
			d.device = strings.TrimPrefix(fioText(v), "/dev/")
		case "type":
			d.kind = fioText(v)
		}
	case "local_time":
		if key == "time_t" && number && x > 0 && x < maxStampMS/1000 {
			d.at, d.timed = int64(x)*1e9, true
		}
	case "smart_status":
		if key == "passed" {
			passed := 0.0
			if string(v) == "true" {
				passed = 1
			}
			d.put("smart_passed", d.model, passed, passed > 0 || string(v) == "false")
		}
	case "temperature":
		if key == "current" {
			d.celsius("smart_temperature_c", x, number)
		}
	case "power_on_time":
		switch {
		case key == "hours" && number:
			d.hours, d.powered, d.made = x, true, true
		case key == "minutes" && number:
			d.minutes, d.made = x, true
		}
	case "endurance_used":
		if key == "current_percent" {
			d.put("smart_endurance_used_percent", "", x, number)
		}
	case "spare_available":
		if key == "current_percent" {
			d.put("smart_spare_available_percent", "", x, number)
		}
	}
}

// nvme takes a figure of the health log.
func (d *smartctl) nvme(key string, x float64, number bool) {
	if d.walk.depth == 3 {
		if d.walk.at(3) == "temperature_sensors" {
			d.celsius(d.word([]byte("nvme_temperature_sensor_"+strconv.Itoa(d.walk.nth[2])+"_c")), x, number)
		}
		return
	}
	if key == "temperature" {
		d.celsius("nvme_temperature_c", x, number)
		return
	}
	d.health(key, x, number)
}

// scsi takes the error counters of reads, writes and verifications.
func (d *smartctl) scsi(op, key string, x float64, number bool) {
	switch op {
	case "read", "write", "verify":
	default:
		return
	}
	what := ""
	switch key {
	case "total_uncorrected_errors":
		what = "_uncorrected"
	case "total_errors_corrected":
		what = "_corrected"
	case "errors_corrected_by_eccfast":
		what = "_corrected_fast"
	case "errors_corrected_by_eccdelayed":
		what = "_corrected_delayed"
	case "errors_corrected_by_rereads_rewrites":
		what = "_corrected_by_retry"
	case "gigabytes_processed":
		what, x = "_bytes", x*1e9 // a text, printed by the locale
	default:
		return
	}
	d.put(d.word([]byte("smart_scsi_"+op+what)), "", x, number)
}

// tableCell takes a cell of a table.
func (d *smartctl) tableCell(section, key string, v []byte, x float64, number bool) {
	depth := d.walk.depth
	switch section {
	case "ata_smart_attributes", "sata_phy_event_counters":
	case "ata_device_statistics":
		depth -= 2
	default:
		return
	}
	switch r := &d.row; {
	case depth == 4 && key == "name":
		r.name = d.word([]byte(fioText(v)))
	case depth == 4 && key == "when_failed":
		r.failed = d.word(v)
	case depth == 4 && number && x >= 0:
		r.take(key, x)
	case depth == 5 && d.walk.at(d.walk.depth) == "raw" && key == "value" && number && x >= 0:
		r.raw, r.has = x, r.has|smartRaw
	case depth == 5 && key == "valid":
		r.unsure = string(v) == "false"
	}
}

func (d *smartctl) closed(out *ingest.Out) {
	w := &d.walk
	switch {
	case w.depth == 1:
		if d.powered {
			d.put("smart_power_on_ns", "", d.hours*3600e9+d.minutes*60e9, true)
		}
		if d.tested {
			d.put("smart_self_test_failed", "", d.failed, true)
		}
		// Disks behind a RAID controller share the controller's name.
		if _, disk, ok := strings.Cut(d.kind, "+"); ok && strings.Contains(disk, ",") {
			d.device += ":" + disk
		} else if strings.Contains(d.kind, ",") {
			d.device += ":" + d.kind
		}
		d.document(out)
	case w.depth == 4 && w.at(2) == "ata_smart_attributes" && w.at(3) == "table":
		d.attribute()
	case w.depth == 4 && w.at(2) == "sata_phy_event_counters" && w.at(3) == "table":
		if r := &d.row; r.has&(smartID|smartValue) == smartID|smartValue {
			d.put(d.word([]byte("smart_phy_"+strconv.Itoa(int(min(r.id, 1e6))))), r.name, r.value, true)
		}
	case w.depth == 6 && w.at(2) == "ata_device_statistics" && w.at(5) == "table":
		if r := &d.row; r.has&(smartID|smartValue) == smartID|smartValue && !r.unsure {
			name := "smart_stat_" + strconv.Itoa(int(min(d.page, 1e6))) + "_" + strconv.Itoa(int(min(r.id, 1e6)))
			d.put(d.word([]byte(name)), r.name, r.value, true)
		}
	}
}

// attribute tells what is known of an ATA attribute.
func (d *smartctl) attribute() {
	r := &d.row
	if r.has&smartID == 0 || r.id > 255 {
		return
	}
	prefix := "smart_ata_" + strconv.Itoa(int(r.id))
	tell := func(bit uint8, what string, x float64) {
		if r.has&bit == bit {
			d.put(d.word([]byte(prefix+what)), r.name, x, true)
		}
	}
	tell(smartRaw, "_raw", r.raw)
	tell(smartValue, "_value", r.value)
	tell(smartWorst, "_worst", r.worst)
	tell(smartThresh, "_thresh", r.thresh)
	if r.failed == "now" || r.failed == "past" || r.has&(smartValue|smartThresh) == smartValue|smartThresh && r.thresh > 0 && r.value <= r.thresh {
		tell(smartID, "_failed", 1)
	}
}

func (d *smartctl) torn(out *ingest.Out) { d.incomplete(out) }
