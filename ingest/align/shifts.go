package align

import (
	"cmp"
	"slices"
)

// step is what two I/Os near one another have that does not depend on where
// offsets count from.
type step struct {
	size, size2, delta int64
	op, op2            uint8
}

const (
	reach     = 4  // how many I/Os behind one its steps go to: others may stand between
	maxShifts = 16 // extents of a file that are told apart
)

// steps gives the steps that a source has once, by the place of their first I/O.
func steps(ios []IO) map[step]int32 {
	order := make([]int32, 0, len(ios))
	for i := range ios {
		if ios[i].Offset != None && ios[i].Size > 0 {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(x, y int32) int { return cmp.Compare(ios[x].first(), ios[y].first()) })
	once := make(map[step]int32, len(order)*reach)
	for n, i := range order {
		for d := 1; d <= reach && n+d < len(order); d++ {
			x, y := &ios[i], &ios[order[n+d]]
			s := step{x.Size, y.Size, y.Offset - x.Offset, uint8(x.Op), uint8(y.Op)}
			if s.delta == 0 || s.delta == s.size {
				continue // the next block, or the same: everybody does that
			}
			if _, twice := once[s]; twice {
				once[s] = -1
			} else {
				once[s] = i
			}
		}
	}
	return once
}

// shifts finds how far the offsets of b lie from those of a: one number for each
// extent of a file, those on which most steps agree.
func shifts(a, b []IO) []int64 {
	as, bs := steps(a), steps(b)
	count := make(map[int64]int)
	for s, i := range as {
		if j, ok := bs[s]; ok && i >= 0 && j >= 0 {
			count[b[j].Offset-a[i].Offset]++
		}
	}
	list := make([]int64, 0, len(count))
	most := 0
	for k, n := range count {
		list = append(list, k)
		most = max(most, n)
	}
	slices.SortFunc(list, func(x, y int64) int {
		return cmp.Or(cmp.Compare(count[y], count[x]), cmp.Compare(x, y))
	})
	for i, k := range list {
		if i == maxShifts || count[k] < MinMatches/2 || count[k]*50 < most {
			return list[:i]
		}
	}
	return list
}
