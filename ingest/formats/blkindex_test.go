package formats

import (
	"math/rand/v2"
	"testing"
)

// TestBlkIndex: the index is a map. Oracle: Go's own.
func TestBlkIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	x, want := newBlkIndex(), make(map[uint64]blkList)
	for range 300_000 {
		key := blkKey(int32(r.IntN(3)), uint64(r.IntN(500))*8)
		switch r.IntN(3) {
		case 0:
			x.delete(key)
			delete(want, key)
		default:
			l := blkList{1 + r.Int32N(100), r.Int32()}
			x.set(key, l)
			want[key] = l
		}
		key = blkKey(int32(r.IntN(3)), uint64(r.IntN(500))*8)
		if x.get(key) != want[key] || x.used != len(want) {
			t.Fatalf("%d: %v of %d, want %v of %d", key, x.get(key), x.used, want[key], len(want))
		}
	}
}

// TestBlkparseQuick: the quick path reads nothing otherwise than the exact one.
func TestBlkparseQuick(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 10))
	quick, exact := blkparse{base: 5}, blkparse{base: 5}
	taken := 0
	text := blkparseText(2000, 16)
	for len(text) > 0 {
		line, rest, _ := cutLine(text)
		for range 4 {
			if quick.quick(line) {
				taken++
				if why := exact.parse(line); why != "" || !sameRecord(&quick.rec, &exact.rec) {
					t.Fatalf("%q: %+v, want %+v %s", line, quick.rec, exact.rec, why)
				}
			}
			line = append(make([]byte, 0, len(line)+64), line...) // with room behind it
			for range r.IntN(3) {
				line[r.IntN(len(line))] = "0123456789 [](+,.QCRWSF-\t"[r.IntN(25)]
			}
		}
		text = rest
	}
	if taken < 10_000 {
		t.Errorf("%d lines were read quickly", taken)
	}
}

func cutLine(b []byte) (line, rest []byte, ok bool) {
	for i, c := range b {
		if c == '\n' {
			return b[:i], b[i+1:], true
		}
	}
	return b, nil, false
}

func sameRecord(a, b *blkRecord) bool {
	x, y := *a, *b
	same := string(x.Comm) == string(y.Comm) && string(x.Text) == string(y.Text)
	x.Comm, x.Text, y.Comm, y.Text = nil, nil, nil, nil
	return same && x.TimeNS == y.TimeNS && x.Sector == y.Sector && x.Sectors == y.Sectors && x.Other == y.Other && x.Dev == y.Dev && x.From == y.From &&
		x.PID == y.PID && x.Error == y.Error && x.Action == y.Action && x.Op == y.Op && x.Flags == y.Flags && x.Pass == y.Pass
}
