package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/ingest/lake"
)

// quarantine is the folder of the lake where damaged files of rows go whose logs
// are no more.
const quarantine = "quarantine"

// Mend holds the parts that windows are about to be made of against their
// checksums. What is damaged is written anew from those of the sources that it was made
// of; what can't be is put into LAKE/quarantine, and its days take no more rows: what was
// said of them before stays.
func (j *Job) Mend(ctx context.Context, sources []string, say func(format string, args ...any)) error {
	faults, err := j.damagedFeeds(ctx)
	if err != nil || len(faults) == 0 {
		return err
	}
	for _, f := range faults {
		say("%s", f)
	}
	run := j.RunID
	defer func() { j.RunID = run }()
	j.RunID = run + "-repair"
	sources = slices.DeleteFunc(slices.Clone(sources), func(s string) bool { return s == "-" }) // it was read to its end
	var wrong []Wrong
	if len(sources) > 0 {
		_, done, err := j.Repair(ctx, sources, nil)
		if err != nil {
			return err
		}
		for _, p := range done.Parts {
			say("repaired: %s was written anew from its log", p)
		}
		wrong = done.Wrong
	} else {
		found, err := j.Verify(ctx)
		if err != nil {
			return err
		}
		wrong = found.Wrong
	}
	return j.quarantine(wrong, run+"-quarantine", say)
}

// damagedFeeds gives the faults of the files that the windows to be made are made of.
func (j *Job) damagedFeeds(ctx context.Context) (faults []lake.Fault, err error) {
	plan, err := j.foldPlan(nil, true)
	if err != nil {
		return nil, err
	}
	var parts []lake.Part
	for _, f := range plan.feeds {
		parts = append(parts, slices.Concat(f.events, f.samples, f.evidence)...)
	}
	files, err := lake.Files(plan.manifests, parts)
	if err != nil {
		return nil, err
	}
	files = slices.CompactFunc(files, func(a, b lake.Part) bool { return a.Path == b.Path })
	for _, p := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if j.Away != nil { // the stage to come reads it: it is not let go of
			if err := j.Away.FetchAsIs(p.Path); err != nil {
				return nil, err
			}
		}
		found, err := lake.VerifyPart(j.Lake, p)
		if err != nil {
			return nil, err
		}
		faults = append(faults, found...)
	}
	return faults, nil
}

// quarantine takes the damaged files of rows out of the lake.
func (j *Job) quarantine(wrong []Wrong, run string, say func(format string, args ...any)) error {
	damaged := map[string]bool{}
	for _, w := range wrong {
		table, _, _ := strings.Cut(w.Path, "/")
		if w.Kind != lake.Extra && (table == lake.Events || table == lake.Samples || table == lake.Evidence) {
			damaged[w.Path] = true
		}
	}
	if len(damaged) == 0 {
		return nil
	}
	lock, err := lake.NewLock(j.Lake)
	if err != nil {
		return err
	}
	defer lock.Close()
	manifests, err := j.Manifests()
	if err != nil {
		return err
	}
	m := lake.Manifest{Run: run, Version: j.Version}
	closed := lake.ClosedDays(manifests)
	for _, table := range []string{lake.Events, lake.Samples, lake.Evidence} {
		for _, p := range lake.Parts(manifests, table) {
			if !damaged[lake.FileOf(p.Path)] {
				continue
			}
			c, err := cellOf(p)
			if err != nil {
				return err
			}
			m.Removed = append(m.Removed, p.Path)
			if d := (lake.Day{Host: c.host, Date: c.date}); !closed[d] {
				closed[d] = true
				m.Closed = append(m.Closed, d)
			}
		}
	}
	for _, file := range sortedKeys(damaged) {
		if j.Away != nil {
			if err := j.Away.FetchAsIs(file); err != nil {
				return fmt.Errorf("quarantine: %w", err)
			}
		}
		if _, err := os.Stat(filepath.Join(j.Lake, filepath.FromSlash(file))); err == nil {
			if err := lake.Adopt(j.Lake, filepath.Join(j.Lake, quarantine), file); err != nil {
				return fmt.Errorf("quarantine: %w", err)
			}
		}
		say("quarantine: %s: no log of it is among the sources: it lies in %s, its day takes no more rows, and its windows and labels stay", file, j.named(quarantine))
	}
	if err := j.FetchBundles(m.Removed); err != nil {
		return err
	}
	return lock.Replace(m)
}
