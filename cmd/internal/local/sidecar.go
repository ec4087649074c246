package local

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/iopathy/iopathy/ingest"
)

// sidecarBytes bounds what is read of a file to see whether it names devices.
const sidecarBytes = 64 << 10

// deviceNames maps "dev:MAJ:MIN" and what else stands for a device to its name.
type deviceNames map[string]string

// besides is what files beside the logs tell of them, by folder.
type besides struct {
	names  map[string]deviceNames
	below  map[string]stack
	clocks clockFiles
}

// sidecars takes the files that name devices (/proc/partitions, lsblk) or tell of
// clocks out of the inputs: they are of the logs in their folder.
// /proc/diskstats names devices and is a log, too.
func sidecars(inputs []ingest.Input) (logs []ingest.Input, b besides, skips []ingest.Skip, err error) {
	b = besides{names: map[string]deviceNames{}, below: map[string]stack{}, clocks: newClockFiles()}
	for _, in := range inputs {
		if in.Path == "-" || in.Size > sidecarBytes && !strings.Contains(filepath.Base(in.Path), "diskstats") {
			logs = append(logs, in)
			continue
		}
		data := headOf(in)
		dir := filepath.Dir(in.Path)
		if found, log := namesIn(data); len(found.names) > 0 {
			b.add(dir, found, log)
			if log {
				logs = append(logs, in)
			} else {
				skips = append(skips, ingest.Skip{Path: in.Path, Reason: "names the devices of its folder", Used: true})
			}
			continue
		}
		switch ok, err := b.clocks.take(in.Path, data); {
		case err != nil:
			return nil, b, nil, err
		case ok && !ingest.IsClockFileName(in.Path) && claimed(in, data):
			logs = append(logs, in) // a log too
		case ok:
			skips = append(skips, ingest.Skip{Path: in.Path, Reason: "tells of the clock of logs beside it", Used: true})
		default:
			logs = append(logs, in)
		}
	}
	return logs, b, skips, nil
}

// sidecar is what one file tells of devices.
type sidecar struct {
	names deviceNames
	below stack
}

// add takes what a file of a folder tells; what a log says only if nothing else
// does.
func (b *besides) add(dir string, found sidecar, log bool) {
	if b.names[dir] == nil {
		b.names[dir], b.below[dir] = deviceNames{}, stack{}
	}
	for k, v := range found.names {
		if _, known := b.names[dir][k]; !known || !log {
			b.names[dir][k] = v
		}
	}
	for upper, list := range found.below {
		for _, lower := range list {
			b.below[dir].add(upper, lower)
		}
	}
}

// claimed says whether a format claims a small input that tells of a clock.
func claimed(in ingest.Input, data []byte) bool {
	_, problem := ingest.Choose(data[:min(len(data), ingest.SniffBytes)], in.Path)
	return problem == ""
}

// headOf reads a small input, or the head of a larger one; nil if that fails.
func headOf(in ingest.Input) []byte {
	f, err := in.Open()
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, sidecarBytes))
	if err != nil {
		return nil
	}
	return data
}

// namesIn reads the names that a file gives; log says that it is a log, too.
func namesIn(data []byte) (found sidecar, log bool) {
	lines := bytes.Split(data, []byte("\n"))
	head := strings.Fields(string(lines[0]))
	switch {
	case len(head) == 4 && head[0] == "major" && head[1] == "minor" && head[3] == "name":
		return sidecar{names: partitions(lines[1:])}, false
	case len(head) >= 2 && head[0] == "NAME" && head[1] == "MAJ:MIN":
		return lsblk(string(lines[0]), lines[1:]), false
	}
	return sidecar{names: diskstats(lines)}, true
}

// diskstats reads the rows of /proc/diskstats amid others: major minor name and
// at least eleven counters.
func diskstats(lines [][]byte) deviceNames {
	names := deviceNames{}
	for _, l := range lines {
		f := strings.Fields(string(l))
		if len(f) < 14 || strings.Trim(f[2], "0123456789.:") == "" || slices.ContainsFunc(f[3:], func(w string) bool { return strings.Trim(w, "0123456789") != "" }) {
			continue
		}
		names.add(f[0], f[1], f[2])
	}
	return names
}

// partitions reads the rows of /proc/partitions: major minor blocks name.
func partitions(lines [][]byte) deviceNames {
	names := deviceNames{}
	for _, l := range lines {
		f := strings.Fields(string(l))
		if len(f) == 4 {
			names.add(f[0], f[1], f[3])
		}
	}
	return names
}

// lsblk reads the rows of lsblk, whose names may have the lines of a tree
// before them: what is drawn below a device stands on it. A mapped device is
// named as lsblk does, which is how it is called in the system, and not dm-N.
func lsblk(head string, lines [][]byte) sidecar {
	s := sidecar{deviceNames{}, stack{}}
	const branches = "├└│─`|- \t"
	kind := slices.Index(strings.Fields(head), "TYPE")
	var path []string // the device of each depth
	for _, l := range lines {
		text := string(l)
		plain := strings.TrimLeft(text, branches)
		f := strings.Fields(plain)
		if len(f) < 2 {
			continue
		}
		major, minor, ok := strings.Cut(f[1], ":")
		if !ok {
			continue
		}
		s.names.add(major, minor, f[0])
		if kind > 1 && kind < len(f) && slices.Contains([]string{"lvm", "crypt", "dm", "mpath"}, f[kind]) {
			s.names["dm-"+minor] = f[0]
		}
		depth := min(utf8.RuneCountInString(text[:len(text)-len(plain)])/2, len(path))
		if depth > 0 {
			s.below.add(f[0], path[depth-1])
		}
		path = append(path[:depth], f[0])
	}
	return s
}

func (n deviceNames) add(major, minor, name string) {
	a, err1 := strconv.ParseUint(major, 10, 32)
	b, err2 := strconv.ParseUint(minor, 10, 32)
	if err1 == nil && err2 == nil {
		n[fmt.Sprintf("dev:%d:%d", a, b)] = name
		n[fmt.Sprintf("dev%d-%d", a, b)] = name // as sar says it
	}
}
