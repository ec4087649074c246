package local

import (
	"encoding/binary"
	"math"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reduce"
)

// Rows of a rowFile: little-endian numbers of fixed width, texts and lists with
// their lengths before them. What many rows share (keys, names of the catalogue) stands
// there by its number. They live as long as the process and have no version.

// rowWriter appends to a row.
type rowWriter struct{ b []byte }

func (w *rowWriter) byte(v byte)     { w.b = append(w.b, v) }
func (w *rowWriter) u16(v uint16)    { w.b = binary.LittleEndian.AppendUint16(w.b, v) }
func (w *rowWriter) u32(v uint32)    { w.b = binary.LittleEndian.AppendUint32(w.b, v) }
func (w *rowWriter) i64(v int64)     { w.b = binary.LittleEndian.AppendUint64(w.b, uint64(v)) }
func (w *rowWriter) float(v float64) { w.i64(int64(math.Float64bits(v))) }

func (w *rowWriter) text(s string) {
	w.u32(uint32(len(s)))
	w.b = append(w.b, s...)
}

// length writes at a place how much has been written behind it.
func (w *rowWriter) length(at int) {
	binary.LittleEndian.PutUint32(w.b[at:], uint32(len(w.b)-at-lengthOf))
}

func (w *rowWriter) turn(t reduce.Turn) {
	idle := byte(0)
	if t.Idle {
		idle = 1
	}
	w.byte(idle)
	w.u32(uint32(t.Rank))
	w.i64(int64(t.Hash))
}

func (r *rowReader) turn() reduce.Turn {
	return reduce.Turn{Idle: r.byte() == 1, Rank: int32(r.u32()), Hash: uint64(r.i64())}
}

// rowReader takes them from a row that a rowWriter has made.
type rowReader struct{ b []byte }

func (r *rowReader) take(n int) []byte {
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *rowReader) byte() byte     { return r.take(1)[0] }
func (r *rowReader) u16() uint16    { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *rowReader) u32() uint32    { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *rowReader) i64() int64     { return int64(binary.LittleEndian.Uint64(r.take(8))) }
func (r *rowReader) float() float64 { return math.Float64frombits(uint64(r.i64())) }
func (r *rowReader) text() string   { return string(r.take(int(r.u32()))) }

// putWindow appends a window, its evidence left out; key is the number of its
// device.
func putWindow(to *rowWriter, key uint32, w *features.Window) {
	to.u32(key)
	to.i64(w.StartNS)
	to.i64(w.EndNS)
	to.byte(byte(w.Kind))
	idle := byte(0)
	if w.Idle {
		idle = 1
	}
	to.byte(idle)
	to.u16(uint16(w.Missing))
	to.i64(w.TickNS)
	to.i64(w.Requests)
	to.float(w.Coverage)
	to.float(w.Known)
	to.i64(int64(w.CoveredTicks))
	for _, v := range w.Vector {
		to.float(v)
	}
	known := len(to.b)
	to.b = append(to.b, make([]byte, contextBytes)...)
	for i, v := range w.Context {
		if !math.IsNaN(v) {
			to.b[known+i/8] |= 1 << (i % 8)
			to.float(v)
		}
	}
	to.text(string(w.Ladder))
}

// contextBytes hold a bit of each fact: whether it is known.
const contextBytes = (features.CtxCount + 7) / 8

// windowOf is the inverse of putWindow.
func windowOf(row []byte, keys []features.Key) *features.Window {
	w := new(features.Window)
	windowInto(w, row, keys)
	return w
}

// windowInto is windowOf in the place of another window.
func windowInto(w *features.Window, row []byte, keys []features.Key) {
	r := rowReader{row}
	w.Key, w.Evidence = keys[r.u32()], nil
	w.StartNS, w.EndNS = r.i64(), r.i64()
	w.Kind, w.Idle = ingest.LatencyKind(r.byte()), r.byte() == 1
	w.Missing = features.Mask(r.u16())
	w.TickNS, w.Requests = r.i64(), r.i64()
	w.Coverage, w.Known = r.float(), r.float()
	w.CoveredTicks = int(r.i64())
	for i := range w.Vector {
		w.Vector[i] = r.float()
	}
	known := r.take(contextBytes)
	for i := range w.Context {
		w.Context[i] = math.NaN()
		if known[i/8]&(1<<(i%8)) != 0 {
			w.Context[i] = r.float()
		}
	}
	w.Ladder = features.Packed(r.text())
}

