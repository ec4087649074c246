package lake

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow/go/v17/parquet/metadata"
)

// maxStat is the longest string that is kept as a minimum or maximum; a
// longer one is left out, since a cut one is no bound for a reader that does
// not know of the cut.
const maxStat = 256

func int64Bytes(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }
func int32Bytes(v int32) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }

// bounds finds the extremes of the valid rows; ok is false if there are none.
func bounds[T int64 | int32 | float64](data []T, valid []bool) (lo, hi T, ok bool) {
	if valid == nil {
		if len(data) == 0 {
			return
		}
		lo, hi = data[0], data[0]
		for _, v := range data {
			lo, hi = min(lo, v), max(hi, v)
		}
		return lo, hi, true
	}
	for i, v := range data {
		if !valid[i] {
			continue
		}
		if !ok {
			lo, hi, ok = v, v, true
		}
		lo, hi = min(lo, v), max(hi, v)
	}
	return
}

func nullCount(nulls int, signed bool) metadata.EncodedStatistics {
	st := metadata.EncodedStatistics{Signed: signed}
	st.SetNullCount(int64(nulls))
	return st
}

func stats[T int64 | int32](data []T, valid []bool, nulls int, bytes func(T) []byte) metadata.EncodedStatistics {
	st := nullCount(nulls, true)
	if lo, hi, ok := bounds(data, valid); ok {
		st.SetMin(bytes(lo)).SetMax(bytes(hi))
	}
	return st
}

// floatStats leaves the bounds out where a NaN is, and widens zeros: -0 and
// +0 are equal, but readers compare bits.
func floatStats(data []float64, valid []bool, nulls int) metadata.EncodedStatistics {
	st := nullCount(nulls, true)
	lo, hi, ok := bounds(data, valid) // built-in min and max give NaN if one is
	if !ok || math.IsNaN(lo) || math.IsNaN(hi) {
		return st
	}
	if lo == 0 {
		lo = math.Copysign(0, -1)
	}
	if hi == 0 {
		hi = 0
	}
	st.SetMin(int64Bytes(int64(math.Float64bits(lo)))).SetMax(int64Bytes(int64(math.Float64bits(hi))))
	return st
}

func boolStats(data []bool, valid []bool, nulls int) metadata.EncodedStatistics {
	st := nullCount(nulls, true)
	var seen [2]bool
	for i, v := range data {
		switch {
		case valid != nil && !valid[i]:
		case v:
			seen[1] = true
		default:
			seen[0] = true
		}
	}
	if !seen[0] && !seen[1] {
		return st
	}
	lo, hi := byte(0), byte(0)
	if !seen[0] {
		lo = 1
	}
	if seen[1] {
		hi = 1
	}
	st.SetMin([]byte{lo}).SetMax([]byte{hi})
	return st
}

// stringStats orders by bytes, as readers do for UTF-8.
func stringStats(values []string, nulls int) metadata.EncodedStatistics {
	st := nullCount(nulls, false)
	if len(values) == 0 {
		return st
	}
	lo, hi := values[0], values[0]
	for _, s := range values {
		lo, hi = min(lo, s), max(hi, s)
	}
	if len(lo) <= maxStat {
		st.SetMin([]byte(lo))
	}
	if len(hi) <= maxStat {
		st.SetMax([]byte(hi))
	}
	return st
}
