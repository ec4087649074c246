package local

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// clockFiles are the clock files that stand among the inputs, and those that
// were looked for beside them.
type clockFiles struct {
	ofLog    map[string]*ingest.ClockFile // by the path without .clock
	ofFolder map[string]*ingest.ClockFile
	looked   map[string]bool // folders whose clock.txt was looked for
}

func newClockFiles() clockFiles {
	return clockFiles{map[string]*ingest.ClockFile{}, map[string]*ingest.ClockFile{}, map[string]bool{}}
}

// take keeps an input that is a clock file. One that is named like one must be
// one; others are known by their content.
func (c *clockFiles) take(path string, data []byte) (bool, error) {
	file, err := ingest.ParseClockFile(path, data)
	if err != nil {
		if ingest.IsClockFileName(path) {
			return false, fmt.Errorf("clock file %w", err)
		}
		return false, nil
	}
	if log, ok := strings.CutSuffix(path, ".clock"); ok {
		c.ofLog[log] = &file
		return true, nil
	}
	dir := filepath.Dir(path)
	switch old := c.ofFolder[dir]; {
	case old == nil:
		c.ofFolder[dir] = &file
	case !old.Join(file) && filepath.Base(path) == "clock.txt":
		c.ofFolder[dir] = &file // our own goes before what it was made of
	}
	return true, nil
}

// read takes a clock file from the disk, if it is there.
func (c *clockFiles) read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // the usual: there is none
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, ingest.ClockFileBytes))
	if err != nil {
		return fmt.Errorf("clock file %s: %w", path, err)
	}
	_, err = c.take(path, data)
	return err
}

// packings are the endings of packed logs: their clock files may go without.
var packings = []string{"", ".gz", ".zst", ".xz", ".bz2", ".lz4"}

// of finds the clock file that is named for a log.
func (c *clockFiles) of(path string) (*ingest.ClockFile, error) {
	for _, ending := range packings {
		log, ok := strings.CutSuffix(path, ending)
		if !ok {
			continue
		}
		if c.ofLog[log] == nil {
			if err := c.read(log + ".clock"); err != nil {
				return nil, err
			}
		}
		if f := c.ofLog[log]; f != nil {
			return f, nil
		}
	}
	return nil, nil
}

// ofDir finds the clock file of a folder.
func (c *clockFiles) ofDir(dir string) (*ingest.ClockFile, error) {
	if c.ofFolder[dir] == nil && !c.looked[dir] {
		c.looked[dir] = true
		if err := c.read(filepath.Join(dir, "clock.txt")); err != nil {
			return nil, err
		}
	}
	return c.ofFolder[dir], nil
}

// setClocks gives each input the clock that is told of it; what is told of one
// log counts before what is told of many:
//
//	--clock-offset GLOB=TIME, NAME.clock, --clock-offset TIME or ingest.start_ns, the folder's
//	clock file, and (byMtime, when asked for) the file's own time.
//
// Durations of --clock-offset are added to whatever stands then. A log that the
// lake knows keeps the clock that it was read with: its rows stand by it.
func (j *Job) setClocks(inputs []ingest.Input, claims []claim, files clockFiles) (warnings []string, err error) {
	said, err := j.clockOffsets()
	if err != nil {
		return nil, err
	}
	used := make([]bool, len(said))
	for i := range inputs {
		in := &inputs[i]
		if in.Clock, err = j.clockOf(in, said, used, files); err != nil {
			return nil, err
		}
		if err := in.Clock.Check(); err != nil {
			return nil, fmt.Errorf("clock of %s, by %s: %w", in.Path, in.Clock.Anchor, err)
		}
		if c := &claims[i]; c.known && len(c.old.Clock) > 0 {
			var old ingest.ClockReport
			if err := json.Unmarshal(c.old.Clock, &old); err != nil {
				return nil, fmt.Errorf("manifest's clock of input %s: %w", c.old.ID, err)
			}
			now := in.Clock
			if in.Clock = old.Clock(); now.Anchor != "" && (now.OffsetNS != old.OffsetNS || now.DriftPPB != old.DriftPPB || now.StartNS != 0 && now.StartNS != old.StartNS) {
				warnings = append(warnings, filepath.Base(in.Path)+": its rows keep the clock with which the lake has read it ("+old.String()+"); read it into another lake for another")
			}
		}
	}
	for i, u := range used {
		if !u {
			warnings = append(warnings, fmt.Sprintf("--clock-offset %s matches no log", j.Config.Ingest.ClockOffset[i]))
		}
	}
	return warnings, nil
}

