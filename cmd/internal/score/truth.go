package score

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Run is one recording of a corpus: a device's fault and why, before the
// recording itself tells which device it is.
type Run struct {
	Name   string
	Faults []Fault
	Cause  Expectation
	Period float64 // of bursts, s; 0: not told
}

// ReadTruth reads the labels.csv of a corpus of recordings: columns run, label,
// parameters (JSON), fault_start_ns, fault_end_ns; others are ignored. The
// error names the line.
func ReadTruth(r io.Reader) ([]Run, error) {
	var runs []Run
	err := table(r, []string{"run", "label", "parameters", "fault_start_ns", "fault_end_ns"}, func(cell []string) error {
		run := Run{Name: cell[0]}
		if run.Name == "" || strings.ContainsAny(run.Name, `/\`) {
			return fmt.Errorf("run %q is no name of a file", run.Name)
		}
		f, sick, err := fault(cell[1], cell[3], cell[4])
		if err != nil {
			return err
		}
		if sick {
			var p parameters
			if err := json.Unmarshal([]byte(cell[2]), &p); err != nil {
				return fmt.Errorf("parameters: %w", err)
			}
			f.Stalls = append([][2]int64{}, p.Stalls...)
			run.Faults, run.Cause = []Fault{f}, p.cause(f.Label)
			if f.Label == burst {
				run.Period = p.Notes.PeriodMS / 1000
			}
		}
		runs = append(runs, run)
		return nil
	})
	return runs, err
}

// parameters is what was done in a recording, as far as it tells the cause.
type parameters struct {
	Stalls [][2]int64 `json:"stalls_ns"`
	Notes  struct {
		Variant  string  `json:"variant"`
		How      string  `json:"how"`
		Mode     string  `json:"mode"`
		Procs    int     `json:"procs"`
		Throttle float64 `json:"throttle_mbs"`
		Cap      float64 `json:"cap_mbs"`
		PeriodMS float64 `json:"period_ms"`
	} `json:"notes"`
}

// known says, per pathology and what was done, which causes of the catalogue
// are right.
var known = map[string]map[string][]string{
	"queue-saturation": {
		"closed": {"too-many-jobs"}, "open": {"load-above-capacity"}, "step": {"load-grows"},
		"step of one": {"too-many-jobs"}, // a single process joins: a fixed load from then on
	},
	"media-degradation": {
		"const": {"uniformly-slow"}, "grow": {"ageing"}, "region": {"slow-region"}, "retry": {"read-retries"},
	},
	"bandwidth-saturation": {
		"cgroup limit": {"cgroup-throttle", "throttle-in-portions"}, "device cap": {"volume-limit", "link-limit"},
	},
	"metadata-storm": {"cold-stat": {"cold-lookups"}, "create-fsync": {"fsync-per-record"}},
	"cache-thrash": {
		"mmap": {"mmap-faults"}, "pread": {"random-over-cache", "cyclic-scan"},
	},
	"writeback-stall": {
		// syncfs has the kernel's flusher write, as a dirty limit has: the block layer
		// tells them apart by the flushes alone, where the device takes any.
		"fsync": {"checkpoint-fsync"}, "fdatasync": {"checkpoint-fsync"}, "syncfs": {"bulk-sync", "dirty-limit"}, "sync_file_range": {"dirty-limit", "bulk-sync"},
	},
}

func (p *parameters) cause(label string) Expectation {
	what := ""
	switch label {
	case "queue-saturation":
		if what = p.Notes.Mode; what == "step" && p.Notes.Procs == 1 {
			what = "step of one"
		}
	case "media-degradation", "metadata-storm":
		what = p.Notes.Variant
	case "bandwidth-saturation":
		switch {
		case p.Notes.Throttle > 0:
			what = "cgroup limit"
		case p.Notes.Cap > 0:
			what = "device cap"
		}
	case "cache-thrash", "writeback-stall":
		if what = p.Notes.How; what == "sfr" {
			what = "sync_file_range"
		}
	}
	right := known[label][what]
	if right == nil {
		return Expectation{}
	}
	return Expectation{What: what, Right: right}
}

// ReadFaults reads a plain truth: columns host, device, label, fault_start_ns,
// fault_end_ns, and parameters (JSON, as in a corpus) if there is such a column;
// others are ignored. A device may stand in several rows, one a fault; label
// healthy, or no span, is no fault. What parameters tell of causes and periods
// counts for devices of one fault. The error names the line.
func ReadFaults(r io.Reader) ([]Device, error) {
	var devices []Device
	at := map[Key]int{}
	err := table(r, []string{"host", "device", "label", "fault_start_ns", "fault_end_ns", "?parameters"}, func(cell []string) error {
		f, sick, err := fault(cell[2], cell[3], cell[4])
		if err != nil {
			return err
		}
		var p parameters
		if sick && cell[5] != "" {
			if err := json.Unmarshal([]byte(cell[5]), &p); err != nil {
				return fmt.Errorf("parameters: %w", err)
			}
			f.Stalls = p.Stalls
		}
		k := Key{Host: cell[0], Device: cell[1]}
		i, ok := at[k]
		if !ok {
			i = len(devices)
			at[k], devices = i, append(devices, Device{Key: k})
		}
		if sick {
			d := &devices[i]
			d.Faults = append(d.Faults, f)
			d.Cause, d.Period = Expectation{}, 0
			if len(d.Faults) == 1 {
				d.Cause = p.cause(f.Label)
				if f.Label == burst {
					d.Period = p.Notes.PeriodMS / 1000
				}
			}
		}
		return nil
	})
	return devices, err
}

func fault(label, from, to string) (f Fault, sick bool, err error) {
	if label == "" {
		return f, false, errors.New("no label")
	}
	if label == healthy || from == "" {
		return f, false, nil
	}
	f.Label = label
	if f.FromNS, err = strconv.ParseInt(from, 10, 64); err != nil {
		return f, false, fmt.Errorf("fault_start_ns: %w", err)
	}
	if f.ToNS, err = strconv.ParseInt(to, 10, 64); err != nil {
		return f, false, fmt.Errorf("fault_end_ns: %w", err)
	}
	if f.ToNS <= f.FromNS {
		return f, false, fmt.Errorf("the fault ends at %d, not after its start %d", f.ToNS, f.FromNS)
	}
	return f, true, nil
}

// CountRequests reads a recording (CSV of one device: completion in ns, host,
// device, anything) and gives its device and the requests of each grid window.
func CountRequests(r io.Reader, windowNS int64) (Key, map[int64]int, error) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	var k Key
	n := map[int64]int{}
	for line := 1; s.Scan(); line++ {
		if line == 1 {
			continue // header
		}
		f := bytes.SplitN(s.Bytes(), []byte(","), 4)
		if len(f) < 4 {
			return k, nil, fmt.Errorf("line %d: %d columns, want host and device in the second and third", line, len(f))
		}
		t, err := strconv.ParseInt(string(f[0]), 10, 64)
		if err == nil && t < 0 {
			err = errors.New("before 1970")
		}
		if err != nil {
			return k, nil, fmt.Errorf("line %d: time %q: %w", line, f[0], err)
		}
		switch {
		case len(n) == 0:
			k = Key{Host: string(f[1]), Device: string(f[2])}
		case string(f[1]) != k.Host || string(f[2]) != k.Device:
			return k, nil, fmt.Errorf("line %d: %s/%s beside %s/%s: a recording has one device", line, f[1], f[2], k.Host, k.Device)
		}
		n[t-t%windowNS]++
	}
	return k, n, s.Err()
}

// ReadLabels reads the rows of a labels.csv whose device is of interest, and
// the length of their windows. Windows of several lengths, or one that stands
// twice, are errors; they name the line.
func ReadLabels(r io.Reader, of func(Key) bool) (said []Said, windowNS int64, err error) {
	type window struct {
		Key
		start int64
	}
	seen := map[window]bool{}
	names := []string{"host", "device", "window_start_ns", "window_end_ns", "verdict", "pathology", "class_id", "severity", "confidence", "root_cause"}
	err = table(r, names, func(cell []string) error {
		w := Said{
			Key: Key{Host: cell[0], Device: cell[1]}, Verdict: cell[4], Pathology: cell[5], ClassID: cell[6],
			Confidence: math.NaN(), RootCause: cell[9],
		}
		if !of(w.Key) {
			return nil
		}
		for i, to := range []*int64{&w.StartNS, &w.EndNS} {
			if *to, err = strconv.ParseInt(cell[2+i], 10, 64); err != nil {
				return fmt.Errorf("%s: %w", names[2+i], err)
			}
		}
		for i, to := range []*float64{&w.Severity, &w.Confidence} {
			if cell[7+i] == "" {
				continue
			}
			if *to, err = strconv.ParseFloat(cell[7+i], 64); err != nil {
				return fmt.Errorf("%s: %w", names[7+i], err)
			}
		}
		length := w.EndNS - w.StartNS
		switch {
		case length <= 0:
			return fmt.Errorf("the window ends at %d, not after its start %d", w.EndNS, w.StartNS)
		case windowNS == 0:
			windowNS = length
		case length != windowNS:
			return fmt.Errorf("a window of %d ns beside those of %d ns: score them apart", length, windowNS)
		}
		at := window{w.Key, w.StartNS}
		if seen[at] {
			return fmt.Errorf("the window of %s/%s at %d stands twice", w.Host, w.Device, w.StartNS)
		}
		seen[at] = true
		said = append(said, w)
		return nil
	})
	return said, windowNS, err
}

// table calls add with the named columns of each row of a CSV with a header. One
// whose name begins with ? may be missing: its cells are empty then.
func table(r io.Reader, names []string, add func(cell []string) error) error {
	c := csv.NewReader(r)
	c.ReuseRecord = true
	head, err := c.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("line 1: no header")
	}
	if err != nil {
		return err
	}
	column := make([]int, len(names))
	for i, n := range names {
		n, optional := strings.CutPrefix(n, "?")
		if column[i] = slices.Index(head, n); column[i] < 0 && !optional {
			return fmt.Errorf("line 1: no column %s", n)
		}
	}
	cell := make([]string, len(names))
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err // it names the line
		}
		for i, at := range column {
			if cell[i] = ""; at >= 0 {
				cell[i] = row[at]
			}
		}
		if err := add(cell); err != nil {
			line, _ := c.FieldPos(0)
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}
