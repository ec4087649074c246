package reduce

import (
	"cmp"
	"slices"

	"github.com/iopathy/iopathy/features"
)

// Turn is when a fit takes a window that can't take all: those in which something
// happened first, of each device as many as of another, by the smallest hash of host,
// device and start. So it is the same turn among whatever other devices.
type Turn struct {
	Idle bool
	Rank int32 // among the device's windows of its kind, from 0
	Hash uint64
}

// Compare orders turns; what is left of equal ones is by host, device and start.
func (t Turn) Compare(o Turn) int {
	if t.Idle != o.Idle {
		if o.Idle {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(t.Rank, o.Rank), cmp.Compare(t.Hash, o.Hash))
}

// Turned is a window by its number, and its turn.
type Turned struct {
	At int32
	Turn
}

// InTurn gives windows, which stand by host, device and start, in their turns. It
// keeps 24 bytes of each.
func InTurn(ws features.Rows[features.Window]) []Turned {
	all := make([]Turned, ws.Len())
	rank := func(of []Turned) {
		slices.SortFunc(of, byTurn)
		n, idle := int32(0), false
		for i := range of {
			if of[i].Idle && !idle {
				n, idle = 0, true
			}
			of[i].Rank = n
			n++
		}
	}
	from, last := 0, features.Key{}
	for i := range all {
		w := ws.At(i)
		if i > from && w.Key != last {
			rank(all[from:i])
			from = i
		}
		last = w.Key
		all[i] = Turned{int32(i), Turn{Idle: w.Idle, Hash: hashOf(w.Key, w.StartNS, 0)}}
	}
	rank(all[from:])
	slices.SortFunc(all, byTurn)
	return all
}

func byTurn(a, b Turned) int { return cmp.Or(a.Compare(b.Turn), cmp.Compare(a.At, b.At)) }

// Sample gives the windows that a fit takes where it takes most at most, of windows
// by host, device and start, in that order: all, where they are no more, else those
// whose turn it is, and no idle ones. nil: all.
func Sample(ws features.Rows[features.Window], most int) []int32 {
	if ws.Len() <= most {
		return nil
	}
	all := InTurn(ws)[:most]
	out := make([]int32, 0, most)
	for i := range all {
		if !all[i].Idle {
			out = append(out, all[i].At)
		}
	}
	slices.Sort(out)
	return out
}
