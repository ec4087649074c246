package nights

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest/lake"
)

// undated ends the days that hold rows of logs that nothing dates: those count
// from 1970, have no age, and are kept.
const undated = "1971-01-01"

// Pruned is what a night removed for its age.
type Pruned struct {
	Parts   int   `json:"parts"`   // of the lake
	Bytes   int64 `json:"bytes"`   // of these
	Days    int   `json:"days"`    // of hosts, whose events are gone
	Reports int   `json:"reports"` // folders of dates
}

// removal is what retention takes away.
type removal struct {
	parts  []lake.Part
	closed []lake.Day // days that take no more rows
}

// shelf is what a retention is decided on.
type shelf struct {
	parts  map[string][]lake.Part // by table
	closed map[lake.Day]bool      // already
	today  string                 // no date behind it counts as the newest
}

// newest is the last date of rows or windows that is not ahead of today; "" for
// none. What a clock that ran ahead has stamped is so no reason to remove all else.
func (s *shelf) newest() string {
	last := ""
	for _, table := range []string{lake.Events, lake.Samples, lake.Windows} {
		for _, p := range s.parts[table] {
			if name, err := lake.ParsePart(p.Path); err == nil && name.Date <= s.today && name.Date >= undated {
				last = max(last, name.Date)
			}
		}
	}
	return last
}

// cutoff is the first date that is kept, of those that end with the newest; ""
// where all are.
func cutoff(newest string, keep time.Duration) string {
	day, err := time.Parse(time.DateOnly, newest)
	if keep <= 0 || err != nil {
		return ""
	}
	return day.AddDate(0, 0, 1).Add(-keep).Format(time.DateOnly)
}

// plan decides what goes. Events and samples of a day of a host go when the day
// and the one after it are past their time: a day within it can still be made anew
// by a late log, and is made also of the rows of the day before. The evidence of
// an input goes with the last of its rows, since all of it may count for each
// of its days. Windows are past only with their labels.
func (s *shelf) plan(r configs.Retention) (out removal, err error) {
	newest := s.newest()
	past := func(from string) func(string) bool {
		return func(date string) bool { return date < from && date >= undated }
	}
	rows := past(cutoff(newest, r.Events))
	gone := func(date string) bool { return rows(date) && rows(next(date)) }
	held := map[string]bool{} // inputs with rows that stay
	days := map[lake.Day]bool{}
	for _, table := range []string{lake.Events, lake.Samples, lake.Evidence} {
		for _, p := range s.parts[table] {
			name, err := lake.ParsePart(p.Path)
			if err != nil {
				return removal{}, err
			}
			switch {
			case !gone(name.Date):
				held[name.Input] = true
			case table != lake.Evidence:
				out.parts = append(out.parts, p)
				days[lake.Day{Host: name.Host, Date: name.Date}] = true
			}
		}
	}
	for _, p := range s.parts[lake.Evidence] {
		if name, err := lake.ParsePart(p.Path); err == nil && !held[name.Input] {
			out.parts = append(out.parts, p)
		}
	}
	for d := range days {
		if !s.closed[d] {
			out.closed = append(out.closed, d)
		}
	}
	slices.SortFunc(out.closed, func(a, b lake.Day) int { return strings.Compare(a.Host+"\x00"+a.Date, b.Host+"\x00"+b.Date) })
	for _, t := range []struct {
		table string
		past  func(string) bool
	}{
		{lake.Ticks, past(cutoff(newest, r.Ticks))}, {lake.Profiles, past(cutoff(newest, r.Ticks))},
		{lake.Windows, past(cutoff(newest, r.Labels))}, {lake.Labels, past(cutoff(newest, r.Labels))}, {lake.Baselines, past(cutoff(newest, r.Labels))},
	} {
		for _, p := range s.parts[t.table] {
			name, err := lake.ParsePart(p.Path)
			if err != nil {
				return removal{}, err
			}
			if t.past(name.Date) {
				out.parts = append(out.parts, p)
			}
		}
	}
	return out, nil
}

// next is the date after another.
func next(date string) string {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return day.AddDate(0, 0, 1).Format(time.DateOnly)
}

// prune removes what is past its time: first the manifest says so, then the
// files go; what a crash leaves of these the next run that writes removes.
func (n *Job) prune(_ context.Context, r *Result) error {
	lock, err := lake.NewLock(n.Local.Lake)
	if err != nil {
		return err
	}
	defer lock.Close()
	manifests, err := n.Local.Manifests()
	if err != nil {
		return err
	}
	s := shelf{parts: map[string][]lake.Part{}, closed: lake.ClosedDays(manifests), today: lake.Date(n.NowNS)}
	for _, table := range local.Tables {
		s.parts[table] = lake.Parts(manifests, table)
	}
	keep := n.Local.Config.Retention
	out, err := s.plan(keep)
	if err != nil {
		return err
	}
	if len(out.parts) > 0 {
		m := lake.Manifest{Run: n.Local.RunID + "-retention", Version: n.Local.Version, Closed: out.closed}
		for _, p := range out.parts {
			m.Removed = append(m.Removed, p.Path)
			r.Pruned.Bytes += p.Bytes
		}
		r.Pruned.Parts, r.Pruned.Days = len(out.parts), len(out.closed)
		if err := n.Local.FetchBundles(m.Removed); err != nil {
			return err
		}
		if err := lock.Replace(m); err != nil {
			return err
		}
	}
	return n.pruneReports(cutoff(s.newest(), keep.Reports), r)
}

// pruneReports removes the files of ours in the folders of dates before one, and
// the folders that hold nothing else. The index forgets them the next time.
func (n *Job) pruneReports(from string, r *Result) error {
	all, err := dates(n.Out)
	if err != nil || from == "" {
		return err
	}
	for _, date := range all {
		if date >= from || date < undated {
			continue
		}
		for _, name := range append([]string{sumsFile, ActionsFile}, local.OutputFiles...) {
			if err := os.Remove(filepath.Join(Dir(n.Out, date), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("retention: %w", err)
			}
		}
		_ = os.Remove(Dir(n.Out, date)) // with what is not ours in it, it stays
		r.Pruned.Reports++
	}
	if r.Pruned.Reports > 0 {
		return n.writeIndex(context.Background(), r)
	}
	return nil
}
