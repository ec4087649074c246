package local

import (
	"sync"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// saidSet is what is said of windows, in memory where the windows are, else in a
// file of some 0.2 kB each: 8 bytes of each lie in memory. Several goroutines may
// read it once all is said.
type saidSet struct {
	list []cluster.Diagnosis // where it lies in memory

	file   *rowFile
	words  words
	keys   []features.Key
	causes [][]cluster.Cause // of episodes; 0: none
	row    rowWriter
	err    error // the first
	lock   sync.Mutex
	last   [2]struct {
		i int // plus one
		d *cluster.Diagnosis
	}
	turn int
}

// newSaidSet makes room for what is said of windows.
func newSaidSet(ws *Windows) (*saidSet, error) {
	if !ws.inFile() {
		return &saidSet{list: make([]cluster.Diagnosis, ws.Len())}, nil
	}
	file, err := newRowFile(ws.dir, ws.Len())
	return &saidSet{file: file, causes: make([][]cluster.Cause, 1)}, err
}

// put takes what is said of window i, in the place of what was said before. The
// windows of a device and an episode come one after another.
func (s *saidSet) put(i int, d *cluster.Diagnosis) {
	if s.file == nil {
		s.list[i] = *d
		return
	}
	if s.err != nil {
		return
	}
	if n := len(s.keys); n == 0 || s.keys[n-1] != d.Key {
		s.keys = append(s.keys, d.Key)
	}
	causes := 0
	if len(d.Causes) > 0 {
		if causes = len(s.causes) - 1; causes == 0 || &s.causes[causes][0] != &d.Causes[0] {
			s.causes = append(s.causes, d.Causes)
			causes++
		}
	}
	s.row.b = s.row.b[:0]
	putSaid(&s.row, &s.words, uint32(len(s.keys)-1), uint32(causes), d)
	s.err = s.file.put(i, s.row.b)
	s.last[0].i, s.last[1].i = 0, 0
}

// at gives what is said of window i.
func (s *saidSet) at(i int) *cluster.Diagnosis {
	if s.file == nil {
		return &s.list[i]
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	for k := range s.last {
		if s.last[k].i == i+1 {
			return s.last[k].d
		}
	}
	d := saidOf(s.file.row(i), &s.words, s.keys, s.causes)
	s.last[s.turn].i, s.last[s.turn].d = i+1, d
	s.turn = 1 - s.turn
	return d
}

// cursor reads what is said of one window after another, each into the place of the
// one before; nil where it lies in memory.
func (s *saidSet) cursor() func(i int) *cluster.Diagnosis {
	s.lock.Lock()
	defer s.lock.Unlock()
	rows, d, last := s.file.reader(), new(cluster.Diagnosis), -1
	return func(i int) *cluster.Diagnosis {
		if i != last {
			saidInto(d, rows.row(i), &s.words, s.keys, s.causes)
			last = i
		}
		return d
	}
}

func (s *saidSet) close() { s.file.close() }
