package formats

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// What follows are texts as people have them, and what an engineer reads from them by hand.

// TestUsersIostat: figures that are none, made-up rates, dates in words, the command line
// above the banner.
func TestUsersIostat(t *testing.T) {
	const head = "Device            r/s     rkB/s     w/s  r_await  svctm  %util\n"
	banner := func(date string) string { return "Linux 5.10.0 (n1) \t" + date + " \t_x86_64_\t(8 CPU)\n\n" }
	row := func(r, w float64, rest string) string {
		return fmt.Sprintf("sda %10.2f %9.2f %7.2f %s\n", r, 4*r, w, rest)
	}
	const usual = "1.00 0.50 5.00"
	report := func(stamp, row string) string { return stamp + "\n" + head + row + "\n" }
	boot := row(1.37, 2.91, usual)
	// Rates that are no whole numbers over a second stay those of a second: two seconds can't lie between stamps one apart.
	told(t, "halves", "", banner("2023-11-14")+report("2023-11-14 22:13:20", boot)+report("2023-11-14 22:13:21", row(10.5, 4.5, usual))+report("2023-11-14 22:13:22", row(11.5, 2.5, usual)), "",
		"sample 1700000001000000000 interval 1000000000 n1 sda reads 11 ", "sample 1700000002000000000 interval 1000000000 n1 sda reads 12 ")
	// A mean over nothing is not known; all else of the row is.
	told(t, "nan", "", banner("2023-11-14")+report("2023-11-14 22:13:20", boot)+report("2023-11-14 22:13:21", row(10, 4, "-nan -nan nan"))+report("2023-11-14 22:13:22", row(12, 2, "1.00 inf 5.00")), "",
		"sample 1700000001000000000 interval 1000000000 n1 sda reads 10 writes 4 read_bytes 40960 @", "n1 sda reads 12 writes 2 read_bytes 49152 read_ns 12000000 busy_ns 50000000 @")
	for _, stamp := range []string{"Tuesday 14 November 2023 10:13:2%d PM IST", "Tue 14 Nov 2023 10:13:2%d PM UTC", "14.11.2023. 22:13:2%d", "14 November 2023 22:13:2%d"} {
		at := func(s int) string { return fmt.Sprintf(stamp, s) }
		told(t, stamp, "", banner("Tuesday 14 November 2023")+report(at(0), boot)+report(at(1), row(10, 4, usual))+report(at(2), row(12, 2, usual)), "",
			"sample 1700000001000000000 ", "sample 1700000002000000000 ")
	}
	told(t, "sar in words", "", banner("Tuesday 14 November 2023")+"10:13:20 PM          DEV       tps     rkB/s     wkB/s\n10:13:21 PM          sda      4.00     16.00      0.00\n", "", "sample 1700000001000000000 ")
	// Whole rates in a first report could be those of -y; the command says whether they are.
	whole := banner("2023-11-14") + head + row(20, 30, usual) + row(21, 31, usual)[:0] + "\n" + head + row(22, 32, usual)
	// A first interval that a restart made shorter does not draw the next ones to its length.
	told(t, "sar after a restart", "", banner("2023-11-14")+"22:13:20       LINUX RESTART\t(2 CPU)\n\n22:13:24          DEV       tps     rkB/s     wkB/s\n22:23:20          sda      4.00     16.00      0.00\n22:33:20          sda      4.00     16.00      0.00\n", "",
		"interval 596000000000 n1 sda read_bytes 9764864 ", "interval 600000000000 n1 sda read_bytes 9830400 ")
	told(t, "iostat -x 1", "", "root@n1:~# iostat -x 1 5 | tee log\n"+whole, "", "NOT reads 20", "reads 22")
	told(t, "iostat -xy 5", "", "$ /usr/bin/iostat -xy 5 > log 2>&1\n"+whole, "", "interval 5000000000 n1 sda reads 100", "interval 5000000000 n1 sda reads 110")
	// A loop's own time before each line (a report of sysstat's issue 312).
	told(t, "[18:01:12]sda", "first_report=true", "[18:01:11]"+strings.ReplaceAll(strings.TrimSpace(banner("2023-11-14")+head+row(20, 30, usual)), "\n", "\n[18:01:12]")+"\n", "", "n1 sda reads 20 ")
	// A device that comes again: what stood between two reports was lost.
	told(t, "no head", "first_report=true", banner("2023-11-14")+head+row(20, 30, usual)+row(22, 32, usual), "", "sample 1000000000 ", "sample 2000000000 ")
}

