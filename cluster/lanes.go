package cluster

// lanes are rows of d coordinates in single precision, laneCount of them side
// by side in a block, so that a processor multiplies a query with several rows
// at once. They only say which rows can't reach a product: what they let pass
// is looked at again in double precision, so the outcome doesn't depend on the
// processor.
type lanes struct {
	d, n   int
	blocks []float32 // block by block, coordinate by coordinate, lane by lane
}

const laneCount = 32

func (l *lanes) push(row []float64) {
	if l.n%laneCount == 0 {
		l.blocks = append(l.blocks, make([]float32, laneCount*l.d)...)
	}
	l.n++
	l.set(l.n-1, row)
}

func (l *lanes) set(i int, row []float64) {
	b := l.blocks[i/laneCount*laneCount*l.d+i%laneCount:]
	for k, x := range row {
		b[k*laneCount] = float32(x)
	}
}

// pop drops the last row.
func (l *lanes) pop() {
	l.n--
	if l.n%laneCount == 0 {
		l.blocks = l.blocks[:len(l.blocks)-laneCount*l.d]
	}
}

// single writes a query in single precision.
func single(q []float64, to []float32) {
	for k, x := range q {
		to[k] = float32(x)
	}
}

// laneSlack is how far a product in single precision of vectors no longer than
// 1 may lie below the true one: each factor, each of the d sums and the limit
// itself are rounded by at most 2^-24.
func laneSlack(d int) float64 { return float64(d+4) / (1 << 24) }

// next finds the first block from from on that holds rows whose product with
// the query may reach least; a bit stands for each such row. A mask of 0: none.
func (l *lanes) next(q []float32, from int, least float64) (block int, mask uint32) {
	for n := (l.n + laneCount - 1) / laneCount; from < n; from++ {
		at, m := above(q, l.blocks[from*laneCount*l.d:], n-from, float32(least-laneSlack(l.d)))
		from += at
		if rest := l.n - from*laneCount; rest < laneCount {
			m &= 1<<max(rest, 0) - 1
		}
		if m != 0 {
			return from, m
		}
	}
	return from, 0
}

// aboveGo is above for processors without the instructions.
func aboveGo(q, blocks []float32, n int, least float32) (at int, mask uint32) {
	for ; at < n; at++ {
		var sum [laneCount]float32
		for _, x := range q {
			b := (*[laneCount]float32)(blocks)
			blocks = blocks[laneCount:]
			for i := range sum {
				sum[i] += x * b[i]
			}
		}
		for i, s := range sum {
			if s >= least {
				mask |= 1 << i
			}
		}
		if mask != 0 {
			return at, mask
		}
	}
	return n, 0
}
