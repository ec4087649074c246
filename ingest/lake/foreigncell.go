package lake

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/schema"
)

// A cellKind is how a value is written.
type cellKind uint8

const (
	cellInt cellKind = iota
	cellUint
	cellBool
	cellFloat32
	cellFloat64
	cellText
	cellHex
	cellInt96
	cellTime // int64 since 1970, in units
	cellDay  // int32 days
	cellDecimal
	cellHalf // a float of two bytes
)

// kindOfCell is how the values of a column are written; unit is ns of one, or
// the decimals of a number; zone says that a time is UTC's.
func kindOfCell(c *schema.Column) (kind cellKind, unit int64, zone bool) {
	stamp := func(utc bool, u schema.TimeUnitType) (cellKind, int64, bool) {
		switch u {
		case schema.TimeUnitMillis:
			return cellTime, 1e6, utc
		case schema.TimeUnitMicros:
			return cellTime, 1e3, utc
		}
		return cellTime, 1, utc
	}
	switch l := c.LogicalType().(type) {
	case schema.TimestampLogicalType:
		return stamp(l.IsAdjustedToUTC(), l.TimeUnit())
	case *schema.TimestampLogicalType:
		return stamp(l.IsAdjustedToUTC(), l.TimeUnit())
	case schema.DateLogicalType, *schema.DateLogicalType:
		return cellDay, 0, true
	case schema.Float16LogicalType, *schema.Float16LogicalType:
		return cellHalf, 0, false
	case schema.DecimalLogicalType:
		return cellDecimal, int64(l.Scale()), false
	case *schema.DecimalLogicalType:
		return cellDecimal, int64(l.Scale()), false
	case schema.IntLogicalType:
		if !l.IsSigned() {
			return cellUint, 0, false
		}
	case *schema.IntLogicalType:
		if !l.IsSigned() {
			return cellUint, 0, false
		}
	}
	switch c.PhysicalType() {
	case parquet.Types.Boolean:
		return cellBool, 0, false
	case parquet.Types.Float:
		return cellFloat32, 0, false
	case parquet.Types.Double:
		return cellFloat64, 0, false
	case parquet.Types.ByteArray:
		return cellText, 0, false
	case parquet.Types.FixedLenByteArray:
		return cellHex, 0, false
	case parquet.Types.Int96:
		return cellInt96, 0, true
	}
	return cellInt, 0, false
}

// write writes a value, which is v or, of bytes, b.
func (c *foreignColumn) write(w *bytes.Buffer, v int64, b []byte) {
	var mem [40]byte
	switch c.kind {
	case cellUint:
		if c.physical == parquet.Types.Int32 {
			v = int64(uint32(v))
		}
		w.Write(strconv.AppendUint(mem[:0], uint64(v), 10))
	case cellBool:
		w.Write(strconv.AppendInt(mem[:0], v&1, 10))
	case cellFloat32, cellFloat64:
		f, bits := math.Float64frombits(uint64(v)), 64
		if c.kind == cellFloat32 {
			f, bits = float64(math.Float32frombits(uint32(v))), 32
		}
		writeFloat(w, f, bits)
	case cellText:
		quoteCell(w, b)
	case cellHex:
		for _, x := range b {
			w.WriteByte("0123456789abcdef"[x>>4])
			w.WriteByte("0123456789abcdef"[x&15])
		}
	case cellInt96: // nanoseconds of a Julian day
		day := int64(uint32(v)) - 2440588
		c.stamp(w, day*86400, int64(le64(b)))
	case cellTime:
		per := int64(1e9) / c.unit
		s, rest := v/per, v%per
		c.stamp(w, s, rest*c.unit)
	case cellDay:
		c.stamp(w, v*86400, 0)
	case cellDecimal:
		text := strconv.AppendInt(mem[:0], v, 10)
		if c.physical != parquet.Types.Int32 && c.physical != parquet.Types.Int64 {
			text = appendTwos(mem[:0], b)
		}
		writeScaled(w, text, int(c.unit))
	case cellHalf:
		writeFloat(w, halfFloat(b), 32)
	default:
		w.Write(strconv.AppendInt(mem[:0], v, 10))
	}
}

// stamp writes a time.
func (c *foreignColumn) stamp(w *bytes.Buffer, s, ns int64) {
	var mem [48]byte
	layout := "2006-01-02T15:04:05.999999999"
	if c.utc {
		layout += "Z"
	}
	w.Write(time.Unix(s, ns).UTC().AppendFormat(mem[:0], layout))
}

// writeFloat writes a figure; what is none (NaN, an infinity) is an empty cell.
func writeFloat(w *bytes.Buffer, f float64, bits int) {
	var mem [40]byte
	switch abs := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
	case abs < 1e15 && (abs == 0 || abs > 1e-9):
		w.Write(strconv.AppendFloat(mem[:0], f, 'f', -1, bits))
	default:
		w.Write(strconv.AppendFloat(mem[:0], f, 'e', -1, bits))
	}
}

// halfFloat reads IEEE 754's binary16, which stands lowest byte first.
func halfFloat(b []byte) float64 {
	if len(b) != 2 {
		return math.NaN()
	}
	bits := uint16(b[0]) | uint16(b[1])<<8
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	f := math.Ldexp(fraction+1024, exponent-25)
	switch exponent {
	case 0:
		f = math.Ldexp(fraction, -24)
	case 31:
		return math.NaN()
	}
	if bits>>15 == 1 {
		f = -f
	}
	return f
}

// maxDecimalBytes is the width of the widest decimal, of 76 digits.
const maxDecimalBytes = 32

// appendTwos adds a decimal's digits: a number of any width in two's complement,
// the highest byte first. Nothing is added for what no decimal is as wide as.
func appendTwos(dst, b []byte) []byte {
	if len(b) == 0 || len(b) > maxDecimalBytes {
		return dst
	}
	if len(b) <= 8 {
		v := int64(int8(b[0]))
		for _, x := range b[1:] {
			v = v<<8 | int64(x)
		}
		return strconv.AppendInt(dst, v, 10)
	}
	n := new(big.Int).SetBytes(b)
	if b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n.Append(dst, 10)
}

// writeScaled writes a decimal's digits with its point.
func writeScaled(w *bytes.Buffer, text []byte, scale int) {
	if scale <= 0 || scale > 8*maxDecimalBytes || len(text) == 0 {
		w.Write(text)
		for range min(max(-scale, 0), 18) {
			w.WriteByte('0')
		}
		return
	}
	if text[0] == '-' {
		w.WriteByte('-')
		text = text[1:]
	}
	if n := scale + 1 - len(text); n > 0 {
		text = append(bytes.Repeat([]byte("0"), n), text...)
	}
	w.Write(text[:len(text)-scale])
	w.WriteByte('.')
	w.Write(text[len(text)-scale:])
}
