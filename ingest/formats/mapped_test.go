package formats

import (
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// Figures by hand: digits moved by the unit, what is below a nanosecond cut off.
func TestMappedNumber(t *testing.T) {
	check := func(text string, unit, want int64, wantOK bool) {
		t.Helper()
		got, ok := mappedNumber([]byte(text), 0, len(text), unit, false)
		if ok != wantOK || ok && got != want {
			t.Errorf("%q of %d: got %d %v, want %d %v", text, unit, got, ok, want, wantOK)
		}
	}
	check("152.5", 1000, 152500, true)
	check("0.000125", 1e9, 125000, true)
	check(".5", 1e9, 5e8, true)
	check("1.9999999999", 1e9, 1_999_999_999, true)
	check("1.5", 1, 1, true)
	check("0.5", 4096, 2048, true)
	check("1.25", 512, 640, true)
	check("9223372036854775807", 1, 1<<63-1, true)
	check("9223372036854775807", 2, 0, false)
	check("9223372036854775808", 1, 0, false)
	check("9223372037.5", 1e9, 0, false)
	check("1e3", 1000, 1e6, true)
	check("1.5e-05", 1e9, 15000, true)
	check("2E+2", 1, 200, true)
	check("1e30", 1, 0, false)
	check("-1", 1, 0, false)
	check("1.", 1000, 0, false)
	check(".", 1, 0, false)
	check("1x", 1, 0, false)
	check("true", 1, 0, false)
	check("1_000", 1, 0, false)
	check("0x10", 1, 0, false)
	check("NaN", 1, 0, false)
}

// A row costs no memory of its own.
func TestMappedAllocs(t *testing.T) {
	for _, s := range shelf(t) {
		f := s.format.Name
		if (f != ingest.MappedText && f != ingest.MappedJSON) || s.path != "testdata/"+f+"/plain.log" {
			continue
		}
		src := ingest.Source{Head: s.data[:min(len(s.data), ingest.SniffBytes)], Host: "h", Options: s.o, Mapping: &s.o.Mappings[0]}
		dec, err := s.format.Line(&src)
		if err != nil {
			t.Fatal(err)
		}
		line := lastLine(s.data)
		var out ingest.Out
		out.Events = make([]ingest.Event, 0, 1000)
		out.Position = 1 << 20
		dec.Line(line, &out)
		if got := testing.AllocsPerRun(200, func() { dec.Line(line, &out) }); got != 0 || out.Tally.Rejected() > 0 {
			t.Errorf("%s: %v allocations a row, %d rejects", f, got, out.Tally.Rejected())
		}
	}
}

func lastLine(data []byte) []byte {
	end := len(data) - 1
	from := end
	for from > 0 && data[from-1] != '\n' {
		from--
	}
	return data[from:end]
}

// FuzzMapped reads anything by each mapping of the shelf: no panic, nothing
// impossible, fates that sum, the same with two workers.
func FuzzMapped(f *testing.F) {
	var by []sample
	for _, s := range shelf(f) {
		if len(s.o.Mappings) > 0 {
			f.Add(uint8(len(by)), s.data)
			by = append(by, s)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		s := by[int(which)%len(by)]
		s.data, s.o.Format = data, s.o.Mappings[0].Name
		one := read(t, s, 1, nil)
		if two := read(t, s, 2, nil); one.chunks != two.chunks {
			t.Errorf("the second read differs: %s", firstDifference(one.chunks, two.chunks))
		}
		read(t, s, 1, func(c *ingest.Chunk) { check(t, c) })
	})
}