func (j *Job) clockOffsets() ([]ingest.ClockOffset, error) {
	var said []ingest.ClockOffset
	for _, s := range j.Config.Ingest.ClockOffset {
		o, err := ingest.ParseClockOffset(s)
		if err != nil {
			return nil, fmt.Errorf("clock offset: %w", err)
		}
		said = append(said, o)
	}
	return said, nil
}

// clockOf finds what is told of an input's clock.
func (j *Job) clockOf(in *ingest.Input, said []ingest.ClockOffset, used []bool, files clockFiles) (ingest.Clock, error) {
	const flag = "--clock-offset"
	var own, general *ingest.ClockOffset // starts
	shift := int64(0)
	for i := range said {
		o := &said[i]
		if !o.Matches(in.Path) {
			continue
		}
		used[i] = true
		switch {
		case !o.Absolute:
			shift = o.NS
		case o.Pattern != "":
			own = o
		default:
			general = o
		}
	}
	clock, err := func() (ingest.Clock, error) {
		if own != nil {
			return ingest.Clock{StartNS: own.NS, Anchor: flag}, nil
		}
		log, err := files.of(in.Path)
		if err != nil {
			return ingest.Clock{}, err
		}
		if log != nil {
			if c, ok := log.For(baseOf(*in, j.Config.Ingest)); ok {
				return c, nil
			}
		}
		if general != nil {
			return ingest.Clock{StartNS: general.NS, Anchor: flag}, nil
		}
		if j.Config.Ingest.StartNS != 0 {
			return ingest.Clock{}, nil
		}
		dir, err := files.ofDir(filepath.Dir(in.Path))
		if err != nil || dir == nil {
			return ingest.Clock{}, err
		}
		c, _ := dir.For(baseOf(*in, j.Config.Ingest))
		return c, nil
	}()
	if shift != 0 {
		clock.OffsetNS += shift
		if clock.Anchor == "" {
			clock.Anchor = flag
		} else if clock.Anchor != flag {
			clock.Anchor += " and " + flag
		}
	}
	return clock, err
}

// baseOf is what the format of an input counts from.
func baseOf(in ingest.Input, o ingest.Options) ingest.TimeBase {
	f, _ := ingest.FormatOf(in, o) // what is wrong, reading it says
	return f.Clock
}

// byMtime ties a relative clock that nothing else ties to a date to the time at
// which its file was last written: that of its last record. A copy of the log
// may have another, so that this is done only when it is asked for, and said.
func (j *Job) byMtime(ctx context.Context, in *ingest.Input) error {
	o := j.Config.Ingest
	c := in.Clock
	if !o.ClockMtime || o.StartNS != 0 || c.StartNS != 0 || c.Bare || in.ChangedNS <= 0 || in.Duplicate || once(*in) {
		return nil
	}
	if baseOf(*in, o) == ingest.BaseEpoch {
		return nil
	}
	rep, err := ingest.Read(ctx, *in, o, j.workers(), func(*ingest.Chunk) error { return nil })
	if err != nil {
		return err
	}
	if rep.Clock.Loose && rep.Events+rep.Samples > 0 {
		in.Clock.StartNS = in.ChangedNS - rep.LastNS
		in.Clock.Anchor = strings.TrimPrefix(c.Anchor+" and the time its file was last written", " and ")
	}
	return nil
}

// loose tells of the inputs whose times count from 1970 for want of a date, of those that are
// dated by their file alone, and of those whose clocks were set back.
func loose(reports []ingest.Report) []string {
	var names, mtime, back []string
	for i := range reports {
		switch r := &reports[i]; {
		case r.Clock.Loose && r.Events+r.Samples > 0:
			names = append(names, filepath.Base(r.Path))
		case strings.HasSuffix(r.Clock.Anchor, "its file was last written"):
			mtime = append(mtime, filepath.Base(r.Path)+" (from "+time.Unix(0, r.Clock.StartNS).UTC().Format(time.DateTime)+")")
		}
		if r := &reports[i]; r.Clock.Back.Told() {
			back = append(back, filepath.Base(r.Path)+": "+r.Clock.Back.String())
		}
	}
	var out []string
	if len(names) > 0 {
		out = append(out, "times count from 1970, since nothing ties their clocks to a date: "+few(names))
	}
	if len(mtime) > 0 {
		out = append(out, "dated by nothing better than when the file was last written: "+few(mtime))
	}
	slices.Sort(back)
	return append(out, back[:min(len(back), mostBack)]...)
}

// mostBack is how many logs whose clocks were set back are named.
const mostBack = 20

// few lists names, the first of them if they are many.
func few(names []string) string {
	const most = 5
	slices.Sort(names)
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
