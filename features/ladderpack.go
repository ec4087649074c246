package features

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
)

// Packed is a ladder as bytes, some hundreds where a Ladder has 18 KiB:
// varints, for each stage that is told its number, the count, sum and
// sum of squares, and the buckets in use by their distance and count; a 0 ends
// them. "" is the empty ladder.
type Packed string

var errPacked = errors.New("features: a ladder that is none")

// Pack gives the ladder as bytes.
func (l *Ladder) Pack() Packed {
	var b []byte
	for s := range l.stages {
		x := &l.stages[s]
		if x.n == 0 {
			continue
		}
		b = binary.AppendUvarint(b, uint64(s))
		for _, v := range [...]uint64{uint64(x.n), x.sum.hi, x.sum.lo, x.squares.hi, x.squares.lo} {
			b = binary.AppendUvarint(b, v)
		}
		last := -1
		for i, n := range x.buckets {
			if n > 0 {
				b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(i-last)), uint64(n))
				last = i
			}
		}
		b = append(b, 0)
	}
	return Packed(b)
}

// AddPacked adds the counts of a packed ladder; of one that is damaged nothing.
func (l *Ladder) AddPacked(p Packed) error {
	if p == "" {
		return nil
	}
	var o Ladder
	var err error
	b := []byte(p)
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			b, err = nil, errPacked
			return 0
		}
		b = b[n:]
		return v
	}
	for len(b) > 0 && err == nil {
		s := next()
		if s >= uint64(Stages) {
			return errPacked
		}
		x := &o.stages[s]
		x.n = int64(next())
		x.sum = wide{next(), next()}
		x.squares = wide{next(), next()}
		left := x.n
		for i := -1; err == nil; {
			step := next()
			if step == 0 {
				break
			}
			n := int64(next())
			if step > ladderBuckets || i+int(step) >= ladderBuckets || n <= 0 || n > left {
				return errPacked
			}
			i += int(step)
			x.buckets[i], left = n, left-n
		}
		if left != 0 {
			return errPacked
		}
	}
	if err == nil {
		l.Merge(&o)
	}
	return err
}

// text gives the bytes as text, for a column of a table.
func (p Packed) text() string { return base64.RawStdEncoding.EncodeToString([]byte(p)) }

// packedOf is the inverse of text; of a text that is none it is empty.
func packedOf(text string) Packed {
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return Packed(b)
}
