package formats

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// wholeText is a number in a line.
var wholeText = regexp.MustCompile(`-?\d+(?:[.,]\d+)?`)

// TestFormatsNumbers puts a number that is none, or that nothing can mean, in the
// place of one, in each text of the shelf: all lines keep one fate, and no row holds
// what no device can do.
func TestFormatsNumbers(t *testing.T) {
	odd := []string{
		"9223372036854775807", "9223372036854775808", "18446744073709551615", "99999999999999999999999999", "4294967295", "4294967296",
		"-1", "-9223372036854775808", "1e30", "1e-30", "-1e30", "nan", "NaN", "inf", "-inf", "0x10", "1,5", "1.5.6", "٣", "", "-", "00000000000000000000000000007", "1_000", "+7",
	}
	rounds := 60
	if testing.Short() {
		rounds = 4
	}
	for _, s := range shelf(t) {
		if s.format.Records != nil || len(s.data) > 64<<10 {
			continue
		}
		s.o.Format, s.o.Host = s.format.Name, "h"
		r := rand.New(rand.NewPCG(uint64(len(s.data)), 7))
		data := string(s.data)
		places := wholeText.FindAllStringIndex(data, -1)
		if len(places) == 0 {
			continue
		}
		for range rounds {
			at := places[r.IntN(len(places))]
			what := odd[r.IntN(len(odd))]
			s.data = []byte(data[:at[0]] + what + data[at[1]:])
			read(t, s, 1, func(c *ingest.Chunk) {
				check(t, c)
				for i := range c.Events {
					e := &c.Events[i]
					if e.SizeBytes >= ingest.MaxSizeBytes || e.LatencyNS > ingest.MaxLatencyNS || e.QueueNS > ingest.MaxLatencyNS || e.TimeNS > csvLastNS || e.OffsetBytes > math.MaxInt64/2 {
						t.Errorf("%s: %q in the place of %q in %q: an event that can't be: %+v", s.path, what, data[at[0]:at[1]], lineAround(data, at[0]), *e)
					}
				}
				for i := range c.Samples {
					m := &c.Samples[i]
					if m.TimeNS > csvLastNS || m.IntervalNS > math.MaxInt64/2 {
						t.Errorf("%s: %q in the place of %q in %q: a sample that can't be: %+v", s.path, what, data[at[0]:at[1]], lineAround(data, at[0]), *m)
					}
				}
				for i := range c.Batch.Evidence {
					f := &c.Batch.Evidence[i]
					if math.IsNaN(f.Value) || math.IsInf(f.Value, 0) || f.TimeNS > csvLastNS {
						t.Errorf("%s: %q in the place of %q in %q: a fact that can't be: %+v", s.path, what, data[at[0]:at[1]], lineAround(data, at[0]), *f)
					}
				}
			})
		}
	}
}

// lineAround is the line of a text that a place is in.
func lineAround(text string, at int) string {
	from := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[from:], "\n")
	return line
}