// TestUsersClocksBack: the hour that comes twice where clocks are put back. Oracle:
// date -d '2026-10-25 02:00:00 CET' +%s is 1792890000.
func TestUsersClocksBack(t *testing.T) {
	stamps := []string{"02:59:40", "02:59:50", "02:00:00", "02:00:10"}
	text := ""
	for i, s := range stamps {
		text += fmt.Sprintf("2026-10-25 %s\n   8       0 sda %d 0 8 1 2 0 16 1 0 1 1\n", s, 10*(i+1))
	}
	told(t, "diskstats", "zone=Europe/Berlin", text, "lines 8 event 4 merged 0 notes 4 rejects map[] unpaired map[]",
		"sample 1792889990000000000 interval 10000000000 ", "sample 1792890000000000000 interval 10000000000 ", "sample 1792890010000000000 interval 10000000000 ")
	text = "Linux 6.1.0 (w) \t10/25/2026 \t_x86_64_\t(2 CPU)\n\n02:59:30          DEV       tps     rkB/s     wkB/s\n"
	for _, s := range stamps {
		text += s + "          sda      4.00     16.00      0.00\n"
	}
	told(t, "sar", "zone=Europe/Berlin", text, "", "sample 1792889980000000000 interval 10000000000 ", "sample 1792889990000000000 ", "sample 1792890000000000000 interval 10000000000 ", "sample 1792890010000000000 ")
	text = ""
	for _, s := range stamps {
		text += "10 " + s + ".500000 pread64(3, \"\"..., 4096, 0) = 4096 <0.000100>\n"
	}
	told(t, "strace", "zone=Europe/Berlin start_ns=1792880000000000000", text, "", "event 1792889980500100000 ", "event 1792889990500100000 ", "event 1792890000500100000 ", "event 1792890010500100000 ")
}

// TestUsersStrace: what else goes to the terminal that strace prints to.
func TestUsersStrace(t *testing.T) {
	const text = `[pid 10] 1700000000.000100 write(1, "hello\n", 6hello
)      = 6 <0.000010>
[pid 10] 1700000000.000200 openat(AT_FDCWD, "/data/f", O_RDONLY) = 3 <0.000010>
Password: [pid 10] 1700000000.000300 pread64(3, "x", 4096, 0) = 4096 <0.000100>
 > /usr/lib/libc.so.6(__pread64+0x14) [0xeec74]
[pid 10] 1700000000.000400 write(1, "a\nb\n", 4a
b
)      = 4 <0.000010>
progress 10%...[pid 11] 1700000000.000500 pread64(3, "x", 4096, 4096 <unfinished ...>
[pid 10] 1700000000.000600 pread64(3, "x", 4096, 8192strace: [ Process PID=11 runs in 32 bit mode. ]
) = 4096 <0.000100>
warn: slow[pid 11] 1700000000.000900 <... pread64 resumed>) = 4096 <0.000400>
done 1.5 s 1700000000.001000 fsync(3) = 0 <0.002>
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
100.00    0.500000      250000         2         1 fsync
------ ----------- ----------- --------- --------- ----------------
100.00    0.500000                     2         1 total
`
	told(t, "terminal", "", text, "lines 18 event 6 merged 0 notes 12 rejects map[] unpaired map[]",
		"event 1700000000000400000 h strace read - offset 0 size 4096 queue - latency 100000 syscall depth - error 0 pid 10 ",
		"event 1700000000000700000 h strace read - offset 8192 size 4096 queue - latency 100000 syscall depth - error 0 pid 10 ",
		"event 1700000000000900000 h strace read - offset 4096 size 4096 queue - latency 400000 syscall depth - error 0 pid 11 ",
		"event 1700000000003000000 h strace flush ")
	told(t, "file", "", "9 1700000000.000100 pread64(3, \"x\", 4096, 0) = 4096 <0.000100>\nready 10 1700000000.000300 pread64(3, \"x\", 4096, 0) = 4096 <0.000100>\n", "", "pid 9 ", "pid 10 ")
}

