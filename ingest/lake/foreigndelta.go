package lake

import (
	"encoding/binary"
	"fmt"
)

// foreignDeltas reads Parquet's DELTA_BINARY_PACKED.
type foreignDeltas struct {
	b      []byte
	block  uint64 // values of a block
	minis  uint64
	left   uint64
	first  bool
	value  int64
	least  int64  // of the block
	widths []byte // of the miniblocks that are to come
	width  uint
	bit    uint64
	inMini uint64 // values left of the miniblock
}

func (d *foreignDeltas) varint() (uint64, error) {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		return 0, errPageShort
	}
	d.b = d.b[n:]
	return v, nil
}

func (d *foreignDeltas) open(b []byte) (err error) {
	*d = foreignDeltas{b: b, first: true}
	var first uint64
	for _, to := range []*uint64{&d.block, &d.minis, &d.left, &first} {
		if *to, err = d.varint(); err != nil {
			return err
		}
	}
	if d.block == 0 || d.block > 1<<20 || d.minis == 0 || d.minis > 1<<10 || d.block%d.minis != 0 || d.block/d.minis%8 != 0 {
		return fmt.Errorf("delta blocks of %d values in %d parts", d.block, d.minis)
	}
	d.value = zigzag(first)
	return nil
}

func (d *foreignDeltas) next() (int64, error) {
	if d.left == 0 {
		return 0, errPageShort
	}
	d.left--
	if d.first {
		d.first = false
		return d.value, nil
	}
	if d.inMini == 0 {
		if err := d.mini(); err != nil {
			return 0, err
		}
	}
	d.inMini--
	v, err := packedBits(d.b, d.bit, d.width)
	d.bit += uint64(d.width)
	d.value += d.least + v
	return d.value, err
}

// mini begins the next miniblock.
func (d *foreignDeltas) mini() error {
	d.b, d.bit = d.b[min(uint64(len(d.b)), (d.bit+7)/8):], 0
	if len(d.widths) == 0 {
		least, err := d.varint()
		if err != nil {
			return err
		}
		if uint64(len(d.b)) < d.minis {
			return errPageShort
		}
		d.least, d.widths, d.b = zigzag(least), d.b[:d.minis], d.b[d.minis:]
	}
	if d.width = uint(d.widths[0]); d.width > 64 {
		return fmt.Errorf("deltas of %d bits", d.width)
	}
	d.widths, d.inMini = d.widths[1:], d.block/d.minis
	return nil
}

// rest is what stands behind the deltas, once all are read. The last miniblock is
// whole, those behind it are absent.
func (d *foreignDeltas) rest() []byte {
	end := (d.bit + uint64(d.inMini)*uint64(d.width) + 7) / 8
	return d.b[min(uint64(len(d.b)), end):]
}
