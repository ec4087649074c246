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

// sidecars takes the files that name devices (/proc/partitions, lsblk) out of
// the inputs: they name the devices of the logs in their folder.
func sidecars(inputs []ingest.Input) (logs []ingest.Input, names map[string]deviceNames, skips []ingest.Skip) {
	names = map[string]deviceNames{}
	for _, in := range inputs {
		if in.Path != "-" && in.Size <= sidecarBytes {
			if found := namesIn(in); len(found) > 0 {
				dir := filepath.Dir(in.Path)
				if names[dir] == nil {
					names[dir] = deviceNames{}
				}
				for k, v := range found {
					names[dir][k] = v
				}
				skips = append(skips, ingest.Skip{Path: in.Path, Reason: "names the devices of its folder"})
				continue
			}
		}
		logs = append(logs, in)
	}
	return logs, names, skips
}

// namesIn reads the names that a file gives, nil if it is none of the two.
func namesIn(in ingest.Input) deviceNames {
	f, err := in.Open()
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, sidecarBytes))
	if err != nil {
		return nil
	}
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
