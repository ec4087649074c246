package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// cgroupFiles are the files of a cgroup that are read beside io.max, and what the
// names of their figures begin with.
var cgroupFiles = [...]struct{ name, stem string }{
	{"memory.max", "cgroup_memory_max_bytes"},
	{"memory.high", "cgroup_memory_high_bytes"},
	{"memory.current", "cgroup_memory_current_bytes"},
	{"memory.events", "cgroup_memory_events_"},
	{"memory.events.local", "cgroup_memory_events_"},
	{"cpu.max", "cgroup_cpu_max"},
	{"cpu.stat", "cgroup_cpu_"},
}

// cgroupFile is the place in cgroupFiles of the file that a path ends in, and the
// cgroup's folder before it; -1 if it is none of them.
func cgroupFile(path []byte) (file int, dir []byte) {
	at := bytes.LastIndexByte(path, '/') + 1
	for i := range cgroupFiles {
		if string(path[at:]) == cgroupFiles[i].name {
			dir = path[bytes.LastIndex(path[:at], []byte(" /"))+1 : at] // a stamp may stand before it
			return i, bytes.TrimSuffix(dir, []byte("/"))
		}
	}
	return -1, nil
}

// cgroupFileRow cuts "path/memory.max:1048576", as grep . prints a file's lines, into
// the file, its folder and the line.
func cgroupFileRow(line []byte) (file int, dir, value []byte) {
	for at := 0; at < len(line); at++ { // a path may have colons, too
		i := bytes.IndexByte(line[at:], ':')
		if i < 0 {
			break
		}
		if at += i; at > 0 {
			if file, dir = cgroupFile(line[:at]); file >= 0 {
				return file, dir, trimBlanks(line[at+1:])
			}
		}
	}
	return -1, nil, nil
}

// cgroupFileHead reads "==> path/cpu.stat <==", as head and tail name files.
func cgroupFileHead(line []byte) (file int, dir []byte) {
	_, b, ok := bytes.Cut(trimBlanks(line), []byte("==> ")) // a stamp may stand before it
	if !ok {
		return -1, nil
	}
	return cgroupFile(bytes.TrimSuffix(b, []byte(" <==")))
}

// cgroupFact reads a line of a file: "max" or a number, "name value", or cpu.max's
// "quota period". known is false for what is no limit or has no name here; ok for what
// is no line of the file. The name is made in mem.
func cgroupFact(file int, line, mem []byte) (name []byte, value float64, known, ok bool) {
	f := &cgroupFiles[file]
	word, rest, two := bytes.Cut(line, []byte(" "))
	rest = trimBlanks(rest)
	name = append(mem[:0], f.stem...)
	switch {
	case f.name == "cpu.max":
		period, fine := wholeNumber(rest)
		if !two || !fine || period == 0 {
			return name, 0, false, false
		}
		if string(word) == "max" {
			return name, 0, false, true
		}
		quota, fine := wholeNumber(word)
		return append(name, "_cpus"...), float64(quota) / float64(period), fine, fine
	case name[len(name)-1] == '_':
		v, fine := wholeNumber(rest)
		if !two || !fine || len(word) == 0 || len(word) > 40 {
			return name, 0, false, false
		}
		for _, c := range word {
			if c != '_' && c != '.' && !isDecimal(c) && (c < 'a' || c > 'z') {
				return name, 0, false, false
			}
		}
		if usec, is := bytes.CutSuffix(word, []byte("_usec")); is {
			return append(append(name, usec...), "_ns"...), float64(v) * 1000, true, true
		}
		return append(name, word...), float64(v), true, true
	case two:
		return name, 0, false, false
	case string(word) == "max":
		return name, 0, false, true
	}
	v, fine := wholeNumber(word)
	return name, float64(v), fine, fine
}

// fileLine takes a line of one of cgroupFiles; false says that it is none.
func (d *cgroupIOMax) fileLine(line []byte, out *ingest.Out) bool {
	b := trimBlanks(line)
	if bytes.HasPrefix(b, []byte("==>")) {
		file, dir := cgroupFileHead(b)
		d.file, d.dir = file+1, append(d.dir[:0], dir...)
		out.Note()
		return true
	}
	file, dir, value := cgroupFileRow(b)
	headed := file < 0
	if headed {
		if d.file == 0 || len(b) == 0 || b[0] == '#' {
			return false
		}
		file, dir, value = d.file-1, d.dir, b
	}
	name, x, known, ok := cgroupFact(file, value, d.name)
	if headed && (!ok || cgroupFiles[file].stem[len(cgroupFiles[file].stem)-1] != '_') {
		d.file = 0 // it has one line, or has ended
	}
	if headed && !ok {
		return false
	}
	d.name = name
	switch {
	case !ok:
		out.Reject(line, "bad-value")
	case !known:
		out.Note() // no limit
	default:
		e := ingest.Evidence{Host: out.Names.InternString(d.host), Name: out.Names.Intern(name), Text: out.Names.Intern(dir), Value: x}
		if d.clock.timed && d.clock.marked {
			e.TimeNS = d.clock.timeNS
		}
		out.Fact(e)
		out.Count(ingest.FateEvent, "", 1)
	}
	return true
}
