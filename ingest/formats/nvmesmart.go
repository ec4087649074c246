package formats

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/iopathy/iopathy/ingest"
)

// NVMeSmart reads what nvme smart-log prints, -o json or text, one document or many. All is
// evidence, by the names that smartctl's NVMe log has here too: nvme_media_errors,
// nvme_used_percent, nvme_read_bytes. Figures may be numbers or text, as nvme-cli's
// versions have it; temperatures are in kelvin there and in degrees Celsius here.
//
// A line's fate is event if a fact ends in it, else note.
var NVMeSmart = ingest.Register(ingest.Format{
	Name:  "nvme-smart",
	Doc:   "nvme smart-log (nvme-cli), JSON or text: the health log of an NVMe disk",
	Kind:  ingest.KindNone,
	Needs: "a device in the file's name (nvme0n1) for JSON; a time: a line with one before the document (# EPOCH), else start_ns and interval",
	Lacks: "time; device (JSON); host, model, single I/Os; counters above 2^53 lose their last digits",
	Sniff: func(head []byte, _ string) int {
		has := func(s string) bool { return bytes.Contains(head, []byte(s)) }
		if has(`"critical_warning"`) && (has(`"avail_spare"`) || has(`"percent_used"`)) {
			return 2
		}
		for line := range bytes.Lines(head) {
			if _, ok := nvmeTextDevice(line); ok {
				return 2
			}
		}
		return 0
	},
	Cut: cutJSON,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		facts, err := newSmartFacts(src)
		if err != nil {
			return nil, fmt.Errorf("nvme-smart: %w", err)
		}
		facts.walk.first = "critical_warning"
		return &nvmeSmart{smartFacts: facts, named: nvmeDevice(filepath.Base(src.Path))}, nil
	},
})

// nvmeSmart is the state between lines.
type nvmeSmart struct {
	smartFacts
	named string // the device that the file's name tells
	text  bool   // a text is open
}

func (d *nvmeSmart) Line(line []byte, out *ingest.Out) {
	if d.walk.depth > 0 || !d.textLine(line, out) {
		d.take(line, d, out)
	}
}

func (d *nvmeSmart) End(out *ingest.Out) {
	d.endText(out)
	d.end(d, out)
}

func (d *nvmeSmart) opened(*ingest.Out) {
	if d.walk.depth == 1 {
		d.begin()
		d.device = d.named
	}
}

func (d *nvmeSmart) closed(out *ingest.Out) {
	if d.walk.depth == 1 {
		d.document(out)
	}
}

func (d *nvmeSmart) torn(out *ingest.Out) { d.incomplete(out) }

func (d *nvmeSmart) value(v []byte, _ bool, _ *ingest.Out) {
	key := string(d.walk.key)
	switch {
	case d.walk.depth == 2 && d.walk.at(2) == "critical_warning" && key == "value":
		key = "critical_warning"
	case d.walk.depth > 1:
		return
	}
	x, ok := fioNumber(v)
	sensor, isSensor := strings.CutPrefix(key, "temperature_sensor_")
	switch {
	case key == "temperature":
		d.kelvin("nvme_temperature_c", x, ok)
	case isSensor && len(sensor) <= 2:
		d.kelvin(d.word([]byte("nvme_temperature_sensor_"+sensor+"_c")), x, ok)
	default:
		d.health(key, x, ok)
	}
}

// kelvin keeps a temperature, of which nvme-cli makes degrees by 273, too; 0 is
// that of a sensor that is not there.
func (d *nvmeSmart) kelvin(name string, x float64, ok bool) {
	if ok && x == 0 {
		return
	}
	d.celsius(name, x-273, ok)
}
