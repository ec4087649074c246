package local

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/iopathy/iopathy/features"
)

// memoryWindows is how many windows lie in memory, with all that is said of them
// some 4 kB each at the peak. More of them lie in a file.
const memoryWindows = 16 << 10

// Windows are windows of a lake by host, device and time. While they are few they
// lie in memory; else in a file without a name in the lake, of some 0.6 kB each, and
// 8 bytes of each lie in memory. Several goroutines may read them.
type Windows struct {
	features.Rows[features.Window]
	endNS int64 // of the last

	list []features.Window // where they lie in memory

	dir      string // for files
	file     *rowFile
	keys     []features.Key
	evidence *rowFile
	lock     sync.Mutex
	last     [2]fetched // windows that were asked for last
	turn     int
}

// fetched is a window and its number plus one.
type fetched struct {
	i int
	w *features.Window
}

// inFile says that the windows don't lie in memory.
func (ws *Windows) inFile() bool { return ws.file != nil }

// Close gives the room of the windows back. Nothing of them may be asked for
// afterwards.
func (ws *Windows) Close() {
	ws.file.close()
	ws.evidence.close()
}

func (ws *Windows) fetch(i int) *features.Window {
	ws.lock.Lock()
	defer ws.lock.Unlock()
	for _, f := range ws.last {
		if f.i == i+1 {
			return f.w
		}
	}
	w := windowOf(ws.file.row(i), ws.keys)
	if ws.evidence != nil {
		if row := ws.evidence.row(i); row != nil {
			w.Evidence = readingsOf(row)
		}
	}
	ws.last[ws.turn], ws.turn = fetched{i + 1, w}, 1-ws.turn
	return w
}

// cursor reads the windows one after another, each into the place of the one before.
func (ws *Windows) cursor() func(i int) *features.Window {
	ws.lock.Lock()
	defer ws.lock.Unlock()
	rows, evidence, last := ws.file.reader(), ws.evidence.reader(), -1
	w := new(features.Window)
	return func(i int) *features.Window {
		if i == last {
			return w
		}
		windowInto(w, rows.row(i), ws.keys)
		if evidence != nil {
			if row := evidence.row(i); row != nil {
				w.Evidence = readingsOf(row)
			}
		}
		last = i
		return w
	}
}

// hear gives the windows from one on what the evidence answers. Answers that
// several share are written once where they stand together.
func (ws *Windows) hear(from int, answers [][]features.Reading) error {
	if !ws.inFile() {
		for k, a := range answers {
			ws.list[from+k].Evidence = a
		}
		return nil
	}
	ws.last = [2]fetched{}
	written := map[*features.Reading]int64{}
	var row rowWriter
	for k, a := range answers {
		if len(a) == 0 {
			continue
		}
		if ws.evidence == nil {
			var err error
			if ws.evidence, err = newRowFile(ws.dir, ws.Len()); err != nil {
				return err
			}
		}
		at, ok := written[&a[0]]
		if ok {
			ws.evidence.at[from+k] = at
			continue
		}
		row.b = row.b[:0]
		putReadings(&row, a)
		if err := ws.evidence.put(from+k, row.b); err != nil {
			return err
		}
		written[&a[0]] = ws.evidence.at[from+k]
	}
	return nil
}

// deafen takes from the windows what they were told.
func (ws *Windows) deafen() {
	for i := range ws.list {
		ws.list[i].Evidence = nil
	}
	ws.evidence.close()
	ws.evidence, ws.last = nil, [2]fetched{}
}

// pile takes windows in any order.
type pile struct {
	dir  string
	most int // that lie in memory
	list []features.Window

	file   *rowFile
	keys   []features.Key
	of     map[features.Key]uint32
	device []uint32 // of each window
	start  []int64
	endNS  int64
	row    rowWriter
}

func (j *Job) pile() *pile {
	return &pile{dir: j.Lake, most: cmp.Or(j.memoryWindows, memoryWindows), of: map[features.Key]uint32{}}
}

// add takes a window.
func (p *pile) add(w *features.Window) error {
	p.endNS = max(p.endNS, w.EndNS)
	if p.file == nil {
		if len(p.list) < p.most {
			p.list = append(p.list, *w)
			return nil
		}
		var err error
		if p.file, err = newRowFile(p.dir, 0); err != nil {
			return err
		}
		for i := range p.list {
			if err := p.write(&p.list[i]); err != nil {
				return err
			}
		}
		p.list = nil
	}
	return p.write(w)
}

func (p *pile) write(w *features.Window) error {
	k, ok := p.of[w.Key]
	if !ok {
		k = uint32(len(p.keys))
		key := features.Key{Host: strings.Clone(w.Host), Device: strings.Clone(w.Device)} // a column's texts may share one memory
		p.keys, p.of[key] = append(p.keys, key), k
	}
	p.device, p.start = append(p.device, k), append(p.start, w.StartNS)
	p.row.b = p.row.b[:0]
	putWindow(&p.row, k, w)
	return p.file.add(p.row.b)
}

// drop gives up what was taken.
func (p *pile) drop() { p.file.close() }

// windows are those that were taken, in their order.
func (p *pile) windows() (*Windows, error) {
	if p.file == nil {
		sortWindows(p.list)
		return &Windows{Rows: features.List(p.list), list: p.list, endNS: p.endNS}, nil
	}
	if err := p.file.flush(); err != nil {
		return nil, err
	}
	// Devices by their place among the keys in order.
	byKey := make([]uint32, len(p.keys))
	for i := range byKey {
		byKey[i] = uint32(i)
	}
	slices.SortFunc(byKey, func(a, b uint32) int {
		return cmp.Or(strings.Compare(p.keys[a].Host, p.keys[b].Host), strings.Compare(p.keys[a].Device, p.keys[b].Device))
	})
	place := make([]uint32, len(byKey))
	for i, k := range byKey {
		place[k] = uint32(i)
	}
	less := func(a, b int32) int {
		return cmp.Or(cmp.Compare(place[p.device[a]], place[p.device[b]]), cmp.Compare(p.start[a], p.start[b]))
	}
	sorted := true
	for i := 1; i < len(p.start) && sorted; i++ {
		sorted = less(int32(i-1), int32(i)) <= 0
	}
	if !sorted {
		order := make([]int32, len(p.start))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortStableFunc(order, less)
		at := make([]int64, len(order))
		for i, k := range order {
			at[i] = p.file.at[k]
		}
		p.file.at = at
	}
	ws := &Windows{dir: p.dir, file: p.file, keys: p.keys, endNS: p.endNS}
	ws.Rows = features.Fetched(len(p.start), ws.fetch).WithCursor(ws.cursor)
	return ws, nil
}