// TestUsersFioJSON: figures that are none, of all operations together, in other documents.
func TestUsersFioJSON(t *testing.T) {
	doc := func(job, op, mean string) string {
		return "{\n  \"fio version\" : \"fio-3.36\",\n  \"timestamp\" : 1700000000,\n  \"jobs\" : [\n    {\n      \"jobname\" : \"" + job + "\",\n      \"error\" : 0,\n      \"" + op + "\" : {\n        \"io_bytes\" : 409600,\n        \"total_ios\" : 100,\n" +
			"        \"iops\" : 10.5,\n        \"runtime\" : 10000,\n        \"clat_ns\" : {\n          \"min\" : 18446744073709551615,\n          \"max\" : 900,\n          \"mean\" : " + mean + ",\n          \"N\" : 100,\n          \"percentile\" : {\n            \"99.000000\" : 800\n          }\n        }\n      }\n    }\n  ]\n}\n"
	}
	told(t, "nan", "", doc("a", "read", "nan"), "", "fio_read_ios 100 a", "fio_read_clat_max_ns 900 a", "NOT clat_mean", "NOT clat_min")
	told(t, "mixed", "", doc("a", "mixed", "500.5"), "", "fio_mixed_ios 100 a", "fio_mixed_clat_mean_ns 500.5 a", "fio_mixed_clat_p99_ns 800 a")
	told(t, "commas", "", strings.NewReplacer("10.5", "10,5", "500.5", "500,5", "99.000000", "99,000000").Replace(doc("a", "read", "500.5")), "", "fio_read_iops 10.5 a", "fio_read_clat_mean_ns 500.5 a", "fio_read_clat_p99_ns 800 a")
	told(t, "wrapped", "", "{\n\"run\": 7,\n\"results\": [\n{\"id\": 1, \"fio\": "+strings.TrimRight(doc("a", "read", "500.5"), "\n")+"},\n{\"id\": 2, \"fio\": "+doc("b", "write", "600.5")+"}\n]\n}\n", "", "fio_read_ios 100 a", "fio_write_ios 100 b")
	one := doc("a", "read", "500.5")
	for cut := 100; cut < len(one)-8; cut += 11 {
		told(t, fmt.Sprint("cut ", cut), "", one[:cut]+doc("b", "write", "600.5"), "", "fio_write_ios 100 b", "fio_write_clat_p99_ns 800 b")
	}
}

