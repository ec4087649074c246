package generate

// due is something that happens at a time: a request that is done (code is its
// number), or a load that wakes (code is ^(load<<32 | slot)).
type due struct {
	at   int64
	code int64
}

// agenda is a heap of four branches, the next first; of equals the lower code. What
// was popped leaves its place at the root until something else is pushed, which mostly
// is what follows from it.
type agenda struct {
	heap []due
	open bool // the root's place is free
}

func (a due) before(b due) bool { return a.at < b.at || a.at == b.at && a.code < b.code }

// empty says that nothing is left.
func (h *agenda) empty() bool { return len(h.heap) == 0 || h.open && len(h.heap) == 1 }

func (h *agenda) push(d due) {
	if h.open {
		h.open = false
		h.sink(d)
		return
	}
	h.heap = append(h.heap, d)
	s := h.heap
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !d.before(s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = d
}

func (h *agenda) pop() due {
	if h.open {
		last := h.heap[len(h.heap)-1]
		h.heap = h.heap[:len(h.heap)-1]
		h.sink(last)
	}
	h.open = true
	return h.heap[0]
}

// sink puts d where it belongs, from the root on.
func (h *agenda) sink(d due) {
	s := h.heap
	i := 0
	for {
		first := 4*i + 1
		if first >= len(s) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(s)); c++ {
			if s[c].before(s[least]) {
				least = c
			}
		}
		if !s[least].before(d) {
			break
		}
		s[i] = s[least]
		i = least
	}
	s[i] = d
}

// line is a queue in the order of arrival, a ring that grows.
type line struct {
	ring []int32
	from int
	n    int
}

func (q *line) push(v int32) {
	if q.n == len(q.ring) {
		ring := make([]int32, max(64, 2*q.n))
		for i := range q.n {
			ring[i] = q.at(i)
		}
		q.ring, q.from = ring, 0
	}
	q.ring[(q.from+q.n)&(len(q.ring)-1)] = v
	q.n++
}

func (q *line) at(i int) int32 { return q.ring[(q.from+i)&(len(q.ring)-1)] }

// take removes the i-th.
func (q *line) take(i int) int32 {
	v := q.at(i)
	for ; i > 0; i-- {
		q.ring[(q.from+i)&(len(q.ring)-1)] = q.at(i - 1)
	}
	q.from = (q.from + 1) & (len(q.ring) - 1)
	q.n--
	return v
}
