package formats

import (
	"bytes"
	"math"
	"strconv"

	"github.com/iopathy/iopathy/ingest"
)

// smartFact is evidence of a document whose device and time may come later.
type smartFact struct {
	name, text string
	value      float64
	position   int64
}

// smartFacts gathers the facts of one document of a disk's health.
type smartFacts struct {
	walk   jsonWalk
	clock  seriesClock
	host   string
	device string
	at     int64 // ns; that the document tells
	timed  bool
	facts  []smartFact
	words  map[string]string

	position int64 // of the line in hand
	made     bool  // a fact ends in the line
	bad      bool  // a figure of the line is none
	begun    bool  // a document was seen

	first ingest.Reject // the first line of text: what is refused if no document comes
	held  bool          // it has no fate yet
}

const (
	smartMostFacts = 1 << 13 // of a document
	smartMostWords = 1 << 12 // kept from document to document
)

func newSmartFacts(src *ingest.Source) (smartFacts, error) {
	clock, err := newSeriesClock(src)
	return smartFacts{clock: clock, host: src.Host, words: make(map[string]string)}, err
}

// word is b as a string that is made once.
func (d *smartFacts) word(b []byte) string {
	if s, ok := d.words[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(d.words) < smartMostWords {
		d.words[s] = s
	}
	return s
}

// put keeps a fact; ok false says that its value is no figure of its kind.
func (d *smartFacts) put(name, text string, x float64, ok bool) {
	if !ok || x < 0 || math.IsInf(x, 0) {
		d.bad = true
		return
	}
	d.add(name, text, x)
}

func (d *smartFacts) add(name, text string, x float64) {
	d.made = true
	if len(d.facts) < smartMostFacts {
		d.facts = append(d.facts, smartFact{name, text, x, d.position})
	}
}

// celsius keeps a temperature, which may be below 0.
func (d *smartFacts) celsius(name string, x float64, ok bool) {
	if !ok || x < -100 || x > 300 {
		d.bad = true
		return
	}
	d.add(name, "", x)
}

// take takes a line by the walk, whose visitor v is the decoder that holds d.
func (d *smartFacts) take(line []byte, v jsonVisitor, out *ingest.Out) {
	d.made, d.bad = false, false
	d.position = out.Position
	if i := d.clock.seam(line); i > 0 {
		if d.walk.depth > 0 {
			d.walk.cut(v, out)
		}
		d.clock.mark(line[i:])
		out.Reject(line, seamReason)
		return
	}
	switch {
	case d.walk.line(line, v, out):
	case d.walk.depth == 0 && d.clock.mark(line):
	case !d.begun && !d.held:
		d.held = true
		d.first = ingest.Reject{Position: out.Position, Line: out.Lineno, Reason: "no-json", Text: string(line[:min(len(line), ingest.RejectTextBytes)])}
		return
	}
	switch {
	case d.made:
		out.Count(ingest.FateEvent, "", 1)
	case d.bad:
		out.Reject(line, "bad-value")
	default:
		out.Note()
	}
	if d.begun && d.held {
		d.held = false
		out.Note()
	}
}

// begin begins a document.
func (d *smartFacts) begin() {
	d.begun = true
	d.facts, d.device, d.at, d.timed = d.facts[:0], "", 0, false
}

// document adds the facts of a document that ends.
func (d *smartFacts) document(out *ingest.Out) {
	if !d.timed {
		d.at = 0
		if d.clock.timed {
			d.at = d.clock.timeNS
		}
	}
	position := out.Position
	host, device := out.Names.InternString(d.host), out.Names.InternString(d.device)
	for i := range d.facts {
		f := &d.facts[i]
		out.Position = f.position
		out.Fact(ingest.Evidence{TimeNS: d.at, Host: host, Device: device, Name: out.Names.InternString(f.name), Text: out.Names.InternString(f.text), Value: f.value})
	}
	out.Position = position
	d.facts = d.facts[:0]
	d.clock.next()
}

// incomplete adds the facts of a document that has no end, and says so.
func (d *smartFacts) incomplete(out *ingest.Out) {
	if d.walk.wrapped && len(d.facts) == 0 { // it was what a document of another kind says before this one
		return
	}
	d.facts = append(d.facts, smartFact{"smart_incomplete", "", 1, out.Position})
	d.document(out)
}

// end settles what is open.
func (d *smartFacts) end(v jsonVisitor, out *ingest.Out) {
	if d.walk.depth > 0 {
		for n := len(d.facts); n > 0 && d.walk.loose && d.facts[n-1].position == d.position; n-- {
			d.facts = d.facts[:n-1] // the last number may be a part of one
		}
		v.torn(out)
		d.walk.depth = 0
	}
	if d.held {
		position, lineno := out.Position, out.Lineno
		out.Position, out.Lineno = d.first.Position, d.first.Line
		out.Reject([]byte(d.first.Text), d.first.Reason)
		out.Position, out.Lineno = position, lineno
		d.held = false
	}
}

// nvmeFact is a figure of the NVMe health log in base units.
type nvmeFact struct {
	name  string
	scale float64
}

// nvmeFacts are the figures of the health log by their keys: those of smartctl and
// of nvme-cli. Data units are 1000 blocks of 512 bytes, whatever the disk's blocks.
var nvmeFacts = map[string]nvmeFact{
	"critical_warning":          {"nvme_critical_warning", 1},
	"available_spare":           {"nvme_available_spare_percent", 1},
	"avail_spare":               {"nvme_available_spare_percent", 1},
	"available_spare_threshold": {"nvme_spare_threshold_percent", 1},
	"spare_thresh":              {"nvme_spare_threshold_percent", 1},
	"percentage_used":           {"nvme_used_percent", 1},
	"percent_used":              {"nvme_used_percent", 1},
	"data_units_read":           {"nvme_read_bytes", 512000},
	"data_units_written":        {"nvme_write_bytes", 512000},
	"host_reads":                {"nvme_reads", 1},
	"host_read_commands":        {"nvme_reads", 1},
	"host_writes":               {"nvme_writes", 1},
	"host_write_commands":       {"nvme_writes", 1},
	"controller_busy_time":      {"nvme_busy_ns", 60e9},
	"power_cycles":              {"nvme_power_cycles", 1},
	"power_on_hours":            {"nvme_power_on_ns", 3600e9},
	"unsafe_shutdowns":          {"nvme_unsafe_shutdowns", 1},
	"media_errors":              {"nvme_media_errors", 1},
	"num_err_log_entries":       {"nvme_error_log_entries", 1},
	"warning_temp_time":         {"nvme_warning_temperature_ns", 60e9},
	"critical_comp_time":        {"nvme_critical_temperature_ns", 60e9},
	"thm_temp1_trans_count":     {"nvme_thermal_1_transitions", 1},
	"thm_temp2_trans_count":     {"nvme_thermal_2_transitions", 1},
	"thm_temp1_total_time":      {"nvme_thermal_1_ns", 1e9},
	"thm_temp2_total_time":      {"nvme_thermal_2_ns", 1e9},
}

// health takes a figure of the NVMe health log.
func (d *smartFacts) health(key string, x float64, ok bool) {
	if f, known := nvmeFacts[key]; known {
		d.put(f.name, "", x*f.scale, ok)
	}
}

// nvmeDevice is the NVMe device that a file's name tells: nvme0 or nvme0n1.
func nvmeDevice(name string) string {
	b := []byte(name)
	i := bytes.LastIndex(b, []byte("nvme"))
	for i >= 0 {
		end := i + 4
		n, to := scanDigits(b, end)
		if to > end && to < end+5 && n >= 0 {
			device := "nvme" + strconv.FormatInt(n, 10)
			if to+1 < len(b) && b[to] == 'n' && isDecimal(b[to+1]) {
				k, last := scanDigits(b, to+1)
				if k >= 0 && last < to+6 {
					device += "n" + strconv.FormatInt(k, 10)
				}
			}
			return device
		}
		i = bytes.LastIndex(b[:i], []byte("nvme"))
	}
	return ""
}
