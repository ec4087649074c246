package formats

import (
	"bytes"
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// dftKind is what a traced function does.
type dftKind uint8

const (
	dftOther dftKind = iota
	dftRead
	dftWrite
	dftItems // fread: returns items
	dftPut   // fwrite
	dftSync
	dftFact
	dftMap
)

// dftKindOf is the kind of a function, and for calls on names and directories
// the evidence that it is.
func dftKindOf(name []byte) (dftKind, string) {
	switch string(name) {
	case "read", "pread", "pread64", "readv", "preadv", "preadv2", "MPI_File_read", "MPI_File_read_at", "MPI_File_read_all", "MPI_File_read_at_all":
		return dftRead, ""
	case "write", "pwrite", "pwrite64", "writev", "pwritev", "pwritev2", "MPI_File_write", "MPI_File_write_at", "MPI_File_write_all", "MPI_File_write_at_all":
		return dftWrite, ""
	case "fread":
		return dftItems, ""
	case "fwrite":
		return dftPut, ""
	case "fsync", "fdatasync", "MPI_File_sync":
		return dftSync, ""
	case "open", "open64", "openat", "creat", "creat64", "fopen", "fopen64", "MPI_File_open":
		return dftFact, "open"
	case "stat", "lstat", "fstat", "stat64", "lstat64", "fstat64", "__xstat", "__lxstat", "__fxstat", "__xstat64", "__lxstat64", "__fxstat64",
		"fstatat", "__fxstatat", "__fxstatat64", "statx":
		return dftFact, "stat"
	case "opendir", "readdir", "readdir64", "scandir":
		return dftFact, "readdir"
	case "mkdir", "mkdirat":
		return dftFact, "mkdir"
	case "rmdir":
		return dftFact, "rmdir"
	case "unlink", "unlinkat", "remove":
		return dftFact, "unlink"
	case "rename", "renameat":
		return dftFact, "rename"
	case "link", "linkat", "symlink", "symlinkat":
		return dftFact, "link"
	case "truncate", "ftruncate", "truncate64", "ftruncate64":
		return dftFact, "truncate"
	case "mmap", "mmap64":
		return dftMap, ""
	}
	return dftOther, ""
}

var dftDevice = []byte("dftracer")

// dftMostSize bounds what one call moves: numbers above are no sizes.
const dftMostSize = ingest.MaxSizeBytes

// call gives an object its fate, or the reason for which it is none.
func (d *dftracer) call(c *dftCall, out *ingest.Out) (ingest.Fate, string) {
	switch {
	case len(c.name) == 0 || len(c.ph) == 0:
		return 0, "no-call"
	case string(c.ph) == "M":
		return d.explain(c, out), ""
	case string(c.ph) != "X" && string(c.ph) != "C":
		return ingest.FateNote, ""
	case !c.hasTS:
		return 0, "no-time"
	case c.ts > maxStampMS*1000 || c.ts < 0 || c.dur < 0 || c.dur > maxLatencyNS/1000:
		return 0, "impossible"
	}
	d.last = max(d.last, c.ts*1000)
	switch {
	case string(c.cat) == "dftracer":
		return ingest.FateNote, "" // begin and end of the trace
	}
	if string(c.ph) == "C" {
		for _, n := range c.counters[:c.counted] {
			d.fact(c, "counter_"+string(c.name)+"_"+string(n.key), nil, n.value, out)
		}
		if c.counted > 0 {
			return ingest.FateEvent, ""
		}
		return ingest.FateNote, ""
	}
	layer := string(c.cat)
	if layer != "POSIX" && layer != "STDIO" && layer != "MPI" && layer != "MPIIO" && layer != "MPI-IO" {
		return d.fact(c, "app_span", d.pair(c.cat, '/', c.name), float64(c.dur)*1000, out), ""
	}
	kind, word := dftKindOf(c.name)
	switch kind {
	case dftOther:
		return ingest.FateNote, ""
	case dftFact:
		if c.hasRet && c.ret < 0 {
			return d.fact(c, word+"_failed", d.path(c), float64(c.ret), out), ""
		}
		return d.fact(c, word, d.path(c), float64(c.dur)*1000, out), ""
	case dftMap:
		return d.fact(c, "mmap_file", d.path(c), float64(max(c.length, 0)), out), ""
	}
	if c.hasRet && c.ret < 0 { // that it failed is known, why is not
		return d.fact(c, "io_failed", d.pair(c.name, ' ', d.path(c)), float64(c.ret), out), ""
	}
	e := ingest.NewEvent()
	e.Op = ingest.OpRead
	switch kind {
	case dftWrite, dftPut:
		e.Op = ingest.OpWrite
	case dftSync:
		e.Op = ingest.OpFlush
	}
	switch {
	case kind == dftSync:
		e.SizeBytes = 0
	case kind == dftItems || kind == dftPut:
		n := c.count
		if c.hasRet {
			n = c.ret
		}
		size := max(c.size, 1)
		if n > dftMostSize || size > dftMostSize/max(n, 1) {
			return 0, "impossible"
		}
		if n >= 0 {
			e.SizeBytes = n * size
		}
	case c.hasRet:
		e.SizeBytes = c.ret
	case c.count >= 0:
		e.SizeBytes = c.count
	default:
		e.SizeBytes = max(c.size, ingest.Missing)
	}
	if c.dur > ingest.MaxLatencyNS/1000 || e.SizeBytes > dftMostSize || c.offset > math.MaxInt64/2 {
		return 0, "impossible"
	}
	if c.hasOffset && c.offset >= 0 {
		e.OffsetBytes = c.offset
	}
	e.TimeNS, e.LatencyNS = (c.ts+c.dur)*1000, c.dur*1000
	e.PID = int32(max(c.pid, ingest.Missing))
	e.Kind = ingest.KindApp
	e.Host, e.Device, e.File = out.Names.Intern(d.hostOf(c)), out.Names.Intern(dftDevice), out.Names.Intern(d.path(c))
	e.Position = out.Position
	out.Events = append(out.Events, e)
	return ingest.FateEvent, ""
}

func (d *dftracer) fact(c *dftCall, name string, text []byte, value float64, out *ingest.Out) ingest.Fate {
	out.Fact(ingest.Evidence{TimeNS: c.ts * 1000, Host: out.Names.Intern(d.hostOf(c)), Device: out.Names.Intern(dftDevice),
		Name: out.Names.InternString(name), Text: out.Names.Intern(text), Value: value})
	return ingest.FateEvent
}

// explain takes a metadata line: what a hash stands for.
func (d *dftracer) explain(c *dftCall, out *ingest.Out) ingest.Fate {
	host := string(c.name) == "HH"
	if !host && string(c.name) != "FH" || len(c.argName) == 0 || len(c.argValue) == 0 || len(c.argName) > straceTextBytes || len(c.argValue) > 64 {
		return ingest.FateNote
	}
	d.key = append(dftKey(d.key, host), c.argValue...)
	name := jsonUnescaped(c.argName)
	if d.bytes < dftMostBytes {
		d.bytes += len(d.key) + len(name) + 64
		d.names[string(d.key)] = bytes.Clone(name)
	}
	if host {
		return ingest.FateNote
	}
	out.Fact(ingest.Evidence{TimeNS: d.last, Host: out.Names.Intern(d.hostOf(c)), Device: out.Names.Intern(dftDevice),
		Name: out.Names.InternString("file_hash"), Text: out.Names.Intern(d.pair(c.argValue, ' ', name))})
	return ingest.FateEvent
}

// pair writes two texts and what is between them.
func (d *dftracer) pair(a []byte, between byte, b []byte) []byte {
	d.text = append(append(append(d.text[:0], a...), between), b...)
	return d.text
}

// dftKey begins the key of a hash: hosts and files are hashed apart.
func dftKey(dst []byte, host bool) []byte {
	if host {
		return append(dst[:0], 'h')
	}
	return append(dst[:0], 'f')
}

// hostOf is the host of a call: that of the input if its hash is not explained.
func (d *dftracer) hostOf(c *dftCall) []byte {
	if len(c.hostname) > 0 {
		return jsonUnescaped(c.hostname)
	}
	d.key = append(dftKey(d.key, true), c.hostHash...)
	if name := d.names[string(d.key)]; len(name) > 0 {
		return name
	}
	return d.host
}

// path is the file of a call; it stands until the next call of path.
func (d *dftracer) path(c *dftCall) []byte {
	if len(c.fname) > 0 {
		return jsonUnescaped(c.fname)
	}
	if len(c.fileHash) == 0 {
		return nil
	}
	d.key = append(dftKey(d.key, false), c.fileHash...)
	if name := d.names[string(d.key)]; len(name) > 0 {
		return name
	}
	d.hash = append(append(d.hash[:0], "hash:"...), c.fileHash[:min(len(c.fileHash), 64)]...)
	return d.hash
}

// End has nothing to settle: each object stands alone.
func (d *dftracer) End(*ingest.Out) {}
