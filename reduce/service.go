package reduce

import (
	"math"

	"github.com/iopathy/iopathy/features"
)

// missing facts take the neutral value.
func fact(w *features.Window, i int, neutral float64) float64 {
	if v := w.Context[i]; !math.IsNaN(v) {
		return v
	}
	return neutral
}

// seeks is the share of a disk's requests that don't continue a stream. What
// follows a flush doesn't: the platter has turned on, so that a journal is no
// stream.
func seeks(w *features.Window, rotational bool) float64 {
	return seeksOf(moves(w), rotational)
}

// moves is the share of the requests for which a head moves or waits, 0 to 2: those
// that continue no stream, or, if that is more, lie elsewhere than the one before
// them. Of several streams by turns each is sequential, and the head moves all the time.
func moves(w *features.Window) float64 {
	away := max(1-fact(w, features.CtxSequentialShare, 0), fact(w, features.CtxMovedShare, 0))
	return away + fact(w, features.CtxFlushShare, 0)
}

func seeksOf(moves float64, rotational bool) float64 {
	if !rotational {
		return 1
	}
	return clamp(moves, leastSeeks, 1)
}

// transferNS is the time that the window's mean request takes at a rate.
func transferNS(w *features.Window, rate float64) float64 {
	return fact(w, features.CtxSizeMean, 0) / rate * 1e9
}

// service is log10 ns of the level that would explain the window's latency.
func service(w *features.Window, rate float64, rotational bool) float64 {
	return serviceOf(math.Pow(10, rawNS(w)), transferNS(w, rate), seeks(w, rotational))
}

func serviceOf(ns, transferNS, seeks float64) float64 {
	return math.Log10(max(ns-transferNS, leastService*ns) / seeks)
}

// expected is log10 ns of the latency at load that a level explains.
func expected(w *features.Window, level, rate float64, rotational bool) float64 {
	return math.Log10(math.Pow(10, level)*seeks(w, rotational) + transferNS(w, rate))
}

// rawNS is log10 ns of the window's latency at load.
func rawNS(w *features.Window) float64 {
	return w.Vector[features.LatencyLoadResidual] + math.Log10(features.LatencyUnitNS)
}

// usable reports whether a window says something about latency.
func usable(w *features.Window) bool {
	return !w.Idle && w.Missing.Has(features.LatencyLoadResidual)
}

// quantile of sorted values, between neighbours linearly (type 7 of Hyndman
// and Fan, 1996). It is NaN of none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
