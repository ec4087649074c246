package reports

import (
	"fmt"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// applications count the devices that applications tell of where their disks are recorded
// too (see ApplicationsAbove).
type applications struct {
	Devices     int `json:"devices"`
	SickDevices int `json:"sick_devices"`
	Attention   int `json:"devices_needing_attention"`
	Windows     int `json:"windows"`
	Sick        int `json:"sick"`
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// words are a sentence for the verdict, "" if applications saw nothing bad.
func (a *applications) words() string {
	if a.SickDevices == 0 && a.Attention == 0 {
		return ""
	}
	return fmt.Sprintf(" Applications on them: %d of %s with sick windows.", a.SickDevices, plural(a.Devices, "device"))
}

// line is the page's line on them, "" if there are none.
func (a *applications) line() string {
	if a.Devices == 0 {
		return ""
	}
	verb := "are"
	if a.Devices == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%s (%s) %s what applications saw of I/O to disks that were recorded too: %d with sick windows, %d in need of attention. "+
		"They have rows, maps and episodes, and are not counted among the devices and windows above.",
		plural(a.Devices, "device"), plural(a.Windows, "window"), verb, a.SickDevices, a.Attention)
}

// ApplicationsAbove are the devices that only applications tell of (fio logs, strace),
// on hosts whose disks were recorded in the same time: what the one does the other
// carries, so sums over devices leave the former out.
func ApplicationsAbove(windows features.Rows[features.Window]) map[features.Key]bool {
	return applicationsAbove(windows.Len(), func(i int) placed {
		w := windows.At(i)
		return placed{w.Key, w.StartNS, w.EndNS, w.Kind}
	})
}

// ApplicationsAbove are those among the devices of the windows.
func (g *Digest) ApplicationsAbove() map[features.Key]bool {
	return applicationsAbove(g.n, func(i int) placed {
		r := g.row(i)
		return placed{g.keys[r.device], r.startNS, r.endNS, ingest.LatencyKind(r.kind)}
	})
}

// placed is where a window stands, and what tells of it.
type placed struct {
	features.Key
	StartNS, EndNS int64
	Kind           ingest.LatencyKind
}

func applicationsAbove(n int, at func(i int) placed) map[features.Key]bool {
	type span struct{ from, to int64 }
	app := map[features.Key]span{}
	disks := map[string][]features.Key{}
	spans := map[features.Key]span{}
	block := map[features.Key]bool{}
	for i := 0; i < n; {
		first := at(i)
		k, s, isBlock := first.Key, span{first.StartNS, first.EndNS}, false
		for ; i < n; i++ { // a device's windows stand together
			w := at(i)
			if w.Key != k {
				break
			}
			s = span{min(s.from, w.StartNS), max(s.to, w.EndNS)}
			isBlock = isBlock || w.Kind != ingest.KindApp && w.Kind != ingest.KindSyscall
		}
		if before, seen := spans[k]; seen {
			s = span{min(s.from, before.from), max(s.to, before.to)}
		}
		spans[k] = s
		if isBlock && !block[k] {
			block[k] = true
			disks[k.Host] = append(disks[k.Host], k)
		}
	}
	for k, s := range spans {
		if !block[k] {
			app[k] = s
		}
	}
	out := map[features.Key]bool{}
	for k, s := range app {
		for _, d := range disks[k.Host] {
			if t := spans[d]; t.from < s.to && s.from < t.to {
				out[k] = true
				break
			}
		}
	}
	return out
}
