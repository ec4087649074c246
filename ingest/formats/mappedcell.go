package formats

import (
	"bytes"
	"math"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// mappedLongest is the longest interval of a sample: a week.
const mappedLongest = 7 * 24 * 3600 * 1_000_000_000

// mappedRow is a row in the making.
type mappedRow struct {
	e          ingest.Event
	time, end  int64
	intervalNS int64
	name, text ingest.Name
	timed      bool
	values     *[ingest.MaxMappedFacts]float64 // figures; nil for events, which have none
	known      uint64                          // a bit for each of values
}

// begin readies a row.
func (d *mapped) begin(r *mappedRow, out *ingest.Out) {
	r.e = ingest.NewEvent()
	r.e.Op, r.e.Kind = d.op, d.kind
	r.time, r.end, r.intervalNS, r.timed, r.known = 0, ingest.Missing, d.intervalNS, false, 0
	r.e.Host, r.e.Device = 0, out.Names.InternString(d.device)
	if d.comm != "" || d.file != "" || d.cgroup != "" {
		r.e.Comm, r.e.File, r.e.Cgroup = out.Names.InternString(d.comm), out.Names.InternString(d.file), out.Names.InternString(d.cgroup)
	}
	if d.record == ingest.RecordEvidence {
		r.name, r.text = out.Names.InternString(d.name), out.Names.InternString(d.text)
	}
}

// cell takes the cell b[i:end]; false says that its value is wrong.
func (d *mapped) cell(a *mappedAct, b []byte, i, end int, r *mappedRow, out *ingest.Out) bool {
	if i == end || d.isUnknown(b[i:end]) {
		return a.field != mappedTime && (a.field != mappedOp || d.rest >= 0)
	}
	switch a.field {
	case mappedTime, mappedEnd:
		ns, ok := d.stamp(b, i, end)
		if a.field == mappedTime {
			r.time, r.timed = ns, true
		} else {
			r.end = ns
		}
		return ok
	case mappedHost:
		r.e.Host = a.text(b[i:end], out)
	case mappedDevice:
		r.e.Device = a.text(b[i:end], out)
	case mappedComm:
		r.e.Comm = a.text(b[i:end], out)
	case mappedFile:
		r.e.File = a.text(b[i:end], out)
	case mappedCgroup:
		r.e.Cgroup = a.text(b[i:end], out)
	case mappedName:
		r.name = a.text(b[i:end], out)
	case mappedText:
		r.text = a.text(b[i:end], out)
	case mappedOp:
		return d.opOf(b[i:end], &r.e.Op)
	case mappedFlags:
		return csvFlagsCell(b[:end], i, &r.e.Flags) == end
	case mappedPID:
		return csvSmall(b[:end], i, &r.e.PID) == end
	case mappedDepth:
		return csvSmall(b[:end], i, &r.e.Depth) == end
	case mappedError:
		return csvErrno(b[:end], i, &r.e.Error) == end
	case mappedOffset:
		return d.number(b, i, end, a.unit, &r.e.OffsetBytes)
	case mappedSize:
		return d.number(b, i, end, a.unit, &r.e.SizeBytes)
	case mappedLatency:
		return d.number(b, i, end, a.unit, &r.e.LatencyNS)
	case mappedQueue:
		return d.number(b, i, end, a.unit, &r.e.QueueNS)
	case mappedInterval:
		return d.number(b, i, end, a.unit, &r.intervalNS) && r.intervalNS > 0 && r.intervalNS <= mappedLongest
	case mappedValue:
		v, ok := counterNumber(b[i:end], d.comma)
		if !ok {
			return isNoFigure(b[i:end])
		}
		r.values[a.slot], r.known = v*a.scale, r.known|1<<a.slot
	}
	return true
}

// isUnknown tells the words that say that there is no value.
func (d *mapped) isUnknown(cell []byte) bool {
	for _, u := range d.unknown {
		if string(cell) == u {
			return true
		}
	}
	return false
}

// text names a cell.
func (a *mappedAct) text(cell []byte, out *ingest.Out) ingest.Name {
	if a.prefix == "" {
		return out.Names.Intern(cell)
	}
	var mem [128]byte
	return out.Names.Intern(append(append(mem[:0], a.prefix...), cell...))
}

func (d *mapped) opOf(word []byte, op *ingest.Op) bool {
	for i := range d.words {
		if fold(word, d.words[i].word) {
			*op = d.words[i].op
			return true
		}
	}
	*op = ingest.Op(max(d.rest, 0))
	return d.rest >= 0
}

func (d *mapped) number(b []byte, i, end int, unit int64, v *int64) bool {
	n, ok := mappedNumber(b, i, end, unit, d.comma)
	*v = n
	return ok
}

// mappedNumber reads the number b[i:end] of 0 or more, in whole base units;
// unit is how many one is. What is smaller than a base unit is cut off.
func mappedNumber(b []byte, i, end int, unit int64, comma bool) (int64, bool) {
	whole, at := scanDigits(b, i)
	if at == end && at > i {
		if whole < 0 || unit > 1 && whole > math.MaxInt64/unit {
			return 0, false
		}
		return whole * unit, true
	}
	point := byte('.')
	if comma {
		point = ','
	}
	if at >= end || b[at] != point || whole < 0 || whole > math.MaxInt64/unit-1 {
		return mappedPower(b[i:end], unit, comma)
	}
	frac, stop := scanDigits(b, at+1)
	places := stop - at - 1
	if stop != end || places == 0 { // one that ends in its point was cut off
		return mappedPower(b[i:end], unit, comma)
	}
	if places > 9 { // unit times nine digits fits
		frac, _ = scanDigits(b[:at+10], at+1)
		places = 9
	}
	ten := int64(1)
	for range places {
		ten *= 10
	}
	switch hi := unit / ten; {
	case unit%ten == 0:
		return whole*unit + frac*hi, true
	case unit <= math.MaxInt64/1_000_000_000:
		return whole*unit + frac*unit/ten, true
	}
	return whole*unit + int64(float64(frac)/float64(ten)*float64(unit)), true
}

// mappedPower reads a number with an exponent, as some print small and great ones.
func mappedPower(cell []byte, unit int64, comma bool) (int64, bool) {
	v, i := scanDigits(cell, 0)
	digits, power := i, int64(0)
	if i < len(cell) && (cell[i] == '.' || comma && cell[i] == ',') {
		frac, end := scanDigits(cell, i+1)
		if places := end - i - 1; places <= 18-digits {
			for range places {
				v *= 10
			}
			v, power = v+frac, int64(-places)
			digits += places
		} else {
			return 0, false
		}
		i = end
	}
	if v < 0 || digits == 0 || i+1 >= len(cell) || cell[i]|0x20 != 'e' {
		return 0, false
	}
	i++
	sign := int64(1)
	if c := cell[i]; c == '+' || c == '-' {
		if i++; c == '-' {
			sign = -1
		}
	}
	e, end := scanDigits(cell, i)
	if end == i || end < len(cell) || uint64(e) > 40 {
		return 0, false
	}
	f := math.Round(float64(v) * float64(unit) * math.Pow10(int(sign*e+power)))
	return int64(f), f < 1<<63
}

// stamp reads a time.
func (d *mapped) stamp(b []byte, i, end int) (int64, bool) {
	cell := b[i:end]
	var ns int64
	ok := false
	switch {
	case d.layout == "date":
		ns, ok = dateTime(bytes.Clone(cell), d.zone) // it may keep what it is given: cells on the stack stay there
	case d.layout == "iso" || d.layout == "" && len(cell) > 10 && cell[4] == '-':
		ns, ok = isoTime(cell, d.zone)
	case d.layout != "":
		t, err := time.ParseInLocation(d.layout, string(cell), d.zone)
		if ok = err == nil && t.Year() >= 1970 && t.Year() < 2200; ok {
			if ns = t.UnixNano(); t.Location() == d.zone {
				ns = firstOf(ns, d.zone)
			}
		}
	case d.origin == 0:
		ns, ok = mappedNumber(b, i, end, d.unit, d.comma)
	default:
		whole, at := scanDigits(b, i)
		sum := whole + d.origin
		if ok = at > i && whole >= 0 && sum >= 0 && sum < csvLastNS/d.unit; !ok {
			break
		}
		ns = sum * d.unit
		if at < end {
			var part int64
			part, ok = mappedNumber(b, at, end, d.unit, d.comma) // what stands behind the point
			ns += part
		}
	}
	if !ok || ns < 0 || ns > csvLastNS-d.baseNS {
		return 0, false
	}
	return ns + d.baseNS, true
}
