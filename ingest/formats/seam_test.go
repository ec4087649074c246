package formats

import (
	"fmt"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// told reads a text and checks which rows it gives and which fates its lines have. Wanted
// are parts of rows, each of which must be there once; the account is that of fates.
func told(t *testing.T, name, options, text, account string, rows ...string) {
	t.Helper()
	s := sample{path: "x.log", data: []byte(text), o: ingest.DefaultOptions()}
	s.o.Host = "h"
	for kv := range strings.FieldsSeq(options) {
		key, value, _ := strings.Cut(kv, "=")
		if err := option(&s.o, key, value); err != nil {
			t.Fatal(err)
		}
	}
	got := read(t, s, 1, nil)
	if f := fates(got.rep.Tally); account != "" && f != account {
		t.Errorf("%s: %s, want %s\n%s", name, f, account, got.rows)
	}
	kept, _, _ := strings.Cut("\n"+got.rows, "\nreject line")
	for _, row := range rows {
		want := 1
		if rest, none := strings.CutPrefix(row, "NOT "); none {
			row, want = rest, 0
		}
		if n := strings.Count(kept, row); n != want {
			t.Errorf("%s: %q stands there %d times, want %d:\n%s", name, row, n, want, got.rows)
		}
	}
}

// TestSeamMarks: a snapshot's time that is glued to a torn line is the time of what
// follows it. By hand: the torn row is lost, and the interval spans its snapshot.
func TestSeamMarks(t *testing.T) {
	disk := func(n int) string { return fmt.Sprintf("   8       0 sda %d 0 %d 1 2 0 16 1 0 1 1", n, 8*n) }
	for _, mark := range []string{"# 17000000%02d", "2023-11-14 22:13:%02d UTC", "zzz ***Tue Nov 14 22:13:%02d UTC 2023"} {
		at := func(s int) string {
			if mark[0] != '#' {
				s += 20 // 1700000000 is 22:13:20
			}
			return fmt.Sprintf(mark, s)
		}
		text := at(0) + "\n" + disk(10) + "\n" + at(10) + "\n" + disk(20)[:22] + at(20) + "\n" + disk(30) + "\n" + at(30) + "\n" + disk(50) + "\n"
		told(t, mark, "", text, "lines 7 event 3 merged 0 notes 3 rejects map[glued:1] unpaired map[]",
			"sample 1700000020000000000 interval 20000000000 h sda reads 20 ", "sample 1700000030000000000 interval 10000000000 h sda reads 20 ")
	}
	told(t, "io.stat", "", "# 1700000000\n8:0 rbytes=4096 wbytes=0 rios=1 wios=0\n# 1700000001\n8:0 rbytes=81# 1700000002\n8:0 rbytes=12288 wbytes=0 rios=3 wios=0\n",
		"lines 5 event 2 merged 0 notes 2 rejects map[glued:1] unpaired map[]", "sample 1700000002000000000 interval 2000000000 h dev:8:0 reads 2 writes 0 read_bytes 8192 ")
	told(t, "prometheus", "", "# 1700000000\nnode_disk_reads_completed_total{device=\"sda\"} 100\n# 1700000010\nnode_disk_reads_completed_total{device=\"sda\"} 1# 1700000020\nnode_disk_reads_completed_total{device=\"sda\"} 300\n",
		"lines 5 event 2 merged 0 notes 2 rejects map[glued:1] unpaired map[]", "sample 1700000020000000000 interval 20000000000 h sda reads 200")
	told(t, "pressure", "", "# 1700000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n# 1700000010\nfull avg10=0.00 avg60=0.# 1700000020\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=6000000\n",
		"lines 5 event 2 merged 0 notes 2 rejects map[glued:1] unpaired map[]", "evidence 1700000020000000000 h - psi_io_full_share 0.25 ")
	told(t, "vmstat", "", "# 1700000000\npgmajfault 100\nnr_dirty 7\n# 1700000010\npgmajfault 2# 1700000020\npgmajfault 300\nnr_dirty 9\n", "",
		"evidence 1700000020000000000 h - pgmajfault 300", "NOT pgmajfault 2 ")
	mount := func(n int) string {
		return fmt.Sprintf("device nas:/a mounted on /a with fstype nfs4 statvers=1.1\n\tper-op statistics\n\t        READ: %d %d 0 100 100 1 1 %d 0\n", n, n, n)
	}
	told(t, "mountstats", "", "# 1700000000\n"+mount(10)+"# 1700000010\n"+mount(20)[:104]+"# 1700000020\n"+mount(30), "",
		"sample 1700000020000000000 interval 20000000000 h nfs:/a reads 20 ")
	told(t, "two mounts", "", "# 1700000000\n"+mount(10)+strings.ReplaceAll(mount(10), "/a", "/b")+"# 1700000010\n"+mount(20)[:104]+strings.ReplaceAll(mount(40), "/a", "/b"), "",
		"h nfs:/b reads 30 ", "NOT nfs:/a reads 30")
	told(t, "job_stats", "", "obdfilter.fs-OST0000.job_stats=\njob_stats:\n- job_id: 7\n  snapshot_time: 1700000000\n  read_bytes: { samples: 1, unit: bytes, min: 1, max: 1, sum: 1 }\n  write_bytes: { samobdfilter.fs-OST0001.job_stats=\n"+
		"job_stats:\n- job_id: 7\n  snapshot_time: 1700000000\n  read_bytes: { samples: 5, unit: bytes, min: 1, max: 1, sum: 9 }\n", "",
		"h fs-OST0001/7 counter.reads 5", "h fs-OST0000/7 counter.reads 1")
}

// TestSeamBanners: a run that begins amid a torn line has its own host, date and report
// since boot.
func TestSeamBanners(t *testing.T) {
	const head = "Device            r/s     rkB/s     w/s     wkB/s  aqu-sz  %util\n"
	first := "Linux 5.10.0 (n1) \t2023-11-14 \t_x86_64_\t(8 CPU)\n\n"
	row := func(d string, r float64) string {
		return fmt.Sprintf("%-10s %10.2f %9.2f %7.2f %9.2f    0.05   5.00\n", d, r, 4*r, 2*r, 8*r)
	}
	told(t, "iostat", "", first+"2023-11-14 22:13:20\n"+head+row("sda", 1.37)+"\n2023-11-14 22:13:21\n"+head+row("sda", 10)+row("sdb", 11)[:30]+
		strings.Replace(first, "n1", "n2", 1)+"2023-11-14 22:20:00\n"+head+row("sda", 1.39)+"\n2023-11-14 22:20:01\n"+head+row("sda", 12),
		"lines 18 event 2 merged 0 notes 13 rejects map[glued:1 since-boot:2] unpaired map[]",
		"sample 1700000001000000000 interval 1000000000 n1 sda reads 10 ", "sample 1700000401000000000 interval 1000000000 n2 sda reads 12 ")
	// The last row of a report, the time of the next one behind it; then a header.
	told(t, "iostat's times", "", first+"2023-11-14 22:13:20\n"+head+row("sda", 1.37)+"\n2023-11-14 22:13:21\n"+head+row("sda", 10)+strings.TrimRight(row("sdb", 11), "\n")+
		"2023-11-14 22:13:23\n"+head+row("sda", 24)+strings.TrimRight(row("sdb", 22), "\n")+head+row("sda", 30),
		"lines 14 event 3 merged 0 notes 8 rejects map[glued:2 since-boot:1] unpaired map[]",
		"sample 1700000001000000000 interval 1000000000 n1 sda reads 10 ", "sample 1700000003000000000 interval 2000000000 n1 sda reads 48 ", "sample 1700000004000000000 interval 1000000000 n1 sda reads 30 ")
	const sar = "          DEV       tps     rkB/s     wkB/s\n"
	told(t, "sar", "", first+"22:13:20"+sar+"22:13:21          sda      4.00     16.00      0.00\n22:13:22          sda      4.0"+strings.Replace(first, "n1", "n2", 1)+
		"22:20:00"+sar+"22:20:01          sda      5.00     20.00      0.00\n", "lines 8 event 2 merged 0 notes 5 rejects map[glued:1] unpaired map[]",
		"sample 1700000401000000000 interval 1000000000 n2 sda read_bytes 20480 ")
	const mp = "     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"
	told(t, "mpstat", "", first+"22:13:20"+mp+"22:13:21     all    1.00    0.00    1.00   25.00    0.00    0.00    0.00    0.00    0.00   73.00\n22:13:22     all    1.0"+
		strings.Replace(first, "n1", "n2", 1)+"22:20:00"+mp+"22:20:01     all    1.00    0.00    1.00   50.00    0.00    0.00    0.00    0.00    0.00   48.00\n", "",
		"evidence 1700000001000000000 n1 - cpu_iowait_share 0.25", "evidence 1700000401000000000 n2 - cpu_iowait_share 0.5 ")
}

// TestSeamJSON: a document that begins amid another one that was cut off is read whole.
func TestSeamJSON(t *testing.T) {
	smart := func(disk string, n int) string {
		return fmt.Sprintf("{\n  \"json_format_version\": [\n    1,\n    0\n  ],\n  \"smartctl\": {\n    \"exit_status\": 0\n  },\n  \"device\": {\n    \"name\": \"/dev/%s\",\n    \"info_name\": \"x\",\n    \"protocol\": \"ATA\"\n  },\n"+
			"  \"power_cycle_count\": %d\n}\n", disk, n)
	}
	whole := smart("sdb", 7)
	for cut := 30; cut < len(whole)-4; cut += 7 {
		told(t, fmt.Sprint("smartctl ", cut), "start_ns=1700000000000000000 format=smartctl", smart("sda", 5)[:cut]+whole, "", "h sdb smart_power_cycles 7")
	}
	told(t, "smartctl's end", "start_ns=1700000000000000000", strings.TrimSuffix(smart("sda", 555), "\n}\n"), "", "NOT smart_power_cycles", "smart_incomplete 1")
	told(t, "nvme in another document", "start_ns=1700000000000000000", "{\n \"info\": {\"name\": \"a\"},\n \"smart_log\": {\n  \"critical_warning\": 0,\n  \"avail_spare\": 100,\n  \"media_errors\": 3\n }\n}\n", "",
		"nvme_media_errors 3", "NOT smart_incomplete")
	row := func(r string) string {
		return "{\"timestamp\": \"2023-11-14 22:13:2" + r + "\", \"disk\": [{\"disk_device\": \"sda\", \"r/s\": 1" + r + ".00, \"w/s\": 0.00, \"rkB/s\": 4.00, \"wkB/s\": 0.00}]}"
	}
	doc := func(host string) string {
		return "{\"sysstat\": {\"hosts\": [{\"nodename\": \"" + host + "\", \"statistics\": [" + row("0") + ", " + row("1") + ", " + row("2") + "]}]}}"
	}
	for _, cut := range []int{25, 190, 230, 330} { // amid a key, a value, a name, a time
		told(t, fmt.Sprint("iostat ", cut), "first_report=true", doc("n1")[:cut]+doc("n2")+"\n", "", "sample 1700000002000000000 interval 1000000000 n2 sda reads 12 ")
	}
}
