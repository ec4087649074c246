package reports

import (
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// applicationsAbove are the devices that only applications tell of (fio logs, strace),
// on hosts whose disks were recorded in the same time: what the one does the other
// carries, so sums over devices leave the former out.
func applicationsAbove(windows []features.Window) map[features.Key]bool {
	type span struct{ from, to int64 }
	app := map[features.Key]span{}
	disks := map[string][]features.Key{}
	spans := map[features.Key]span{}
	block := map[features.Key]bool{}
	for i := 0; i < len(windows); {
		k, s, isBlock := windows[i].Key, span{windows[i].StartNS, windows[i].EndNS}, false
		for ; i < len(windows) && windows[i].Key == k; i++ { // a device's windows stand together
			w := &windows[i]
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