// TestUsersOther: labels as the exposition format allows them, and what torn ones look
// like; vmstat run again and again.
func TestUsersOther(t *testing.T) {
	scrape := func(n int) string {
		return fmt.Sprintf("# 17000000%02d\nnode_disk_reads_completed_total { device = \"sda\" , } %d\n", n, 100+n)
	}
	told(t, "blanks", "", scrape(0)+scrape(10), "", "sample 1700000010000000000 interval 10000000000 h sda reads 10")
	// A scrape that lacks a counter is a torn one: the next interval spans it, or what it has counts if none follows.
	both := func(n int, reads string) string {
		return fmt.Sprintf("# 17000000%02d\nnode_disk_reads_completed_total{device=\"sda\"} %s\nnode_disk_writes_completed_total{device=\"sda\"} %d\n", n, reads, 50+n)
	}
	told(t, "stale", "", both(0, "100")+both(10, "NaN")+both(20, "300")+both(30, "400"), "lines 12 event 6 merged 0 notes 4 rejects map[] unpaired map[no-figures:1 torn-snapshot:1]",
		"sample 1700000020000000000 interval 20000000000 h sda reads 200 writes 20 ", "sample 1700000030000000000 interval 10000000000 h sda reads 100 writes 10 ")
	told(t, "stale at the end", "", both(0, "100")+both(10, "200")+both(20, "NaN"), "", "sample 1700000010000000000 interval 10000000000 h sda reads 100 writes 10 ", "sample 1700000020000000000 interval 10000000000 h sda writes 10 ")
	told(t, "files of a cgroup", "", "# 1700000000\n/sys/fs/cgroup/a/io.max:8:16 rbps=2097152 wbps=max riops=max wiops=120\n/sys/fs/cgroup/a/memory.events:oom_kill 3\n", "", "dev:8:16 read_bytes_per_s_limit 2.097152e+06 ", "NOT - oom_kill")
	told(t, "gone", "", both(0, "100")+both(10, "NaN")+both(20, "NaN")+both(30, "NaN")+both(40, "NaN")+both(50, "NaN"), "", "interval 40000000000 h sda writes 40 ", "sample 1700000050000000000 interval 10000000000 h sda writes 10 ")
	told(t, "commas", "", "# 1700000000\nsmartmon_x{disk=\"/dev/sda\"} 0,500000e+01\nnode_disk_io_time_seconds_total{device=\"sda\"} 12,5\n# 1700000010\nnode_disk_io_time_seconds_total{device=\"sda\"} 13,75\n", "", "smartmon_x 5 ", "h sda busy_ns 1250000000 ")
	told(t, "smartctl by a locale", "", "{\"json_format_version\":[1,0],\"smartctl\":{\"exit_status\":0},\"device\":{\"name\":\"/dev/sda\"},\"scsi_error_counter_log\":{\"read\":{\"gigabytes_processed\":\"54231,012\"}}}\n", "", "smart_scsi_read_bytes 5.4231012e+13 ")
	told(t, "torn labels", "", scrape(0)+"node_disk_written_bytes_total{devicnode_disk_reads_completed_total{device=\"sda\"} 10\n"+scrape(10), "", "NOT written", "NOT devic")
	told(t, "torn totals", "start_ns=1700000000000000000", "# darshan log version: 3.41\n# exe: a\n# start_time: 1700000000\n# run time: 1.5\ntotal_POSIX_READS: 5\ntotal_POSI# darshan log version: 3.41\n", "", "total_posix_reads 5", "NOT total_posi#")
	const head = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
	row := func(bi, cs int) string {
		return fmt.Sprintf(" 1  0      0 13127020 456268 7073412    0    0  %d  61 210 %d 69 11 19  1  0\n", bi, cs)
	}
	told(t, "while vmstat", "", head+row(430, 4533)+head+row(431, 4533)+head+row(431, 4534)+row(7, 100)+head+row(9, 4534), "lines 13 event 2 merged 0 notes 8 rejects map[since-boot:3] unpaired map[]")
}

