package lake

import (
	"slices"
	"strings"
	"sync"
)

// sharedGroup is a decoded row group of several devices; once decoded it does
// not change.
type sharedGroup struct {
	part, group int
	want        string

	once  sync.Once
	cols  []Column
	bytes int
	err   error
}

// group gives the columns of a whole row group that devices share.
func (x *Index) group(s *Stream, g int) ([]Column, error) {
	key := strings.Join(s.want, "\x00")
	if s.want == nil {
		key = "\x00all"
	}
	h := x.take(s.part, g, key)
	h.once.Do(func() {
		var bytes int
		h.cols, bytes, h.err = s.decode(g)
		x.mu.Lock()
		defer x.mu.Unlock()
		if slices.Contains(x.shared, h) {
			h.bytes = bytes
			x.bytes += bytes
		}
		for len(x.shared) > 1 && x.bytes > x.room() {
			x.bytes -= x.shared[0].bytes
			x.shared = x.shared[1:]
		}
	})
	return h.cols, h.err
}

// take gives the place of a shared group, decoded or not: who needs what
// another is decoding waits for it.
func (x *Index) take(part, g int, want string) *sharedGroup {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := slices.IndexFunc(x.shared, func(h *sharedGroup) bool { return h.part == part && h.group == g && h.want == want })
	if i < 0 {
		h := &sharedGroup{part: part, group: g, want: want}
		x.shared = append(x.shared, h)
		return h
	}
	h := x.shared[i]
	x.shared = append(slices.Delete(x.shared, i, i+1), h)
	return h
}

// decode reads a whole row group, and says how much memory that takes.
func (s *Stream) decode(g int) (all []Column, bytes int, err error) {
	if err := s.open(); err != nil {
		return nil, 0, err
	}
	return s.r.whole(g)
}

// put appends d to a column of so many rows and says what that takes.
func put[T any](c *Column, d []T, rows, width int) int {
	all, _ := c.Data.([]T)
	if all == nil {
		all = make([]T, 0, rows)
	}
	c.Data = append(all, d...)
	return len(d) * width
}
