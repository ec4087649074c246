package local

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/iopathy/iopathy/ingest"
)

// sidecarBytes bounds what is read of a file to see whether it names devices.
const sidecarBytes = 64 << 10

// deviceNames maps "dev:MAJ:MIN" to a kernel name.
type deviceNames map[string]string

// besides is what files beside the logs tell of them, by folder.
type besides struct {
	names  map[string]deviceNames
	clocks clockFiles
}

// sidecars takes the files that name devices (/proc/partitions, lsblk) or tell of
// clocks out of the inputs: they are of the logs in their folder.
func sidecars(inputs []ingest.Input) (logs []ingest.Input, b besides, skips []ingest.Skip, err error) {
	b = besides{names: map[string]deviceNames{}, clocks: newClockFiles()}
	for _, in := range inputs {
		if in.Path == "-" || in.Size > sidecarBytes {
			logs = append(logs, in)
			continue
		}
		data := wholeOf(in)
		dir := filepath.Dir(in.Path)
		if found := namesIn(data); len(found) > 0 {
			if b.names[dir] == nil {
				b.names[dir] = deviceNames{}
			}
			for k, v := range found {
				b.names[dir][k] = v
			}
			skips = append(skips, ingest.Skip{Path: in.Path, Reason: "names the devices of its folder"})
			continue
		}
		switch ok, err := b.clocks.take(in.Path, data); {
		case err != nil:
			return nil, b, nil, err
		case ok:
			skips = append(skips, ingest.Skip{Path: in.Path, Reason: "tells of the clock of logs beside it"})
		default:
			logs = append(logs, in)
		}
	}
	return logs, b, skips, nil
}

// wholeOf reads a small input; nil if that fails.
func wholeOf(in ingest.Input) []byte {
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

// namesIn reads the names that a file gives, nil if it is none of the two.
func namesIn(data []byte) deviceNames {
	lines := bytes.Split(data, []byte("\n"))
	head := strings.Fields(string(lines[0]))
	switch {
	case len(head) == 4 && head[0] == "major" && head[1] == "minor" && head[3] == "name":
		return partitions(lines[1:])
	case len(head) >= 2 && head[0] == "NAME" && head[1] == "MAJ:MIN":
		return lsblk(lines[1:])
	}
	return nil
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
// before them.
func lsblk(lines [][]byte) deviceNames {
	names := deviceNames{}
	for _, l := range lines {
		f := strings.Fields(strings.TrimLeft(string(l), "├└│─`|- \t"))
		if len(f) < 2 {
			continue
		}
		if major, minor, ok := strings.Cut(f[1], ":"); ok {
			names.add(major, minor, f[0])
		}
	}
	return names
}

func (n deviceNames) add(major, minor, name string) {
	a, err1 := strconv.ParseUint(major, 10, 32)
	b, err2 := strconv.ParseUint(minor, 10, 32)
	if err1 == nil && err2 == nil {
		n[fmt.Sprintf("dev:%d:%d", a, b)] = name
	}
}
