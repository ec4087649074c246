package formats

import (
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestStraceRecording: the calls of a program that was recorded. Oracle: what
// the program did (32 x 64 KiB written direct, 300 x 4 KiB read direct, 40
// records of 700 B each synced and one sync more).
func TestStraceRecording(t *testing.T) {
	data := sharedFile(t, "samples", "strace", "runC-strace-f-ttt-T-yy.txt")
	if Strace.Sniff(data[:ingest.SniffBytes], "x") != 2 {
		t.Error("not known as strace")
	}
	out := decodeAll(t, Strace, "x", data, ingest.DefaultOptions(), 0)
	type sum struct{ n, bytes int64 }
	got := make(map[string]sum)
	offsets := make(map[string]int64)
	for _, e := range out.Events {
		file := out.Names.String(e.File)
		key := strings.TrimPrefix(file, "/tmp/formats/mnt/") + " " + e.Op.String()
		s := got[key]
		s.n++
		s.bytes += e.SizeBytes
		got[key] = s
		if e.LatencyNS < 0 || e.PID != 32747 || e.Kind != ingest.KindSyscall || e.Error != 0 {
			t.Errorf("event %+v", e)
		}
		switch {
		case e.Op == ingest.OpWrite && key == "clog.dat write":
			if e.OffsetBytes != ingest.Missing {
				t.Errorf("an offset of %d in a file that was opened to append", e.OffsetBytes)
			}
		case e.Op == ingest.OpWrite:
			if e.OffsetBytes != offsets[file] {
				t.Errorf("%s written at %d, want %d: the program wrote it from begin to end", file, e.OffsetBytes, offsets[file])
			}
			offsets[file] += e.SizeBytes
		}
	}
	check := func(key string, n, bytes int64) {
		t.Helper()
		if got[key] != (sum{n, bytes}) {
			t.Errorf("%s: %+v, want %d of %d bytes", key, got[key], n, bytes)
		}
	}
	check("cfile.dat write", 32, 32*65536)
	check("cfile.dat read", 300+17, 300*4096+16*131072) // the last of the buffered reads meets the end
	check("clog.dat write", 40, 40*700)
	check("clog.dat flush", 40, 0)
	check("cfile.dat flush", 1, 0)
	facts := make(map[string]int)
	for _, e := range out.Evidence {
		facts[out.Names.String(e.Name)+" "+out.Names.String(e.Text)]++
	}
	if facts["open_direct /tmp/formats/mnt/cfile.dat"] != 1 || facts["open_failed /tmp/formats/mnt/missing.dat"] != 1 || facts["readdir /usr/lib/python3.11"] != 2 {
		t.Errorf("facts %v", facts)
	}
	if out.Tally.Rejected() != 0 || out.Tally.UnpairedLines() != 0 || out.Tally.Accounted() != 923 {
		t.Errorf("fates %s", fates(out.Tally))
	}
}

// TestStraceOfTwoThreads: a capture of a terminal with all its dirt. Oracle: the
// case's own sums, which were worked out by hand.
func TestStraceOfTwoThreads(t *testing.T) {
	data := sharedFile(t, "cases", "A-15-strace-stderr-interleaved", "input.strace.txt")
	out := decodeAll(t, Strace, "x", data, ingest.DefaultOptions(), 0)
	var got strings.Builder
	out.Tally.Lines = 20
	b := out.Batch
	b.Evidence = nil
	dump(&got, &b)
	want := `event 1790000000001880000 input-00000000 strace read - offset 8192 size 4096 queue - latency 880000 syscall depth - error 0 pid 75 comm - file /data/wal.log cgroup - @359
event 1790000000006100000 input-00000000 strace write - offset 12288 size 512 queue - latency 4100000 syscall depth - error 0 pid 75 comm - file /data/wal.log cgroup - @457
event 1790000000018200000 input-00000000 strace flush - offset - size 0 queue - latency 12000000 syscall depth - error 0 pid 75 comm - file /data/wal.log cgroup - @554
event 1790000002118300000 input-00000000 strace read - offset 1048576 size 0 queue - latency 2100000000 syscall depth - error 5 pid 75 comm - file /data/wal.log cgroup - @686
event 1790000002149400000 input-00000000 strace flush - offset - size 0 queue - latency 30000000 syscall depth - error 0 pid 74 comm - file /data/wal.log cgroup - @1337
`
	strip := func(s string) string { // where the lines begin is not what the case is about
		var kept []string
		for line := range strings.Lines(s) {
			line, _, _ = strings.Cut(line, " @")
			kept = append(kept, line)
		}
		return strings.Join(kept, "\n")
	}
	if strip(got.String()) != strip(want) {
		t.Errorf("events\n%s\nwant\n%s", got.String(), want)
	}
	if f := fates(out.Tally); f != "lines 20 event 7 merged 0 notes 11 rejects map[] unpaired map[no-result:1 unpaired-resume:1]" {
		t.Errorf("fates %s", f)
	}
}

// TestStraceSniff: every layout is known, and text that only looks like it is not.
func TestStraceSniff(t *testing.T) {
	check := func(head string, want int) {
		t.Helper()
		if got := Strace.Sniff([]byte(head), "x"); got != want {
			t.Errorf("%q: %d, want %d", head, got, want)
		}
	}
	check("1 1700000000.1 read(3, \"\", 1) = 0 <0.1>\n", 2)
	check("[pid 1] 10:00:00.1 close(3) = 0\n", 2)
	check("10:00:00 (+     0.000000) close(3)                = 0\n", 2)
	check("     0.000008 semop(1, [{sem_num=0}], 1) = 0 <9.6>\n", 2)
	check("close(3) = 0\n", 2)
	check("read(3, <unfinished ...>\n", 2)
	check("% time     seconds  usecs/call     calls    errors syscall\n", 2)
	check("         0.000 ( 0.012 ms): work/1 read(fd: 3, buf: 0x1, count: 1) = 0\n", 0) // perf trace
	check("f(x) = x\nThis text is\nabout a function.\n", 0)
	check("iowork-1 [000] ..... 12.000001: sys_read(fd: 3) \n", 0)
	for _, name := range []string{"389ds-5438.attach-no-time.txt", "strace-issue206.relative.txt"} {
		check(string(sharedFile(t, "samples", "strace", name)), 2)
	}
}
