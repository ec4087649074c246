package local

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// witness gives the windows what the evidence of the lake answers to the
// questions of the catalogue, and finds what it tells of devices without any. Evidence of a device speaks of its partitions, that of an NVMe
// controller of its namespaces, that of a host of all its devices; the closest
// is heard. Where the windows are of one host, rows whose source names no host
// speak of it, too.
func (j *Job) witness(windows *Windows, rules *cluster.Rules) error {
	j.found = nil
	hosts, err := j.listen(windows, rules, only(windows))
	if err != nil || len(hosts) == 0 {
		return err
	}
	if j.found, err = j.findings(windows, hosts, rules); err != nil || j.cells == nil {
		return err
	}
	dates := map[string]bool{}
	for c := range j.cells {
		dates[c.date] = true
	}
	j.found = slices.DeleteFunc(j.found, func(f cluster.Finding) bool { // of other days
		return f.ToNS != 0 && !dates[lake.Date(f.FromNS)] && !dates[lake.Date(f.ToNS)]
	})
	return nil
}

// listen gives the windows what the evidence answers, and the parts of it by host. lone
// says that all windows of the lake are of one host, and not just these.
func (j *Job) listen(windows *Windows, rules *cluster.Rules, lone bool) (map[string][]string, error) {
	windows.deafen()
	hosts, err := j.evidenceByHost()
	if err != nil || len(hosts) == 0 {
		return nil, err
	}
	return hosts, placeEvidence(j.opener(), windows, hosts, rules.Asked(), lone)
}

// evidenceByHost are the parts of evidence of the inputs in hand, by host.
func (j *Job) evidenceByHost() (map[string][]string, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	set := map[string]bool{}
	for _, in := range j.inputs {
		set[in] = true
	}
	return j.partsByHost(manifests, lake.Evidence, func(input string) bool { return j.inputs == nil || set[input] })
}

