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
	for i := range windows {
		w := &windows[i]
		s, seen := spans[w.Key]
		if !seen {
			s = span{w.StartNS, w.EndNS}
		}
		spans[w.Key] = span{min(s.from, w.StartNS), max(s.to, w.EndNS)}
		if w.Kind != ingest.KindApp && w.Kind != ingest.KindSyscall && !block[w.Key] {
			block[w.Key] = true
			disks[w.Host] = append(disks[w.Host], w.Key)
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
