package local

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/iopathy/iopathy/ingest/align"
)

// seenAs is a device that a log of a group knows by its numbers alone, and how another
// calls it that saw the same I/Os of it.
type seenAs struct {
	of             *groupLog
	numbers, named string // "dev:8:16", "sdb"
}

// learn takes the devices of two logs of the block layer that an alignment has paired one
// to one, where one log tells numbers and the other a name: without it the one disk
// would be two, and each I/O count twice.
func (g *group) learn(l, ref *groupLog, r *align.Result) {
	if !l.block() || !ref.block() || len(r.ShiftsBytes) > 0 || r.ByTimesAlone {
		return
	}
	a, b := map[string]int{}, map[string]int{}
	for _, p := range r.Devices {
		a[p.A]++
		b[p.B]++
	}
	for _, p := range r.Devices {
		if a[p.A] > 1 || b[p.B] > 1 || p.IOs < align.MinMatches {
			continue
		}
		switch byA, byB := isNumbers(p.A), isNumbers(p.B); {
		case byA && isKernelName(p.B) && mayBe(p.A, p.B):
			g.seen = append(g.seen, seenAs{l, p.A, p.B})
		case byB && isKernelName(p.A) && mayBe(p.B, p.A):
			g.seen = append(g.seen, seenAs{l, p.B, p.A})
		}
	}
}

// byNumbers are the formats that know devices by their numbers alone.
var byNumbers = []string{"blkparse", "blktrace", "ftrace", "trace-cmd", "perf-script"}

// callsDiffer says whether logs of the block layer may call one device by two names.
func (g *group) callsDiffer() bool {
	numbers, names := false, false
	for _, l := range g.logs {
		is := slices.Contains(byNumbers, l.format)
		numbers, names = numbers || is, names || l.block() && !is
	}
	return numbers && names
}

// learnDated is learn for logs that have dates and a host, of which no other was
// found to be.
func (g *group) learnDated(tried map[[2]*groupLog]bool) {
	logs := slices.DeleteFunc(slices.Clone(g.logs), func(l *groupLog) bool { return l.loose || !l.block() })
	for _, l := range logs[:min(len(logs), togetherRefs)] {
		if !slices.Contains(byNumbers, l.format) {
			continue
		}
		for _, ref := range logs[:min(len(logs), togetherRefs)] {
			if pair := [2]*groupLog{ref, l}; g.unnamed || slices.Contains(byNumbers, ref.format) || tried[pair] || tried[[2]*groupLog{l, ref}] {
				continue
			}
			if r, err := align.Estimate(ref.source, l.source); err == nil && surely(r) && max(r.OffsetNS, -r.OffsetNS) <= togetherDates {
				g.learn(l, ref, r)
			}
		}
	}
}

// isNumbers says whether a device is known by its numbers alone.
func isNumbers(device string) bool {
	major, minor, ok := devNumbers(device)
	return ok && major >= 0 && minor >= 0
}

func devNumbers(device string) (major, minor int, ok bool) {
	rest, ok := strings.CutPrefix(device, "dev:")
	if !ok {
		return 0, 0, false
	}
	a, b, ok := strings.Cut(rest, ":")
	if !ok {
		return 0, 0, false
	}
	major, err1 := strconv.Atoi(a)
	minor, err2 := strconv.Atoi(b)
	return major, minor, err1 == nil && err2 == nil
}

// isKernelName says whether a device is called as the kernel calls a disk: letters and
// digits, and no word of a tool's.
func isKernelName(device string) bool {
	if device == "" || len(device) > 31 || !(device[0]|0x20 >= 'a' && device[0]|0x20 <= 'z') {
		return false
	}
	return !strings.ContainsFunc(device, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || r == '-' || r == '_')
	})
}

// mayBe holds a name against numbers that belong to one name for ever (the kernel's list
// of devices): SCSI disks of the first major, loop devices, arrays.
func mayBe(numbers, name string) bool {
	major, minor, _ := devNumbers(numbers)
	switch {
	case major == 8 && minor%16 == 0:
		return name == "sd"+string(rune('a'+minor/16))
	case major == 7:
		return name == fmt.Sprintf("loop%d", minor)
	case major == 9:
		return name == fmt.Sprintf("md%d", minor)
	}
	return !strings.HasPrefix(name, "loop") && !strings.HasPrefix(name, "md") && (major >= 8 || !strings.HasPrefix(name, "sd"))
}

// rename tells the logs of each host what was learned. What two logs contradict one
// another in is not taken.
func (g *group) rename(claims []claim) (warnings []string) {
	names := map[*groupLog]deviceNames{}
	host := func(l *groupLog) *groupLog {
		if g.unnamed {
			return l.top()
		}
		return nil // all of the group are of one
	}
	for _, s := range g.seen {
		top := host(s.of)
		if names[top] == nil {
			names[top] = deviceNames{}
		}
		if old, known := names[top][s.numbers]; known && old != s.named {
			names[top][s.numbers] = ""
			continue
		}
		names[top][s.numbers] = s.named
	}
	for _, l := range slices.Concat(g.logs, g.samples) {
		for numbers, name := range names[host(l)] {
			if name == "" {
				continue
			}
			if claims[l.at].names == nil {
				claims[l.at].names = deviceNames{}
			}
			major, minor, _ := devNumbers(numbers)
			claims[l.at].names.add(strconv.Itoa(major), strconv.Itoa(minor), name)
		}
	}
	var told []string
	for _, all := range names {
		for numbers, name := range all {
			if name != "" {
				told = append(told, fmt.Sprintf("%s is %s, as the I/Os of two logs tell: it is called so", numbers, Printable(name)))
			}
		}
	}
	slices.Sort(told)
	return slices.Compact(told)
}

// of is how the devices of an input are called: as files of its folder say, else as
// logs that saw the same I/Os do.
func (b *besides) of(folder string, learned deviceNames) deviceNames {
	told := b.names[folder]
	if len(learned) == 0 {
		return told
	}
	all := deviceNames{}
	for _, names := range []deviceNames{learned, told} {
		for k, v := range names {
			all[k] = v
		}
	}
	return all
}
