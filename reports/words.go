package reports

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// relativeBefore is 1980-01-01 in ns: earlier times count from a trace's
// start or from boot and are written as such.
const relativeBefore = 315532800 * int64(time.Second)

// moments writes times: absolute in UTC, or relative when all are before 1980.
type moments struct {
	relative bool
	day      bool // the span crosses midnight: write the date too
}

func newMoments(first, last int64) moments {
	day := 24 * int64(time.Hour)
	return moments{relative: last < relativeBefore, day: first/day != (last-1)/day}
}

// at writes a time as short as the span allows.
func (m moments) at(ns int64) string {
	if m.relative {
		return fmt.Sprintf("%+.1f s", float64(ns)/1e9)
	}
	layout := "15:04:05"
	if m.day {
		layout = "2006-01-02 15:04:05"
	}
	return time.Unix(0, ns).UTC().Format(layout)
}

// full writes a time with its date.
func (m moments) full(ns int64) string {
	if m.relative {
		return m.at(ns)
	}
	return time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05")
}

// machine writes a time for the datetime attribute; empty when relative.
func (m moments) machine(ns int64) string {
	if m.relative {
		return ""
	}
	return time.Unix(0, ns).UTC().Format(time.RFC3339)
}

// span writes a duration in words: "12.5 s", "4 min 10 s", "3 h 05 min".
func span(seconds float64) string {
	switch {
	case seconds > 0 && seconds < 0.0995:
		return fmt.Sprintf("%.3g ms", seconds*1000)
	case seconds < 60:
		return strconv.FormatFloat(math.Round(seconds*10)/10, 'f', -1, 64) + " s"
	case seconds < 3600:
		s := int64(math.Round(seconds))
		if s%60 == 0 {
			return fmt.Sprintf("%d min", s/60)
		}
		return fmt.Sprintf("%d min %02d s", s/60, s%60)
	case seconds < 48*3600:
		m := int64(math.Round(seconds / 60))
		return fmt.Sprintf("%d h %02d min", m/60, m%60)
	}
	return fmt.Sprintf("%.1f days", seconds/86400)
}

// hours writes device-hours.
func hours(seconds float64) string {
	h := seconds / 3600
	switch {
	case h >= 100:
		return count(int64(math.Round(h)))
	case h >= 1:
		return fmt.Sprintf("%.1f", h)
	}
	return fmt.Sprintf("%.2f", h)
}

// volume writes a size by powers of 1,000.
func volume(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if v >= u.size {
			return three(v/u.size) + " " + u.name
		}
	}
	return three(v) + " B"
}

// count writes an integer with commas.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	head, sign := len(s), 0
	if n < 0 {
		sign = 1
	}
	for i := head - 3; i > sign; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// three writes 3 significant digits without needless zeros, with commas from
// 1,000 up.
func three(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case a >= 999.5:
		return count(int64(math.Round(v)))
	case a >= 99.95:
		return trim(v, 0)
	case a >= 9.995:
		return trim(v, 1)
	case a >= 0.01 || a == 0:
		return trim(v, 2)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// trim writes at most so many decimals.
func trim(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if decimals > 0 {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return s
}

// percent writes a share.
func percent(v float64) string {
	p := v * 100
	switch {
	case math.IsNaN(p):
		return "–"
	case p > 0 && p < 0.01:
		return "under 0.01 %"
	case p > 0 && p < 0.995, p > 99 && p < 100:
		// 99.96 % must not become 100 %.
		return strconv.FormatFloat(math.Trunc(p*100)/100, 'f', -1, 64) + " %"
	case p < 9.95:
		return strconv.FormatFloat(math.Round(p*10)/10, 'f', -1, 64) + " %"
	}
	return fmt.Sprintf("%.0f %%", p)
}

// plural writes "1 device", "2 devices".
func plural(n int, one string) string {
	return count(int64(n)) + " " + cluster.Noun(n, one)
}

// labelRunes bounds a name from a log where it is shown.
const labelRunes = 48

// label makes a name from a log fit to be shown in one line: control and
// direction-changing characters are written out, long names cut in the
// middle. (Markup is the template's care.)
func label(s string) string {
	var b strings.Builder
	n := 0
	for i, r := range s {
		if n++; n > 4*labelRunes {
			b.WriteString(s[len(s)-min(len(s)-i, 4*labelRunes):])
			break
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return cut(strings.Map(printable, strings.ToValidUTF8(b.String(), "?")))
}

func printable(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
		return '?'
	}
	return r
}

func cut(s string) string {
	r := []rune(s)
	if len(r) <= labelRunes {
		return s
	}
	return string(r[:labelRunes*2/3]) + "…" + string(r[len(r)-labelRunes/3+1:])
}

// deviceLabel names a device in one line.
func deviceLabel(k features.Key) string { return label(k.Host) + "/" + label(k.Device) }

func upperFirst(s string) string {
	if len(s) > 0 && s[0] >= 'a' && s[0] <= 'z' {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return s
}

func lowerFirst(s string) string {
	if len(s) > 1 && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// labels makes the first texts of a list fit to be shown, each once.
func labels(list []string, most int) []string {
	var out []string
	for _, s := range list {
		if s = sentence(s); len(out) < most && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// sentenceRunes bounds a text from the catalogue or a log.
const sentenceRunes = 240

// sentence makes a longer text fit to be shown.
func sentence(s string) string {
	r := []rune(strings.ToValidUTF8(s, "?"))
	if len(r) > sentenceRunes {
		r = append(r[:sentenceRunes:sentenceRunes], '…')
	}
	return strings.Map(printable, string(r))
}