// TestUsersDmesg: dates of other languages, lines that syslog folded, records of /dev/kmsg,
// a message glued to a torn one.
func TestUsersDmesg(t *testing.T) {
	const msg = "I/O error, dev sda, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2\n"
	// Oracle: date -d '2023-11-14 22:13:20 UTC' +%s is 1700000000, a Tuesday.
	for _, stamp := range []string{"Tue Nov 14 22:13:20 2023", "Di Nov 14 22:13:20 2023", "mar. nov. 14 22:13:20 2023", "mar nov 14 22:13:20 2023", "вт ноя 14 22:13:20 2023", "wto lis 14 22:13:20 2023", "火 11月 14 22:13:20 2023"} {
		told(t, stamp, "", "["+stamp+"] "+msg, "lines 1 event 1 merged 0 notes 0 rejects map[] unpaired map[]", "evidence 1700000000000000000 h sda kernel_io_error 1 ")
	}
	told(t, "folded", "start_ns=1700000000000000000", "Nov 14 22:13:20 db kernel: nvme nvme0: I/O 12 QID 3 timeout, aborting\nNov 14 22:13:21 db kernel: message repeated 1 times: [ "+strings.TrimSpace(msg)+"]\nNov 14 22:13:22 db last message repeated 1 time\nNov 14 22:13:23 db cron: x\nNov 14 22:13:24 db last message repeated 9 times\n",
		"lines 5 event 3 merged 0 notes 2 rejects map[] unpaired map[]", "evidence 1700000001000000000 db sda kernel_io_error 1 ", "evidence 1700000002000000000 db sda kernel_io_error 1 ")
	told(t, "folded away", "start_ns=1700000000000000000", "Nov 14 22:13:20 db kernel: nvme nvme0: I/O 12 QID 3 timeout, aborting\nNov 14 22:13:22 db last message repeated 1 time\n", "", "evidence 1700000000000000000 db nvme0 kernel_nvme_timeout 1 ", "evidence 1700000002000000000 db nvme0 kernel_nvme_timeout 1 ")
	told(t, "kmsg", "start_ns=1700000000000000000", "3,1234,100500000,-;"+msg+" SUBSYSTEM=block\n DEVICE=b8:0\n", "lines 3 event 1 merged 0 notes 2 rejects map[] unpaired map[]", "evidence 1700000100500000000 h sda kernel_io_error 1 ")
	told(t, "glued", "format=dmesg start_ns=1700000000000000000", "[  100.8000[  100.900000] "+msg+"[  101.000000] "+strings.TrimSpace(msg)+"[  102.000000] "+msg, "lines 2 event 2 merged 0 notes 0 rejects map[] unpaired map[]",
		"evidence 1700000100900000000 h sda kernel_io_error 1 ", "evidence 1700000101000000000 h sda kernel_io_error 1 ", "evidence 1700000102000000000 h sda kernel_io_error 1 ")
}

// TestUsersOneLine: a document on one line longer than a line may be is read in pieces.
// Oracle: the same document over many lines.
func TestUsersOneLine(t *testing.T) {
	if testing.Short() {
		t.Skip("documents of a megabyte")
	}
	bins := strings.Repeat("\"1000\": 1,\n", 5000) + "\"2000\": 1"
	var text strings.Builder
	text.WriteString("{\"fio version\": \"fio-3.36\",\n\"timestamp\": 1700000000,\n\"jobs\": [\n")
	for i := range 25 {
		if i > 0 {
			text.WriteString(",\n")
		}
		fmt.Fprintf(&text, "{\"jobname\": \"j%d\",\n\"error\": 0,\n\"read\": {\"io_bytes\": 4096,\n\"total_ios\": %d,\n\"clat_ns\": {\"mean\": 1.5,\n\"N\": 1,\n\"bins\": {%s}}}}", i, i+1, bins)
	}
	text.WriteString("]}\n")
	rows := func(data string, chunk int64, workers int) map[string]int {
		s := sample{path: "x.json", data: []byte(data), o: ingest.DefaultOptions()}
		s.o.Host, s.o.ChunkBytes, s.o.ReadBytes = "h", chunk, 100_000
		all := map[string]int{}
		for row := range strings.Lines(places.ReplaceAllString(read(t, s, workers, nil).rows, "$1")) {
			all[row]++
		}
		return all
	}
	want := rows(text.String(), 64<<20, 1)
	if len(want) < 100 {
		t.Fatalf("%d rows", len(want))
	}
	line := strings.ReplaceAll(text.String(), "\n", "") + "\n"
	for _, chunk := range []int64{64 << 20, 300_000} {
		for _, workers := range []int{1, 3} {
			if got := rows(line, chunk, workers); !maps.Equal(got, want) {
				t.Errorf("chunks of %d bytes, %d workers: %d rows, want %d", chunk, workers, len(got), len(want))
			}
		}
	}
	var calls strings.Builder
	for i := range 12000 {
		fmt.Fprintf(&calls, "{\"id\":%d,\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":5,\"ph\":\"X\",\"args\":{\"ret\":%d}}\n", i, 1700000000000000+10*i, i)
	}
	want = rows("[\n"+calls.String()+"]\n", 64<<20, 1)
	if got := rows("["+strings.ReplaceAll(strings.TrimSpace(calls.String()), "\n", ",")+"]\n", 64<<20, 1); !maps.Equal(got, want) || len(want) < 10000 {
		t.Errorf("dftracer: %d rows, want %d", len(got), len(want))
	}
}
