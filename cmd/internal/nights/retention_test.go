package nights

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest/lake"
)

const days = 24 * time.Hour

// part is one of a table, "events 2026-11-29 h1 input".
func part(t *testing.T, table, date, host, input string) lake.Part {
	t.Helper()
	p := lake.Part{Path: lake.PartName{Table: table, Date: date, Host: host, Input: input}.Path(), Rows: 1, Bytes: 1}
	if _, err := lake.ParsePart(p.Path); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRetentionPlan(t *testing.T) {
	keep := configs.Retention{Events: 2 * days, Ticks: 4 * days, Labels: 6 * days}
	check := func(name, today string, r configs.Retention, parts [][4]string, gone, closed string) {
		t.Helper()
		s := shelf{parts: map[string][]lake.Part{}, today: today}
		for _, p := range parts {
			s.parts[p[0]] = append(s.parts[p[0]], part(t, p[0], p[1], p[2], p[3]))
		}
		out, err := s.plan(r)
		if err != nil {
			t.Fatal(err)
		}
		var went []string
		for _, p := range out.parts {
			n, _ := lake.ParsePart(p.Path) // it was made of a name
			went = append(went, fmt.Sprintf("%s %s %s", n.Table, n.Date[5:], n.Input))
		}
		if got := fmt.Sprint(went); got != gone {
			t.Errorf("%s: %s goes, want %s", name, got, gone)
		}
		if got := fmt.Sprint(out.closed); got != closed {
			t.Errorf("%s: %s closed, want %s", name, got, closed)
		}
	}
	events := func(dates ...string) (out [][4]string) {
		for _, d := range dates {
			out = append(out, [4]string{"events", d, "h", "i"})
		}
		return out
	}
	// Two days to the 10th are the 9th and the 10th; the 8th is what the 9th begins with.
	check("the day before the first that is kept stays", "2026-03-10", keep, events("2026-03-06", "2026-03-07", "2026-03-08", "2026-03-09", "2026-03-10"), "[events 03-06 i events 03-07 i]", "[{h 2026-03-06} {h 2026-03-07}]")
	check("nothing is newer than what is there", "2030-01-01", keep, events("2026-03-08", "2026-03-09", "2026-03-10"), "[]", "[]")
	check("what is ahead of the clock is not the newest", "2026-03-10", keep, events("2026-03-09", "2026-03-10", "2031-01-01"), "[]", "[]")
	check("for ever", "2026-03-10", configs.Retention{}, events("2020-01-01", "2026-03-10"), "[]", "[]")
	check("without a date", "2026-03-10", keep, events("1970-01-01", "1970-04-01", "2026-03-10"), "[]", "[]")
	check("evidence goes with the last rows of its input", "2026-03-10", keep, [][4]string{
		{"events", "2026-03-01", "h", "old"}, {"events", "2026-03-01", "h", "grows"}, {"events", "2026-03-10", "h", "grows"},
		{"evidence", "2026-03-01", "h", "old"}, {"evidence", "2026-03-01", "h", "grows"}, {"evidence", "2026-03-01", "h", "alone"}, {"evidence", "2026-03-09", "h", "alone"},
	}, "[events 03-01 old events 03-01 grows evidence 03-01 old]", "[{h 2026-03-01}]")
	check("each table has its time", "2026-03-10", keep, [][4]string{
		{"events", "2026-03-10", "h", "i"},
		{"ticks", "2026-03-06", "h", "ticks"}, {"ticks", "2026-03-07", "h", "ticks"}, {"profiles", "2026-03-06", "h", "profiles"},
		{"windows", "2026-03-04", "h", "windows"}, {"windows", "2026-03-05", "h", "windows"}, {"labels", "2026-03-04", "h", "labels"},
	}, "[ticks 03-06 ticks profiles 03-06 profiles windows 03-04 windows labels 03-04 labels]", "[]")
}

// Night after night, with logs that come late and rows of any days: a day within
// its time never lacks rows that its windows are made of, nothing goes twice, and
// what stays is no more than two days beyond what was asked for.
func TestRetentionLaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	date := func(day int) string { return start.AddDate(0, 0, day).Format(time.DateOnly) }
	for range 50 {
		keep := 1 + rng.IntN(6)
		s := shelf{parts: map[string][]lake.Part{}, closed: map[lake.Day]bool{}}
		for night := range 20 {
			s.today = date(night)
			for range 1 + rng.IntN(4) {
				day := max(0, night-rng.IntN(10))
				host := fmt.Sprintf("h%d", rng.IntN(3))
				if !s.closed[lake.Day{Host: host, Date: date(day)}] {
					s.parts[lake.Events] = append(s.parts[lake.Events], part(t, lake.Events, date(day), host, fmt.Sprintf("i%d", rng.IntN(1e9))))
				}
			}
			newest := s.newest()
			before := len(s.parts[lake.Events])
			out, err := s.plan(configs.Retention{Events: time.Duration(keep) * days})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range out.parts {
				n, _ := lake.ParsePart(p.Path) // it was made of a name
				for _, of := range []string{n.Date, next(n.Date)} {
					if of >= cutoff(newest, time.Duration(keep)*days) {
						t.Fatalf("keep %d days of %s: the rows of %s go, and windows of %s are made of them", keep, newest, n.Date, of)
					}
				}
				at := slices.IndexFunc(s.parts[lake.Events], func(q lake.Part) bool { return q.Path == p.Path })
				s.parts[lake.Events] = slices.Delete(s.parts[lake.Events], at, at+1)
			}
			if len(s.parts[lake.Events])+len(out.parts) != before {
				t.Fatal("a part went twice")
			}
			for _, d := range out.closed {
				if s.closed[d] {
					t.Fatalf("%v is closed twice", d)
				}
				s.closed[d] = true
			}
			last, err := time.Parse(time.DateOnly, newest)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range s.parts[lake.Events] {
				if n, _ := lake.ParsePart(p.Path); n.Date < last.AddDate(0, 0, -keep).Format(time.DateOnly) {
					t.Fatalf("keep %d days of %s: %s is still there", keep, newest, n.Date)
				}
			}
		}
	}
}
