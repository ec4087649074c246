package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

const (
	pageBytes      = 4096
	fewestBytes    = 1 << 20 // read in all, below which a ratio says nothing
	faultsMost     = 0.5     // faults a page read: most pages were fetched for a fault of their own
	fewestFaults   = 20      // a second, that are worth acting upon
	readsAmplified = 1.5     // bytes from the devices for each that was asked for
)

// Amplifications holds two layers of a host against each other, where both are
// given, in the windows that both tell of: major page faults over the pages read
// from its devices, and bytes read from the devices over bytes that programs read.
// Windows are those of one host; devices that others carry have none, so that
// a byte counts once. A layer that is absent leaves its question unasked.
func Amplifications(host string, windows features.Rows[features.Window]) []Finding {
	type layers struct {
		length, device, caller, app float64 // s and bytes read
		faults                      float64
		onDevice, called, told      bool
		inApp                       bool
	}
	type span struct{ from, to int64 }
	by := map[span]*layers{}
	var order []span
	for i := range windows.Len() {
		w := windows.At(i)
		c := &w.Context
		read := c[features.CtxBytesPerS] * (1 - c[features.CtxWriteBytesShare]) * float64(w.CoveredTicks) * float64(w.TickNS) / 1e9
		if !(read >= 0) { // unknown, or nothing was read or written
			read = 0
		}
		s := span{w.StartNS, w.EndNS}
		l := by[s]
		if l == nil {
			l = &layers{length: float64(w.EndNS-w.StartNS) / 1e9}
			by[s], order = l, append(order, s)
		}
		switch w.Kind {
		case ingest.KindSyscall:
			l.caller, l.called = l.caller+read, true
		case ingest.KindApp:
			l.app, l.inApp = l.app+read, true
		default:
			l.device, l.onDevice = l.device+read, true
		}
		if rate, ok := cluster.MajorFaults(w); ok {
			l.faults, l.told = max(l.faults, rate*l.length), true // one figure a host: its devices repeat it
		}
	}
	slices.SortFunc(order, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	var faults, pages, faultTime, device, caller float64
	for _, s := range order {
		l := by[s]
		if l.onDevice && l.told {
			faults, pages, faultTime = faults+l.faults, pages+l.device/pageBytes, faultTime+l.length
		}
		// Of two layers of programs the lower one asks for what the other reads.
		asked, given := l.caller, l.called
		if !given {
			asked, given = l.app, l.inApp
		}
		if l.onDevice && given {
			device, caller = device+l.device, caller+asked
		}
	}
	var all []Finding
	if pages*pageBytes >= fewestBytes && faults > 0 {
		all = append(all, faultAmplification(host, faults, pages, faultTime))
	}
	if device >= fewestBytes || caller >= fewestBytes {
		all = append(all, readAmplification(host, device, caller))
	}
	return all
}

func faultAmplification(host string, faults, pages, length float64) Finding {
	share := faults / pages
	f := Finding{Kind: FaultAmplification, Key: features.Key{Host: host}, Told: true, Holds: share > faultsMost && faults > fewestFaults*length}
	f.Figures = []Figure{figure("major faults", "1", faults), figure("pages read", "1", pages), figure("faults a page", "1", share)}
	f.Says = fmt.Sprintf("%.3g major page faults for %.3g pages of 4 KiB read from its devices, %.2g a page", faults, pages, share)
	if f.Holds {
		f.Says += ": most pages are fetched one by one for a fault each; map the file with read-ahead (madvise), read it in larger pieces, or give it more memory"
	} else if share <= faultsMost {
		f.Says += ": a fault brings several pages along, or the reads are no faults"
	}
	return f
}

func readAmplification(host string, device, caller float64) Finding {
	f := Finding{Kind: ReadAmplification, Key: features.Key{Host: host}, Told: true}
	f.Figures = []Figure{figure("read from devices", "B", device), figure("read by programs", "B", caller)}
	if caller < fewestBytes {
		f.Says = fmt.Sprintf("%.3g MB were read from its devices and hardly anything by the programs that were recorded, so that others read", device/1e6)
		return f
	}
	ratio := device / caller
	f.Figures = append(f.Figures, figure("bytes of devices a byte of programs", "1", ratio))
	f.Says = fmt.Sprintf("%.3g bytes were read from its devices for each that the recorded programs read (%.3g MB for %.3g MB)", ratio, device/1e6, caller/1e6)
	switch {
	case ratio > readsAmplified:
		f.Holds = true
		f.Says += ": small reads that fetch whole blocks, read-ahead that nobody uses, or other programs that were not recorded"
	case ratio < 1/readsAmplified:
		f.Says += ": memory served the rest"
	}
	return f
}
