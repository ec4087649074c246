package lake

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow/go/v17/parquet/metadata"
)

// maxStat is the longest string that is kept as a minimum or maximum; a
// longer one is left out, since a cut one is no bound for a reader that does
// not know of the cut.
const maxStat = 256

func int64Bytes(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }
func int32Bytes(v int32) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }

// bounds finds the extremes; ok is false if there are no values.
func bounds[T int64 | int32 | float64](v []T) (lo, hi T, ok bool) {
	if len(v) == 0 {
		return
	}
	lo, hi = v[0], v[0]
	for _, x := range v {
		lo, hi = min(lo, x), max(hi, x)
	}
	return lo, hi, true
}

func nullCount(nulls int, signed bool) metadata.EncodedStatistics {
	st := metadata.EncodedStatistics{Signed: signed}
	st.SetNullCount(int64(nulls))
	return st
}

func stats[T int64 | int32](v []T, nulls int, bytes func(T) []byte) metadata.EncodedStatistics {
	st := nullCount(nulls, true)
	if lo, hi, ok := bounds(v); ok {
		st.SetMin(bytes(lo)).SetMax(bytes(hi))
	}
	return st
}

// floatStats leaves the bounds out where a NaN is, and widens zeros: -0 and
// +0 are equal, but readers compare bits.
func floatStats(v []float64, nulls int) metadata.EncodedStatistics {
	st := nullCount(nulls, true)
	lo, hi, ok := bounds(v) // built-in min and max give NaN if one is
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

func boolStats(v []bool, nulls int) metadata.EncodedStatistics {
	st := nullCount(nulls, true)
	if len(v) > 0 {
		st.SetMin([]byte{1 - bit(slices.Contains(v, false))}).SetMax([]byte{bit(slices.Contains(v, true))})
	}
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
