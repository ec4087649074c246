package reports

import (
	"fmt"
	"strings"
)

// DeviceSources says which recordings there are of one device, and which of
// them stands for it: where several tools saw it, each tick takes one.
type DeviceSources struct {
	Host       string      `json:"host"`
	Device     string      `json:"device"`
	Coverage   float64     `json:"coverage"` // share of the I/O that was seen, as far as it can be told
	Recordings []Recording `json:"recordings,omitempty"`
	Beneath    []string    `json:"beneath,omitempty"` // devices that carry its I/O; it has no windows of its own if it is LeftOut
	LeftOut    bool        `json:"left_out,omitempty"`
	Note       string      `json:"note,omitempty"`
}

// Recording is what one tool recorded of a device: an input, or several that
// are parts of one whole.
type Recording struct {
	Inputs   []string   `json:"inputs"` // names
	Format   string     `json:"format"`
	Rank     string     `json:"rank"` // block trace, driver trace, application, samples
	Kind     string     `json:"latency_kind"`
	FromNS   int64      `json:"from_ns"`
	ToNS     int64      `json:"to_ns"`
	Requests int64      `json:"requests"` // reads and writes
	Bytes    int64      `json:"bytes"`
	UsedNS   int64      `json:"used_ns"` // time in which it stands for the device
	Used     [][2]int64 `json:"used,omitempty"`
	// Stretches is how many stretches of time it was used in; Used lists the first.
	Stretches int `json:"stretches"`
	// Check is what it holds of the time in which another one stands for the device.
	Check    Check  `json:"check"`
	Counters string `json:"counters,omitempty"` // format of the counters that its coverage was measured by
}

// Check is what two recordings hold of the same time.
type Check struct {
	Requests     int64 `json:"requests"`
	Bytes        int64 `json:"bytes"`
	UsedRequests int64 `json:"used_requests"` // of what stands for the device
	UsedBytes    int64 `json:"used_bytes"`
}

// maxRecordings is the most rows of the table of recordings.
const maxRecordings = 300

// recordingView is a row of the table of recordings.
type recordingView struct {
	Device, Inputs, Format, Kind, Requests, Bytes, Used, Why, Check, Coverage string
	Taken                                                                     bool
}

// recordings makes the table of which recording stands for a device.
func (f *facts) recordings(p *pageView) {
	for i := range f.in.Ingest.Devices {
		d := &f.in.Ingest.Devices[i]
		for k := range d.Recordings {
			if len(p.Recordings) == maxRecordings {
				p.RecordingsLeft++
				continue
			}
			p.Recordings = append(p.Recordings, f.recordingView(d, &d.Recordings[k]))
		}
	}
}

func (f *facts) recordingView(d *DeviceSources, r *Recording) recordingView {
	v := recordingView{
		Device: label(d.Host + "/" + d.Device), Inputs: label(strings.Join(r.Inputs, ", ")), Format: label(r.Format), Kind: label(r.Rank + ", " + r.Kind),
		Requests: count(r.Requests), Bytes: volume(float64(r.Bytes)), Used: "no", Taken: r.UsedNS > 0,
		Why: "another one ranks before it",
	}
	if v.Taken {
		v.Why = "ranks first of those that ran"
		v.Coverage = percent(d.Coverage)
		var stretches []string
		for _, u := range r.Used[:min(len(r.Used), 3)] {
			stretches = append(stretches, f.time.at(u[0])+" to "+f.time.at(u[1]))
		}
		if more := r.Stretches - len(stretches); more > 0 {
			stretches = append(stretches, fmt.Sprintf("%d more", more))
		}
		v.Used = span(float64(r.UsedNS)/1e9) + ": " + strings.Join(stretches, ", ")
	}
	if d.LeftOut {
		v.Used, v.Why = "no", "its I/O is that of what is beneath it"
	}
	if r.Counters != "" {
		v.Coverage = strings.TrimSpace(v.Coverage + " by " + label(r.Counters))
	}
	if c := r.Check; c.Requests+c.UsedRequests > 0 {
		v.Check = fmt.Sprintf("%s of %s requests, %s of %s", count(c.Requests), count(c.UsedRequests), volume(float64(c.Bytes)), volume(float64(c.UsedBytes)))
	}
	return v
}