// putReadings appends what the evidence answers.
func putReadings(to *rowWriter, all []features.Reading) {
	to.u32(uint32(len(all)))
	for i := range all {
		x := &all[i]
		to.i64(int64(x.Query))
		to.float(x.Value)
		to.i64(x.TimeNS)
		to.text(x.Text)
	}
}

func readingsOf(row []byte) []features.Reading {
	r := rowReader{row}
	all := make([]features.Reading, r.u32())
	for i := range all {
		all[i] = features.Reading{Query: int(r.i64()), Value: r.float(), TimeNS: r.i64(), Text: r.text()}
	}
	return all
}

// words numbers texts of which there are few.
type words struct {
	all []string
	of  map[string]uint32
}

func (w *words) number(s string) uint32 {
	n, ok := w.of[s]
	if !ok {
		if w.of == nil {
			w.of = map[string]uint32{}
		}
		n = uint32(len(w.all))
		w.all, w.of[s] = append(w.all, s), n
	}
	return n
}

// putSaid appends a diagnosis; key is the number of its device, causes that of
// its causes.
func putSaid(to *rowWriter, w *words, key, causes uint32, d *cluster.Diagnosis) {
	to.u32(key)
	to.u32(causes)
	to.i64(d.StartNS)
	to.i64(d.EndNS)
	for _, s := range []string{string(d.Verdict), d.Pathology, d.Nearest, d.RootCause, d.Model} {
		to.u32(w.number(s))
	}
	to.i64(int64(d.ClassID))
	for _, v := range []float64{d.Severity, d.Confidence, d.Margin, d.RootCauseShare, d.Coverage} {
		to.float(v)
	}
	to.u16(uint16(len(d.Scores)))
	for _, v := range d.Scores {
		to.float(v)
	}
	to.u16(uint16(len(d.Evidence)))
	for _, s := range d.Evidence {
		to.u32(w.number(s))
	}
	to.u16(uint16(len(d.Readings)))
	for _, x := range d.Readings {
		to.u32(w.number(x.Query))
		to.float(x.Value)
		to.i64(x.TimeNS)
		to.text(x.Text)
	}
}

// saidOf is the inverse of putSaid.
func saidOf(row []byte, w *words, keys []features.Key, causes [][]cluster.Cause) *cluster.Diagnosis {
	d := new(cluster.Diagnosis)
	saidInto(d, row, w, keys, causes)
	return d
}

// saidInto is saidOf in the place of another diagnosis, whose memory is used again.
func saidInto(d *cluster.Diagnosis, row []byte, w *words, keys []features.Key, causes [][]cluster.Cause) {
	r := rowReader{row}
	*d = cluster.Diagnosis{Key: keys[r.u32()], Causes: causes[r.u32()], Scores: d.Scores[:0], Evidence: d.Evidence[:0], Readings: d.Readings[:0]}
	d.StartNS, d.EndNS = r.i64(), r.i64()
	word := func() string { return w.all[r.u32()] }
	d.Verdict, d.Pathology, d.Nearest, d.RootCause, d.Model = cluster.Verdict(word()), word(), word(), word(), word()
	d.ClassID = int(r.i64())
	d.Severity, d.Confidence, d.Margin, d.RootCauseShare, d.Coverage = r.float(), r.float(), r.float(), r.float(), r.float()
	for range r.u16() {
		d.Scores = append(d.Scores, r.float())
	}
	for range r.u16() {
		d.Evidence = append(d.Evidence, word())
	}
	for range r.u16() {
		d.Readings = append(d.Readings, cluster.Reading{Query: word(), Value: r.float(), TimeNS: r.i64(), Text: r.text()})
	}
}
