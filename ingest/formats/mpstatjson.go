package formats

import (
	"bytes"
	"fmt"

	"github.com/iopathy/iopathy/ingest"
)

// MpstatJSON reads mpstat -o JSON, whole or cut off, minified too: the same facts as
// Mpstat. A line's fate is event if a fact ends in it, else note.
var MpstatJSON = ingest.Register(ingest.Format{
	Name:  "mpstat-json",
	Doc:   "sysstat mpstat -o JSON, whole or cut off",
	Kind:  ingest.KindNone,
	Needs: "the date in the document, else start_ns; zone of the stamps (UTC is taken)",
	Lacks: "devices, I/O; interrupts and topology are notes",
	Sniff: func(head []byte, _ string) int {
		_, behind, ok := bytes.Cut(head, []byte(`"timestamp"`))
		behind = bytes.TrimLeft(behind, " \t\r\n:")
		switch {
		case !bytes.Contains(head, []byte(`"cpu-load"`)) || bytes.Contains(head, []byte(`"sysdata-version"`)):
			return 0
		case ok && len(behind) > 0 && behind[0] == '{': // sadf -j
			return 0
		}
		return 3
	},
	Cut: cutJSON,
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		stamps, err := newIOStamps(src)
		if err != nil {
			return nil, fmt.Errorf("mpstat-json: %w", err)
		}
		d := &mpstatJSON{stamps: stamps, host: src.Host}
		d.stamps.day(src.Options.StartNS)
		d.walk.commas = true
		return d, nil
	},
})

type mpstatJSON struct {
	walk   jsonWalk
	stamps ioStamps
	host   string
	timeNS int64
	timed  bool
	cpu    []byte
	prefix string
	read   ioCPU
	made   bool
	bad    bool
	name   []byte
}

func (d *mpstatJSON) Line(line []byte, out *ingest.Out) {
	d.made, d.bad = false, false
	d.walk.line(line, d, out)
	switch {
	case d.bad:
		out.Reject(line, "bad-value")
	case d.made:
		out.Count(ingest.FateEvent, "", 1)
	default:
		out.Note()
	}
}

func (d *mpstatJSON) opened(*ingest.Out) {
	d.cpu, d.read = d.cpu[:0], ioCPU{}
}

func (d *mpstatJSON) closed(out *ingest.Out) {
	if len(d.cpu) > 0 && d.read.n > 0 && d.timed && !d.bad {
		cpuFacts(out, d.host, d.prefix, d.cpu, d.timeNS, &d.read, &d.name)
		d.made = true
	}
	d.cpu, d.read = d.cpu[:0], ioCPU{}
}

func (d *mpstatJSON) torn(*ingest.Out) { d.cpu, d.read = d.cpu[:0], ioCPU{} }

func (d *mpstatJSON) value(v []byte, _ bool, _ *ingest.Out) {
	switch key := string(d.walk.key); key {
	case "nodename":
		d.host = string(v)
	case "date":
		d.stamps.banner(v)
	case "timestamp":
		if d.timeNS, d.timed = d.stamps.parse(v); !d.timed {
			d.timeNS, d.timed = d.stamps.timeOnly(v)
		}
	case "cpu":
		d.cpu, d.prefix = append(d.cpu[:0], v...), "percpu_"
	case "node":
		d.cpu, d.prefix = append(d.cpu[:0], v...), "pernode_"
	default:
		if len(d.cpu) == 0 {
			return
		}
		if name := cpuName(d.walk.key); name != "" {
			x, ok := percentShare(v)
			d.bad = d.bad || !ok
			d.read.put(name, x)
		}
	}
}

func (d *mpstatJSON) End(*ingest.Out) {}