// placeEvidence gives the windows the answers of the parts, host by host.
func placeEvidence(o lake.Opener, windows *Windows, hosts map[string][]string, asked []features.Query, lone bool) error {
	for from, to := 0, 0; from < windows.Len(); from = to {
		host := windows.At(from).Host
		parts := slices.Clone(hosts[host])
		if lone {
			parts = append(parts, unplaced(host, hosts)...)
		}
		at := hostWindows{byDevice: map[string][]int{}, keep: len(parts) > 0}
		for to = from; to < windows.Len(); to++ {
			w := windows.At(to)
			if w.Host != host {
				break
			}
			at.add(w)
		}
		if len(parts) == 0 {
			continue
		}
		slices.Sort(parts)
		answers, err := at.hear(o, parts, asked)
		if err == nil {
			err = windows.hear(from, answers)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unplaced is the evidence of the hosts whose rows can only speak of the one
// host that has windows: those that stand in for an unknown one; and if the
// host itself is such, the one that is named.
func unplaced(host string, hosts map[string][]string) []string {
	var parts []string
	var named []string
	for name := range hosts {
		switch {
		case name == host:
		case ingest.NamesNoHost(name):
			parts = append(parts, hosts[name]...)
		default:
			named = append(named, name)
		}
	}
	if len(named) == 1 && ingest.NamesNoHost(host) {
		parts = append(parts, hosts[named[0]]...)
	}
	return parts
}

// hostWindows is the times of a host's windows, and which are of which device.
type hostWindows struct {
	keep     bool
	spans    []features.Span
	byDevice map[string][]int
}

func (h *hostWindows) add(w *features.Window) {
	if h.keep {
		h.byDevice[w.Device] = append(h.byDevice[w.Device], len(h.spans))
		h.spans = append(h.spans, features.Span{StartNS: w.StartNS, EndNS: w.EndNS})
	}
}

// only reports whether all windows are of one host.
func only(windows *Windows) bool {
	return windows.Len() == 0 || windows.At(0).Host == windows.At(windows.Len()-1).Host // they stand by host
}

// hear gives what the rows of some parts tell of each window.
func (h *hostWindows) hear(o lake.Opener, parts []string, asked []features.Query) ([][]features.Reading, error) {
	index, err := o.Index(parts)
	if err != nil {
		return nil, err
	}
	has := map[string]bool{}
	for _, d := range index.Devices() {
		has[d] = true
	}
	devices := slices.Sorted(maps.Keys(h.byDevice))
	concerns := map[string][]string{} // evidence's device: those that it speaks of
	for _, d := range devices {
		for _, name := range features.EvidenceOf(d) {
			if has[name] {
				concerns[name] = append(concerns[name], d)
			}
		}
	}
	// Closest first: the longest name first does that for one device.
	names := slices.SortedFunc(maps.Keys(concerns), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	all := make([][]features.Reading, len(h.spans))
	for _, name := range names {
		at := map[features.Span]int{}
		var spans []features.Span
		for _, d := range concerns[name] {
			for _, i := range h.byDevice[d] {
				if _, ok := at[h.spans[i]]; !ok {
					at[h.spans[i]] = len(spans)
					spans = append(spans, h.spans[i])
				}
			}
		}
		fold := features.NewEvidenceFold(asked, spans)
		if err := eachEvidence(index, name, fold.Add); err != nil {
			return nil, err
		}
		answers := fold.Close()
		for _, d := range concerns[name] {
			for _, i := range h.byDevice[d] {
				all[i] = closest(all[i], answers[at[h.spans[i]]])
			}
		}
	}
	return all, nil
}

// closest adds answers to queries that have none yet. Windows share what needs
// no change.
func closest(has, more []features.Reading) []features.Reading {
	switch {
	case len(has) == 0:
		return more
	case len(more) == 0:
		return has
	}
	known := map[int]bool{}
	for i := range has {
		known[has[i].Query] = true
	}
	all := slices.Clone(has)
	for i := range more {
		if !known[more[i].Query] {
			all = append(all, more[i])
		}
	}
	slices.SortFunc(all, func(a, b features.Reading) int { return cmp.Compare(a.Query, b.Query) })
	return all
}

// evidenceStream is a part's rows of a device, in the order of time.
type evidenceStream struct {
	*lake.Stream
	from  string
	names *ingest.Names
	rows  []ingest.Evidence
}

// next moves to the next row.
func (s *evidenceStream) next() error {
	if len(s.rows) > 1 {
		s.rows = s.rows[1:]
		return nil
	}
	for {
		cols, _, err := s.Next()
		if err != nil {
			return err
		}
		s.names = &ingest.Names{} // texts differ from row to row: they are not gathered
		if s.rows, err = ingest.EvidenceFromColumns(cols, s.names, nil); err != nil || len(s.rows) > 0 {
			return err
		}
	}
}

// eachEvidence calls add with the rows of a device in the order of time, input
// and position.
func eachEvidence(index *lake.Index, device string, add func(name string, timeNS int64, value float64, text string)) error {
	streams := index.Streams(device, []string{"time_ns", "name", "text", "value", "source_offset"})
	var open []*evidenceStream
	for len(open) > 0 || len(streams) > 0 {
		// A part is opened when the rows before its first are out.
		for len(streams) > 0 && (len(open) == 0 || streams[0].MinTime <= earliest(open).rows[0].TimeNS) {
			e := &evidenceStream{Stream: streams[0], from: inputOf(streams[0].Path)}
			streams = streams[1:]
			if err := e.next(); err == nil {
				open = append(open, e)
			} else if !errors.Is(err, io.EOF) {
				return err
			}
		}
		if len(open) == 0 {
			continue
		}
		s := earliest(open)
		r := &s.rows[0]
		add(s.names.String(r.Name), r.TimeNS, r.Value, s.names.String(r.Text))
		if err := s.next(); errors.Is(err, io.EOF) {
			open = slices.DeleteFunc(open, func(e *evidenceStream) bool { return e == s })
		} else if err != nil {
			return err
		}
	}
	return nil
}

// earliest is the stream whose row comes first.
func earliest(open []*evidenceStream) *evidenceStream {
	return slices.MinFunc(open, func(a, b *evidenceStream) int {
		return cmp.Or(cmp.Compare(a.rows[0].TimeNS, b.rows[0].TimeNS), strings.Compare(a.from, b.from), cmp.Compare(a.rows[0].Position, b.rows[0].Position))
	})
}
