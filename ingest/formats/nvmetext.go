package formats

import (
	"bytes"
	"strings"

	"github.com/iopathy/iopathy/ingest"
)

// nvmeTextHead begins what nvme smart-log prints as text:
//
//	Smart Log for NVME device:nvme0n1 namespace-id:ffffffff
//	critical_warning			: 0
//	temperature				: 42 C (315 Kelvin)
//	Data Units Read				: 26,438,573 (13.54 TB)
const nvmeTextHead = "smart log for nvme device:"

// nvmeTextDevice is the device of a heading; ok is false if the line is none.
func nvmeTextDevice(line []byte) (device string, ok bool) {
	b := trimBlanks(line)
	if len(b) < len(nvmeTextHead) || !bytes.EqualFold(b[:len(nvmeTextHead)], []byte(nvmeTextHead)) {
		return "", false
	}
	name, _, _ := bytes.Cut(trimBlanks(b[len(nvmeTextHead):]), []byte(" "))
	return nvmeDevice(string(name)), true
}

// nvmeTextKeys are those that the text names otherwise than JSON, in small letters
// with underlines.
var nvmeTextKeys = map[string]string{
	"warning_temperature_time":            "warning_temp_time",
	"critical_composite_temperature_time": "critical_comp_time",
	"thermal_management_t1_trans_count":   "thm_temp1_trans_count",
	"thermal_management_t2_trans_count":   "thm_temp2_trans_count",
	"thermal_management_t1_total_time":    "thm_temp1_total_time",
	"thermal_management_t2_total_time":    "thm_temp2_total_time",
}

// textLine takes a line of the text; false says that it belongs to none, and that
// the one before it has ended.
func (d *nvmeSmart) textLine(line []byte, out *ingest.Out) bool {
	if device, ok := nvmeTextDevice(line); ok {
		d.endText(out)
		d.begin()
		if d.text, d.device = true, device; device == "" {
			d.device = d.named
		}
		if d.held {
			d.held = false
			out.Note()
		}
		out.Note()
		return true
	}
	if !d.text {
		return false
	}
	b := trimBlanks(line)
	if clock := d.clock; len(b) > 0 && (b[0] == '{' || clock.mark(line)) {
		d.endText(out)
		return false
	}
	key, value, ok := bytes.Cut(b, []byte(":"))
	d.made, d.bad, d.position = false, false, out.Position
	if ok && len(key) <= 64 {
		d.figure(strings.ReplaceAll(strings.ToLower(string(trimBlanks(key))), " ", "_"), trimBlanks(value))
	}
	switch {
	case d.made:
		out.Count(ingest.FateEvent, "", 1)
	case d.bad:
		out.Reject(line, "bad-value")
	default:
		out.Note()
	}
	return true
}

// figure takes a key and what stands behind it.
func (d *nvmeSmart) figure(key string, value []byte) {
	if k, ok := nvmeTextKeys[key]; ok {
		key = k
	}
	sensor, isSensor := strings.CutPrefix(key, "temperature_sensor_")
	switch {
	case key == "temperature":
		x, ok := nvmeTextNumber(value)
		d.celsius("nvme_temperature_c", x, ok)
	case isSensor && len(sensor) <= 2:
		x, ok := nvmeTextNumber(value)
		d.celsius(d.word([]byte("nvme_temperature_sensor_"+sensor+"_c")), x, ok)
	default:
		if _, known := nvmeFacts[key]; known {
			x, ok := nvmeTextNumber(value)
			d.health(key, x, ok)
		}
	}
}

// nvmeTextNumber reads the number that a value begins with: whole, with a sign, as
// 0x..., or in groups of three digits as a locale has them. Behind it may stand
// a unit, or the same figure in other words.
func nvmeTextNumber(b []byte) (float64, bool) {
	if hex, ok := cutPrefix(b, "0x"); ok && len(hex) > 0 && len(hex) <= 8 {
		x := 0
		for _, c := range hex {
			v := hexDigit(c)
			if v < 0 {
				return 0, false
			}
			x = x<<4 | v
		}
		return float64(x), true
	}
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	x, digits, i := 0.0, 0, 0
	for i < len(b) {
		if isDecimal(b[i]) {
			x = x*10 + float64(b[i]-'0')
			digits++
			i++
			continue
		}
		k := i // a sign between groups: one byte, or a letter beyond ASCII
		for k < len(b) && k < i+3 && (k == i || b[k] >= 0x80) && (b[k] == ',' || b[k] == '.' || b[k] == '\'' || b[k] == ' ' || b[k] >= 0x80) {
			k++
		}
		if k == i || digits == 0 || k+3 > len(b) || !isDecimal(b[k]) || !isDecimal(b[k+1]) || !isDecimal(b[k+2]) || k+3 < len(b) && isDecimal(b[k+3]) {
			break
		}
		i = k
	}
	if digits == 0 || digits > 39 || i < len(b) && (b[i] == '.' || b[i] == ',') {
		return 0, false
	}
	if negative {
		x = -x
	}
	return x, true
}

// endText ends a text.
func (d *nvmeSmart) endText(out *ingest.Out) {
	if d.text {
		d.text = false
		d.document(out)
	}
}
