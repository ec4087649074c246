package features

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// told writes the answers of one query as text: value by span, - where missing.
func told(answers [][]Reading, query int) string {
	var words []string
	for _, a := range answers {
		w := Window{Evidence: a}
		if r, ok := w.Reading(query); ok {
			words = append(words, fmt.Sprintf("%.6g", r.Value))
		} else {
			words = append(words, "-")
		}
	}
	return strings.Join(words, " ")
}

const second = int64(1e9)

// spansOf are n windows of 10 s from a second on.
func spansOf(from int64, n int) []Span {
	var s []Span
	for i := range int64(n) {
		s = append(s, Span{(from + 10*i) * second, (from + 10*i + 10) * second})
	}
	return s
}

func TestEvidenceFold(t *testing.T) {
	type row struct {
		s     float64
		value float64
		text  string
	}
	check := func(what string, q Query, spans []Span, rows []row, want string) {
		t.Helper()
		f := NewEvidenceFold([]Query{{EvidenceSeen, "other", 0}, q}, spans)
		for _, r := range rows {
			f.Add(strings.Split(q.Name, "|")[0], int64(r.s*1e9), r.value, r.text)
		}
		if got := told(f.Close(), 1); got != want {
			t.Errorf("%s: %s gives %s, want %s", what, q, got, want)
		}
	}
	four := spansOf(1000, 4)
	rate := Query{Kind: EvidenceRate, Name: "n"}
	// Growth 100 in 10 s is 10 a second.
	check("steady", rate, four, []row{{1000, 0, ""}, {1010, 100, ""}, {1020, 200, ""}, {1030, 300, ""}, {1040, 400, ""}}, "10 10 10 10")
	// Readings 20 s apart: 200 over 20 s; the last window has no reading behind it.
	check("coarse", rate, four, []row{{1000, 0, ""}, {1020, 200, ""}, {1030, 500, ""}}, "10 10 30 -")
	// A reset at 1015: the counter grew by the 30 that it shows, within 5 s of the window's 10.
	check("reset", rate, four, []row{{1000, 1000, ""}, {1010, 1100, ""}, {1015, 30, ""}, {1020, 60, ""}, {1040, 60, ""}}, "10 6 0 0")
	check("an hour apart tells nothing", rate, four, []row{{0.5, 0, ""}, {4000, 4e6, ""}}, "- - - -")
	check("one reading is no rate", rate, four, []row{{1005, 7, ""}}, "- - - -")
	// Two series of 10 and 20 a second, read 1 s apart.
	check("series", rate, four[:1], []row{{999, 0, "a"}, {999, 0, "b"}, {1010, 110, "a"}, {1010, 220, "b"}}, "30")
	check("no rows", rate, four, nil, "- - - -")
	check("no time", rate, four, []row{{0, 1, ""}, {0, 2, ""}}, "- - - -")
	level := Query{Kind: EvidenceLevel, Name: "n"}
	// Two readings in the first window; none in the second: the last before.
	check("level", level, four, []row{{1002, 1, ""}, {1004, 3, ""}, {1025, 8, ""}}, "2 3 8 8")
	check("an interval's mean is stamped at its end", level, four, []row{{1010, 5, ""}, {1020, 6, ""}}, "5 6 6 6")
	check("stale", level, spansOf(3000, 2), []row{{1000, 5, ""}}, "- -")
	check("peak", Query{Kind: EvidencePeak, Name: "n"}, four, []row{{1002, 1, ""}, {1004, 3, ""}, {1006, 2, ""}}, "3 2 2 2")
	check("seen", Query{Kind: EvidenceSeen, Name: "n"}, four, []row{{1000, 1, "x"}, {1019.5, 1, "y"}, {1020, 1, "z"}}, "1 1 1 0")
	check("seen near", Query{EvidenceSeen, "n", 10 * second}, four, []row{{1025, 1, ""}}, "0 1 1 1")
	check("seen of no source", Query{Kind: EvidenceSeen, Name: "n"}, four, nil, "- - - -")
	latest := Query{Kind: EvidenceLatest, Name: "n"}
	check("latest", latest, four, []row{{1012, 1, ""}, {1014, 2, ""}, {1035, 3, ""}}, "1 2 2 3")
	check("latest of long ago", latest, four, []row{{1, 9, ""}}, "9 9 9 9")
	check("latest without a time", latest, four, []row{{0, 9, ""}}, "9 9 9 9")
	check("growth", Query{Kind: EvidenceGrowth, Name: "n"}, four[:1], []row{{1, 5, ""}, {90000, 8, ""}, {180000, 2, ""}}, "5")
	check("growth of one reading", Query{Kind: EvidenceGrowth, Name: "n"}, four[:1], []row{{1, 5, ""}}, "-")
	check("one of several names", Query{Kind: EvidenceSeen, Name: "n|m"}, four[:1], []row{{1001, 1, ""}}, "1")
	// Windows of two lengths, and the same span twice.
	mixed := []Span{four[1], {1000 * second, 1040 * second}, four[0], four[1]}
	check("spans", level, mixed, []row{{1002, 1, ""}, {1015, 3, ""}}, "3 2 1 3")
}

// More series than the bound, as texts that differ from row to row make them,
// make the rate unknown, and take no more memory.
func TestEvidenceSeriesAreBounded(t *testing.T) {
	f := NewEvidenceFold([]Query{{Kind: EvidenceRate, Name: "n"}}, spansOf(0, 2))
	for i := range 3 * seriesBound {
		f.Add("n", int64(i+1)*1e7, 1, fmt.Sprint("message ", i))
	}
	if n := len(f.found[0].series); n != seriesBound {
		t.Errorf("%d series are kept, want %d", n, seriesBound)
	}
	if got := told(f.Close(), 0); got != "- -" {
		t.Errorf("got %s", got)
	}
}

func TestEvidenceOf(t *testing.T) {
	check := func(device string, want ...string) {
		t.Helper()
		if got := EvidenceOf(device); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", device, got, want)
		}
	}
	check("sda", "sda", "")
	check("sda12", "sda12", "sda", "")
	check("nvme0n1", "nvme0n1", "nvme0", "")
	check("nvme10n1p2", "nvme10n1p2", "nvme10n1", "nvme10", "")
	check("nvme0c1n1", "nvme0c1n1", "nvme0", "")
	check("dm-0", "dm-0", "")
	check("md127", "md127", "")
	check("mmcblk0p1", "mmcblk0p1", "mmcblk0", "")
	check("loop3", "loop3", "")
	check("nvme", "nvme", "")
	check("", "")
}

func TestQueryIsWrittenAsInACatalogue(t *testing.T) {
	for want, q := range map[string]Query{
		`rate("x")`:        {Kind: EvidenceRate, Name: "x"},
		`seen("x", 2.5)`:   {EvidenceSeen, "x", 25e8},
		`latest("a\"b|c")`: {Kind: EvidenceLatest, Name: `a"b|c`},
	} {
		if q.String() != want {
			t.Errorf("got %s, want %s", q, want)
		}
	}
}
