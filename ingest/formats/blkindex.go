package formats

import "hash/maphash"

// blkIndex finds lists of I/Os by device and sector: open addressing, with the
// gaps of deleted entries closed, so that it stays as quick as it was when new
// and keeps no memory per entry. Its hash is a product with a secret odd number
// (Dietzfelbinger and others, 1997), since sectors come from logs.
type blkIndex struct {
	slots  []blkSlot // a power of two
	used   int
	factor uint64
	shift  uint
}

type blkSlot struct {
	key uint64
	blkList
}

const blkIndexBits = 6 // of an index without entries

func newBlkIndex() blkIndex {
	return blkIndex{
		slots: make([]blkSlot, 1<<blkIndexBits), shift: 64 - blkIndexBits,
		factor: maphash.Comparable(maphash.MakeSeed(), 0) | 1,
	}
}

// get gives the list of a key; its head is 0 if there is none.
func (x *blkIndex) get(key uint64) blkList {
	mask := uint64(len(x.slots) - 1)
	for i := key * x.factor >> x.shift; ; i = (i + 1) & mask {
		if s := &x.slots[i&mask]; s.head == 0 || s.key == key {
			return s.blkList
		}
	}
}

// set gives a key a list that is not empty.
func (x *blkIndex) set(key uint64, l blkList) {
	mask := uint64(len(x.slots) - 1)
	for i := key * x.factor >> x.shift; ; i = (i + 1) & mask {
		s := &x.slots[i&mask]
		if s.head == 0 {
			if 2*x.used >= len(x.slots) {
				x.grow()
				x.set(key, l)
				return
			}
			x.used++
			s.key = key
		} else if s.key != key {
			continue
		}
		s.blkList = l
		return
	}
}

func (x *blkIndex) grow() {
	old := x.slots
	x.slots, x.used = make([]blkSlot, 2*len(old)), 0
	x.shift--
	for _, s := range old {
		if s.head != 0 {
			x.set(s.key, s.blkList)
		}
	}
}

// delete takes a key out; entries that stand behind it move up, if they may.
func (x *blkIndex) delete(key uint64) {
	mask := uint64(len(x.slots) - 1)
	i := key * x.factor >> x.shift
	for ; x.slots[i].head != 0 && x.slots[i].key != key; i = (i + 1) & mask {
	}
	if x.slots[i].head == 0 {
		return
	}
	x.used--
	for j := i; ; {
		j = (j + 1) & mask
		s := x.slots[j]
		if s.head == 0 {
			break
		}
		if home := s.key * x.factor >> x.shift; (j-home)&mask >= (j-i)&mask {
			x.slots[i] = s
			i = j
		}
	}
	x.slots[i] = blkSlot{}
}
