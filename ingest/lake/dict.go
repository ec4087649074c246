package lake

import (
	"math/bits"
	"unsafe"
)

const (
	maxDict   = 32 << 10 // the most values of a dictionary: 16 bits of index cost as much as they save beyond
	dictBytes = 1 << 20  // the most bytes of one of strings
)

// A column chunk with no dictionary within these bounds is written plain. Both
// kinds number values in the order in which they are first seen, so that the
// bytes follow from the rows alone.

// indexWidth is the bits of an index into n values. One value takes a bit,
// too, as arrow has it; there are at most 15, by maxDict.
func indexWidth(n int) int { return max(1, bits.Len(uint(n-1))) }

// numbers is a dictionary of integers: open addressing with linear probing.
type numbers[T int64 | int32] struct {
	values []T
	slots  []uint16 // by hash, a value's index plus 1; 0 is free
	shift  uint
}

// index fills out with an index for each of data. It gives false where a
// dictionary doesn't pay.
func (d *numbers[T]) index(out *[]uint16, data []T) bool {
	const first = 9 // bits of hash at the start
	d.values = d.values[:0]
	d.size(first)
	ix := room(out, len(data))
	for i, v := range data {
		at := scatter(v) >> (d.shift & 63)
		k := d.slots[at]
		for k != 0 && d.values[k-1] != v {
			at = (at + 1) & uint64(len(d.slots)-1)
			k = d.slots[at]
		}
		if k == 0 {
			if len(d.values) == maxDict {
				return false
			}
			d.values = append(d.values, v)
			k = uint16(len(d.values))
			if d.slots[at] = k; 2*len(d.values) > len(d.slots) && len(d.values) < maxDict {
				d.size(64 - d.shift + 2)
			}
		}
		ix[i] = k - 1
	}
	// A dictionary of which each value is used hardly twice is a detour.
	return len(d.values) < 16 || 2*len(d.values) < len(data)
}

// scatter spreads by the golden ratio (Knuth, The Art of Computer Programming,
// volume 3, section 6.4); its upper bits are the good ones.
func scatter[T int64 | int32](v T) uint64 { return uint64(v) * 0x9e3779b97f4a7c15 }

// size makes a table of 1<<n slots for the values that are there.
func (d *numbers[T]) size(n uint) {
	d.shift = 64 - n
	clear(room(&d.slots, 1<<n))
	for i, v := range d.values {
		at := scatter(v) >> d.shift
		for d.slots[at] != 0 {
			at = (at + 1) & uint64(len(d.slots)-1)
		}
		d.slots[at] = uint16(i + 1)
	}
}

// texts is a dictionary of strings.
type texts struct {
	values []string
	known  map[string]uint16
	// near finds a string by where it lies: parsers keep one copy of a name, so
	// most rows need no look at their bytes. A place can't be used for another
	// string while the rows hold this one.
	near [256]struct {
		s  string
		at uint16 // index plus 1; 0 is none
	}
}

// index is as of numbers; a dictionary of strings pays if it is within its
// bounds, since it spares their lengths, too.
func (d *texts) index(out *[]uint16, data []string) bool {
	if d.known == nil {
		d.known = make(map[string]uint16)
	}
	clear(d.known)
	clear(d.near[:])
	d.values = d.values[:0]
	ix := room(out, len(data))
	var last string
	var at uint16 // of last, plus 1
	bytes := 0
	for i, s := range data {
		place := unsafe.StringData(s)
		slot := &d.near[scatter(int64(uintptr(unsafe.Pointer(place))))>>56]
		if slot.at != 0 && unsafe.StringData(slot.s) == place && len(slot.s) == len(s) {
			ix[i] = slot.at - 1
			continue
		}
		if at == 0 || s != last {
			k, ok := d.known[s]
			if !ok {
				if bytes += 4 + len(s); len(d.values) == maxDict || bytes > dictBytes {
					return false
				}
				k = uint16(len(d.values))
				d.known[s] = k
				d.values = append(d.values, s)
			}
			last, at = s, k+1
		}
		slot.s, slot.at = s, at
		ix[i] = at - 1
	}
	return true
}
