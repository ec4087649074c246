package formats

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// rowTime is the time and the host of a dumped row: some logs tell the host in a line
// that is not understood with something before it.
var rowTime = regexp.MustCompile(`^(event|sample|evidence) -?\d+ (interval \d+ )?("[^"]*"|\S+) `)

// TestFormatsPrefix: collectors of logs put stamps and names before each line (ts of
// moreutils, journalctl, kubectl logs, docker compose). No number is read wrong by
// them: a row is one of the text without them, at its time or at that of the stamp,
// or there is none.
func TestFormatsPrefix(t *testing.T) {
	prefixes := []string{
		"Nov 30 03:10:11 ", "00:00:01 ", "1764471011.123456 ", "1764471011 ", "[2026-11-30 03:10:11] ", // ts
		"Nov 30 03:10:11 host1 iostat[1234]: ", "2026-11-30T03:10:11+0000 host1 iostat[1234]: ",
		"2026-11-30T03:10:11.123456789Z ", "2026-11-30T03:10:11.123456789Z stdout F ", "web-1  | ",
	}
	// The rows of these tell of lines that were not understood.
	told := regexp.MustCompile(`^evidence \S+ \S+ - (fio_incomplete|fio_text_lines) |^evidence \S+ \S+ \S+ counter\.`) // or, of one snapshot, its counters
	for _, s := range shelf(t) {
		if s.format.Stream != nil || s.format.Records != nil || strings.HasSuffix(s.path, "/faults.log") {
			continue // or lines that are broken already
		}
		switch s.path {
		case "testdata/strace/refused.log": // it lacks the stamps that a prefix gives
			continue
		case "testdata/psi-io/series.log": // what its own stamps show to be impossible
			continue
		}
		s.o.Host = "h"
		rows := func(prefix, format string) map[string]int {
			one := s
			one.o.Format = format
			if prefix != "" {
				text := bytes.ReplaceAll(bytes.TrimRight(s.data, "\r\n"), []byte("\n"), []byte("\n"+prefix))
				one.data = append(append([]byte(prefix), text...), '\n')
			}
			got := read(t, one, 1, nil)
			if format == "" && prefix != "" && got.rep.Format != s.format.Name {
				return nil
			}
			kept, _, _ := strings.Cut("\n"+got.rows, "\nreject line")
			all := map[string]int{}
			for row := range strings.Lines(places.ReplaceAllString(kept, "$1")) {
				at := rowTime.FindString(row)
				if strings.Contains(at, `"`) {
					t.Errorf("%s, each line after %q: a host that is none: %s", s.path, prefix, row)
				}
				if at != "" && !told.MatchString(row) {
					kind, _, _ := strings.Cut(at, " ")
					all[kind+" "+strings.TrimRight(row[len(at):], "\n")]++
				}
			}
			return all
		}
		plain := rows("", s.o.Format)
		if testing.Short() {
			prefixes = prefixes[:4]
		}
		for _, p := range prefixes {
			for _, format := range []string{"", s.format.Name} {
				for row, n := range rows(p, format) {
					if n > plain[row] {
						t.Errorf("%s, each line after %q, format %q: a row that was not there: %s", s.path, p, format, row)
					}
				}
			}
		}
	}
}
