package features

// seriesBins bounds the bins of a Series: 16 bytes each.
const seriesBins = 256 << 10

// Series counts what a recording holds of a device, over bins of time on the
// epoch grid. Bins divide a window, or are whole windows where the recording
// is too long for that.
type Series struct {
	startNS, binNS  int64
	requests, bytes []int64 // of each bin; once read, of all bins before it
	read            bool
}

// NewSeries is a Series for times from fromNS to toNS.
func NewSeries(fromNS, toNS int64, o Options) *Series {
	bin := seriesBin(toNS-fromNS, o)
	start := floorDiv(fromNS, bin) * bin
	n := (toNS-start)/bin + 1
	return &Series{startNS: start, binNS: bin, requests: make([]int64, n+1), bytes: make([]int64, n+1)}
}

// seriesBin is the least length of a bin that is a divisor of the window, in
// ticks, or else a multiple of it, with which a span keeps the bound.
func seriesBin(span int64, o Options) int64 {
	ticks := o.WindowNS / o.TickNS
	for d := int64(1); d <= ticks; d++ {
		if ticks%d == 0 && span/(d*o.TickNS) < seriesBins {
			return d * o.TickNS
		}
	}
	bin := o.WindowNS
	for span/bin >= seriesBins {
		bin *= 2
	}
	return bin
}

// tells says that the bins are fine enough to tell of a window.
func (s *Series) tells(windowNS int64) bool { return s != nil && s.binNS <= windowNS }

// Add counts requests that complete at a time, and their bytes; times outside
// the series are not counted. Nothing is added once it was read.
func (s *Series) Add(timeNS, requests, bytes int64) {
	if s.read {
		panic("features: a series that is read takes nothing more")
	}
	if i := floorDiv(timeNS-s.startNS, s.binNS); i >= 0 && i < int64(len(s.requests)-1) {
		s.requests[i] += requests
		s.bytes[i] += max(bytes, 0)
	}
}

// Between gives what completes in the bins that begin in [fromNS, toNS).
func (s *Series) Between(fromNS, toNS int64) (requests, bytes int64) {
	if !s.read {
		s.read = true
		var r, b int64
		for i := range s.requests {
			s.requests[i], r = r, r+s.requests[i]
			s.bytes[i], b = b, b+s.bytes[i]
		}
	}
	a, z := s.bin(fromNS), s.bin(toNS)
	if z <= a {
		return 0, 0
	}
	return s.requests[z] - s.requests[a], s.bytes[z] - s.bytes[a]
}

// bin is the number of the first bin that begins at a time or later.
func (s *Series) bin(at int64) int64 {
	return min(max(-floorDiv(s.startNS-at, s.binNS), 0), int64(len(s.requests)-1))
}
