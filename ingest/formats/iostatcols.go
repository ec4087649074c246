package formats

import (
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// ioField is what a column of iostat tells.
type ioField uint8

const (
	ioReads ioField = iota // completed per second
	ioWrites
	ioDiscards
	ioFlushes
	ioTotal
	ioReadMerges // merged per second
	ioWriteMerges
	ioDiscardMerges
	ioReadBytes // bytes per second
	ioWriteBytes
	ioDiscardBytes
	ioWriteDiscardBytes
	ioTotalBytes
	ioReadAwait // ms per completed
	ioWriteAwait
	ioDiscardAwait
	ioFlushAwait
	ioTotalAwait
	ioQueue      // mean number in flight
	ioUtil       // percent of the time busy
	ioReadSum    // bytes in the interval
	ioWriteSum   // bytes in the interval
	ioDiscardSum // bytes in the interval
	ioOther      // a column that follows from others, or no counter
	ioFields     = ioOther
)

// ioColumn is a column: its field, and the bytes of one of its units.
type ioColumn struct {
	field ioField
	unit  float64
}

// ioColumns are the columns of every iostat by their header names (text and
// JSON), whatever their order: sysstat 5 to 12.7, -x, -s, -x -s, plain, with
// -k, -m, sectors or blocks.
var ioColumns = func() map[string]ioColumn {
	m := map[string]ioColumn{
		"r/s": {ioReads, 1}, "w/s": {ioWrites, 1}, "d/s": {ioDiscards, 1}, "f/s": {ioFlushes, 1}, "tps": {ioTotal, 1},
		"rrqm/s": {ioReadMerges, 1}, "wrqm/s": {ioWriteMerges, 1}, "drqm/s": {ioDiscardMerges, 1},
		"r_await": {ioReadAwait, 1}, "w_await": {ioWriteAwait, 1}, "d_await": {ioDiscardAwait, 1},
		"f_await": {ioFlushAwait, 1}, "await": {ioTotalAwait, 1},
		"aqu-sz": {ioQueue, 1}, "avgqu-sz": {ioQueue, 1}, "%util": {ioUtil, 1}, "util": {ioUtil, 1},
		"rsec/s": {ioReadBytes, 512}, "wsec/s": {ioWriteBytes, 512}, "dsec/s": {ioDiscardBytes, 512}, "sec/s": {ioTotalBytes, 512},
	}
	for _, name := range []string{
		"rqm/s", "%rrqm", "%wrqm", "%drqm", "rrqm", "wrqm", "drqm", "svctm",
		"rareq-sz", "wareq-sz", "dareq-sz", "areq-sz", "avgrq-sz",
	} {
		m[name] = ioColumn{field: ioOther, unit: 1}
	}
	for _, u := range []struct {
		name  string
		bytes float64
	}{{"kB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"Blk", 512}} {
		m["r"+u.name+"/s"] = ioColumn{ioReadBytes, u.bytes}
		m["w"+u.name+"/s"] = ioColumn{ioWriteBytes, u.bytes}
		m["d"+u.name+"/s"] = ioColumn{ioDiscardBytes, u.bytes}
		m[u.name+"/s"] = ioColumn{ioTotalBytes, u.bytes}
		m[u.name+"_read/s"] = ioColumn{ioReadBytes, u.bytes}
		m[u.name+"_wrtn/s"] = ioColumn{ioWriteBytes, u.bytes}
		m[u.name+"_dscd/s"] = ioColumn{ioDiscardBytes, u.bytes}
		m[u.name+"_w+d/s"] = ioColumn{ioWriteDiscardBytes, u.bytes}
		m[u.name+"_read"] = ioColumn{ioReadSum, u.bytes}
		m[u.name+"_wrtn"] = ioColumn{ioWriteSum, u.bytes}
		m[u.name+"_dscd"] = ioColumn{ioDiscardSum, u.bytes}
		m[u.name+"_w+d"] = ioColumn{ioOther, u.bytes}
	}
	return m
}()

// ioValue is a printed number in base units with half of its last digit, which
// bounds what rounding took; half 0 says that the column is not there.
type ioValue struct{ v, half float64 }

func (x ioValue) known() bool { return x.half > 0 }

// ioRow is one device of one report.
type ioRow struct {
	values   [ioFields]ioValue
	device   string
	reason   string // why the row is no sample; "" if it is one
	group    bool   // a -g line: the sum of devices that have lines of their own
	lines    int64  // the lines it was read from
	position int64
	lineno   int64
	text     []byte // the line's head, kept as long as it may still be rejected
}

// ioScales are the suffixes of --human in bytes.
var ioScales = map[byte]float64{'s': 512, 'B': 1, 'k': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'T': 1 << 40, 'P': 1 << 50}

// ioPow10 are the powers of ten that a float64 holds exactly and that printed numbers need.
var ioPow10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// ioHalves are the halves of a last digit by the number of decimals.
var ioHalves = [...]float64{0.5, 0.5 / 1e1, 0.5 / 1e2, 0.5 / 1e3, 0.5 / 1e4, 0.5 / 1e5, 0.5 / 1e6, 0.5 / 1e7, 0.5 / 1e8, 0.5 / 1e9}

// parseIOValue reads a number as iostat prints it in any locale: decimal point
// or comma, at most one, with a suffix of --human in place of the column's unit
// or a percent sign. The reason is "" if it is one, or nan or inf, which say that
// nothing is known.
func parseIOValue(tok []byte, c ioColumn) (ioValue, string) {
	// Nearly all are digits, a point, digits, and no more than eight bytes.
	if n := len(tok); n <= 8 {
		y := load8(tok, 0) ^ bytes8x30
		at := leading(y)
		decimals := 0
		if at > 0 && at < n && (tok[at] == '.' || tok[at] == ',') {
			behind := 8 * uint(at)
			y = y&(1<<behind-1) | y>>8>>(behind&63)<<(behind&63) // without the point
			n--
			decimals = n - at
			at = leading(y)
		}
		if n > 0 && at >= n {
			x := ioValue{v: float64(joined(y, n)) / ioPow10[decimals] * c.unit, half: ioHalves[decimals] * c.unit}
			if x.v > ioCeilings[c.field] {
				return ioValue{}, "impossible"
			}
			return x, ""
		}
	}
	return parseIOText(tok, c)
}

// parseIOText is parseIOValue for numbers of any length, and for what is none.
func parseIOText(tok []byte, c ioColumn) (ioValue, string) {
	if isNoFigure(tok) { // of a mean over nothing
		return ioValue{}, ""
	}
	var mant uint64
	decimals, point, digits := 0, false, 0
	i := 0
	if i < len(tok) && tok[i] == '-' {
		if len(tok) > 1 && tok[1] >= '0' && tok[1] <= '9' {
			return ioValue{}, "negative"
		}
		return ioValue{}, "not-a-number"
	}
	for ; i < len(tok); i++ {
		switch ch := tok[i]; {
		case ch >= '0' && ch <= '9':
			if digits++; digits > 18 {
				return ioValue{}, "impossible"
			}
			mant = mant*10 + uint64(ch-'0')
			if point {
				decimals++
			}
			continue
		case (ch == '.' || ch == ',') && !point && digits > 0:
			point = true
			continue
		}
		break
	}
	unit := c.unit
	if i+1 == len(tok) {
		if s, ok := ioScales[tok[i]]; ok {
			unit = s
			i++
		} else if tok[i] == '%' {
			i++
		}
	}
	if digits == 0 || i != len(tok) || decimals >= len(ioPow10) {
		return ioValue{}, "not-a-number"
	}
	p := ioPow10[decimals]
	x := ioValue{v: float64(mant) / p * unit, half: 0.5 / p * unit}
	if x.v > ioCeilings[c.field] {
		return ioValue{}, "impossible"
	}
	return x, ""
}

// ioCeilings bound what a field can be: what lies above comes from counters that
// were reset while old versions subtracted them (await 4294967.29), or from torn
// lines. 1e9 I/Os/s, 1 EB/s and a mean of ten hours are beyond any device.
var ioCeilings = func() (top [ioFields + 1]float64) {
	for f := range ioField(len(top)) {
		switch {
		case f <= ioDiscardMerges:
			top[f] = 1e9
		case f <= ioTotalBytes:
			top[f] = 1e18
		case f <= ioTotalAwait:
			top[f] = 4_000_000
		case f == ioQueue:
			top[f] = 1e9
		case f == ioUtil:
			top[f] = 10_000
		default:
			top[f] = math.MaxInt64 / 2
		}
	}
	return top
}()

// zero says that nothing happened: every rate, time and share is 0.
func (r *ioRow) zero() bool {
	for _, x := range r.values {
		if x.v != 0 {
			return false
		}
	}
	return true
}

// sample turns the rates of a row into counts and sums over an interval of cs
// hundredths of a second. exact says that the counters of the report come out
// whole over it; then sectors and milliseconds, which the kernel counts in whole
// numbers, are taken as such wherever the printed digits suffice.
func (r *ioRow) sample(s *ingest.Sample, cs int64, exact bool) {
	t := float64(cs) / 100
	*s = ingest.NewSample()
	s.IntervalNS = cs * 1e7
	count := func(f ioField) int64 {
		if !r.values[f].known() {
			return ingest.Missing
		}
		return whole(r.values[f].v * t)
	}
	s.Reads, s.Writes, s.Discards, s.Flushes = count(ioReads), count(ioWrites), count(ioDiscards), count(ioFlushes)
	s.TotalIOs = count(ioTotal)
	s.ReadMerges, s.WriteMerges, s.DiscardMerges = count(ioReadMerges), count(ioWriteMerges), count(ioDiscardMerges)

	volume := func(rate, sum ioField) int64 {
		x := r.values[rate]
		if !x.known() {
			return ingest.Missing
		}
		b := x.v * t
		if exact && x.half*t < 256 {
			b = math.Round(b/512) * 512
		}
		if sum != ioOther && r.values[sum].known() && math.Abs(b-r.values[sum].v) > 2*r.values[sum].half {
			b = r.values[sum].v
		}
		return whole(b)
	}
	s.ReadBytes = volume(ioReadBytes, ioReadSum)
	s.WriteBytes = volume(ioWriteBytes, ioWriteSum)
	s.DiscardBytes = volume(ioDiscardBytes, ioDiscardSum)
	s.TotalBytes = volume(ioTotalBytes, ioOther)
	if wd := volume(ioWriteDiscardBytes, ioOther); wd >= 0 && s.ReadBytes >= 0 {
		s.TotalBytes = s.ReadBytes + wd
	}

	spent := func(f ioField, n int64) int64 {
		x := r.values[f]
		if !x.known() || n < 0 {
			return ingest.Missing
		}
		ms := x.v * float64(n)
		if exact && x.half*float64(n) < 0.5 {
			ms = math.Round(ms)
		}
		return whole(ms * 1e6)
	}
	s.ReadNS, s.WriteNS = spent(ioReadAwait, s.Reads), spent(ioWriteAwait, s.Writes)
	s.DiscardNS, s.FlushNS = spent(ioDiscardAwait, s.Discards), spent(ioFlushAwait, s.Flushes)
	if s.ReadNS < 0 {
		n := s.TotalIOs
		if n < 0 && s.Reads >= 0 && s.Writes >= 0 {
			n = s.Reads + s.Writes
		}
		s.TotalNS = spent(ioTotalAwait, n)
		if s.TotalNS >= 0 {
			s.TotalIOs = n
		}
	}
	if q := r.values[ioQueue]; q.known() {
		s.InFlightNS = whole(q.v * t * 1e9)
	}
	if u := r.values[ioUtil]; u.known() {
		ms := u.v * t * 10
		if exact && u.half*t*10 < 0.5 {
			ms = math.Round(ms)
		}
		s.BusyNS = min(whole(ms*1e6), s.IntervalNS)
	}
}

// whole rounds to the nearest integer; what no int64 holds is cut.
func whole(x float64) int64 { return int64(math.Round(min(x, math.MaxInt64/2))) }

// ioNames finds columns by names that come again and again: those of the last
// rows stand near, before the map is asked.
type ioNames struct {
	columns map[string]ioColumn
	near    [64]struct {
		name   [maxIOName]byte
		len    int
		column ioColumn
		known  bool
	}
}

// maxIOName bounds the name of a column.
const maxIOName = 24

func (n *ioNames) find(name []byte) (c ioColumn, known bool) {
	k := len(name)
	if k == 0 || k > maxIOName {
		return ioColumn{}, false
	}
	near := &n.near[(uint(name[0])*5+uint(name[k/2])*3+uint(name[k-1])+uint(k)*11)%64]
	if near.len != k || string(near.name[:k]) != string(name) {
		near.len = copy(near.name[:], name)
		near.column, near.known = n.columns[string(name)]
	}
	return near.column, near.known
}
