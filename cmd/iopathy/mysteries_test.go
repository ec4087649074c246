package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// toldOf runs the main job on files and gives all that it says: verdict, words
// and labels.
func toldOf(t *testing.T, sources ...string) string {
	t.Helper()
	dir := t.TempDir()
	var out, words bytes.Buffer
	args := append([]string{"run", "--out", dir, "--force", "--host", "box"}, sources...)
	if code := run(context.Background(), args, strings.NewReader(""), &out, &words); code != 0 {
		t.Fatalf("exit code %d: %s", code, words.String())
	}
	report, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	labels, err := os.ReadFile(filepath.Join(dir, "labels.csv"))
	if err != nil {
		t.Fatal(err)
	}
	return out.String() + words.String() + string(labels) + string(report)
}

func saysAll(t *testing.T, told string, says, never []string) {
	t.Helper()
	for _, s := range says {
		if !strings.Contains(told, s) {
			t.Errorf("nothing says %q", s)
		}
	}
	for _, s := range never {
		if strings.Contains(told, ",sick,"+s+",") || strings.Contains(told, ": "+s+" ") {
			t.Errorf("it says %q", s)
		}
	}
	if t.Failed() {
		t.Logf("%.3000s", told)
	}
}

// Incidents of real users whose cause was confirmed later: what a good
// diagnosis says is said, what it calls wrong is not.
func TestRealMysteries(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program many times over")
	}
	const cases = "../../../shared/cases"
	if _, err := os.Stat(cases); err != nil {
		t.Skip("the cases are not here")
	}
	sick := []string{"media-degradation", "bandwidth-saturation", "sudden-stall", "writeback-stall", "metadata-storm", "cache-thrash", "burst-congestion"}
	check := func(glob string, says, never []string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(cases, glob, "input.*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no input (%v)", glob, err)
		}
		t.Run(glob[:4], func(t *testing.T) { saysAll(t, toldOf(t, files...), says, never) })
	}
	check("B-01-*", []string{
		"queue-saturation", "of a commit for every record", "a request has 4.37 kB on average", "contradicts the stated rates and latencies",
		"1 sick window rests on one or two intervals", `"since-boot": 1`,
	}, sick)
	check("B-02-*", []string{
		"5 of 10 devices have sick windows", "5 devices serve the same 2080 to 2154 requests/s", "sdd 44.5, sdc 53.7, sdf 86.8, sdb 131, sde 132",
		"the wait is the queue's, not the medium's", "the knee may lie lower", "5 sick windows rest on one or two intervals",
	}, sick)
	check("B-03-*", []string{
		"sda: sudden-stall by what other logs say, at a time that they don't tell", "= 7:", "30 s as a rule", "Check bridge, cable, power", "nothing speaks against the medium",
	}, []string{"media-degradation", "1970-01-02"})
	check("B-04-*", []string{"0 of 1 device has sick windows", "iowait without device activity, which is an artefact"}, append(sick, "queue-saturation"))
}

// intervals is iostat -x -t text: a row a device every 5 s from three at night.
func intervals(n int, rows func(at int) []string) string {
	var b strings.Builder
	b.WriteString("Linux 6.8.0-31-generic (box) \t06/14/2026 \t_x86_64_\t(8 CPU)\n\n")
	for at := range n {
		s := 3*3600 + 5*(at+1)
		fmt.Fprintf(&b, "06/14/2026 %02d:%02d:%02d AM\nDevice r/s rkB/s rrqm/s %%rrqm r_await rareq-sz w/s wkB/s wrqm/s %%wrqm w_await wareq-sz d/s dkB/s drqm/s %%drqm d_await dareq-sz f/s f_await aqu-sz %%util\n", s/3600, s/60%60, s%60)
		for _, r := range rows(at) {
			b.WriteString(r + "\n")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// served is the row of a device: reads and writes a second, their KiB and
// milliseconds.
func served(device string, r, rKB, rMS, w, wKB, wMS, busy float64) string {
	return fmt.Sprintf("%s %.2f %.2f 0.00 0.00 %.2f %.2f %.2f %.2f 0.00 0.00 %.2f %.2f 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 %.2f %.2f",
		device, r, r*rKB, rMS, rKB, w, w*wKB, wMS, wKB, (r*rMS+w*wMS)/1000, busy)
}

// Look-alikes, made up to figures that such incidents show.
func TestLookAlikes(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program many times over")
	}
	shake := func(at, by int) float64 { return 1 + float64((at*7+by*3)%11-5)/100 }
	check := func(name string, says, never []string, files map[string]string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for f, text := range files {
				if err := os.WriteFile(filepath.Join(dir, f), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			saysAll(t, toldOf(t, dir), says, never)
		})
	}
	// %util of a device that serves in parallel says nothing.
	check("a busy parallel device is well", []string{"0 of 1 device has sick windows"}, nil, map[string]string{
		"iostat.txt": intervals(72, func(at int) []string {
			return []string{served("nvme0n1", float64(48000+at*37%1000), 4, 0.09*shake(at, 1), 20, 8, 0.03, 100)}
		}),
	})
	// Members of an array that is rebuilt stream at what they can.
	rebuild := intervals(72, func(at int) []string {
		var rows []string
		for d := range 3 {
			rows = append(rows, served(fmt.Sprintf("sd%c", 'a'+d), 590*shake(at, d), 256, 4.5*shake(at, d+5), 5, 8, 2, 93))
		}
		return append(rows, served("sdd", 2, 8, 6, 588*shake(at, 7), 256, 5*shake(at, 9), 95))
	})
	check("a rebuild is named by the kernel's log", []string{"an array of the host is rebuilt or checked"}, []string{"media-degradation", "sudden-stall"}, map[string]string{
		"iostat.txt": rebuild, "dmesg.txt": "[Sun Jun 14 02:58:11 2026] md/raid:md0: device sdd operational as raid disk 3\n[Sun Jun 14 02:59:55 2026] md: recovery of RAID array md0\n",
	})
	// A host that swaps: the queue is that of memory.
	vmstat := "procs -----------memory---------- ---swap-- -----io---- -system-- -------cpu------- -----timestamp-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st gu                 UTC\n"
	for at := range 72 {
		s := 3*3600 + 5*(at+1)
		vmstat += fmt.Sprintf(" 3 21 3981200  61200  1200  80400 5600 8800  6300  9000 9100 15000  4  9  7 80  0  0 2026-06-14 %02d:%02d:%02d\n", s/3600, s/60%60, s%60)
	}
	check("a swap storm is memory's", []string{"much of what is read is swapped in"}, []string{"media-degradation"}, map[string]string{
		"iostat.txt": intervals(72, func(at int) []string {
			return []string{served("sda", 1400*shake(at, 1), 4.5, 3.5*shake(at, 2), 900*shake(at, 3), 10, 14*shake(at, 4), 98), served("sdb", 3, 16, 5, 4, 15, 4, 3)}
		}),
		"vmstat.txt": vmstat,
	})
	// A volume that is out of burst credits: a tenth of the requests at the same
	// depth. The volume is slow; no medium is.
	check("a volume out of credits is no bad medium", []string{"out of burst credits"}, []string{"media-degradation", "sudden-stall"}, map[string]string{
		"iostat.txt": intervals(72, func(at int) []string {
			r := 300.0
			if at < 24 {
				r = 3000
			}
			return []string{served("nvme1n1", r+float64(at%3)/5, 16, 16000/r, 0, 0, 0, 100)}
		}),
	})
	// A file server that answers nothing for seven seconds: the depth is not
	// told, but what then comes back took longer than the silence.
	var nfs strings.Builder
	for at := range 60 {
		ops, rtt := 100.0, 0.9
		switch {
		case at >= 30 && at < 37:
			ops, rtt = 0, 0
		case at == 37:
			ops, rtt = 30, 7600
		}
		fmt.Fprintf(&nfs, "\nfiler:/export mounted on /mnt/data:\n\n           ops/s       rpc bklog\n%16.3f%16.3f\n", ops*1.2, 0.0)
		for _, op := range []string{"read: ", "write:"} {
			size := 16.0
			if ops == 0 {
				size = 0
			}
			fmt.Fprintf(&nfs, "%s              ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)  avg queue (ms)          errors\n%24.3f%16.3f%16.3f        0 (0.0%%)%16.3f%16.3f%16.3f        0 (0.0%%)\n",
				op, ops, ops*16, size, rtt, rtt*1.05, 0.02)
		}
	}
	check("a server that hangs is a stall", []string{"sudden-stall", "a server that hangs"}, []string{"media-degradation", "queue-saturation"}, map[string]string{"nfsiostat.txt": nfs.String()})
	// What follows has rows with discards and flushes, too.
	also := func(row string, d, dKB, dMS, f, fMS, depth, busy float64) string {
		c := strings.Fields(row)
		for i, x := range map[int]float64{13: d, 14: d * dKB, 17: dMS, 18: dKB, 19: f, 20: fMS, 21: depth, 22: busy} {
			c[i] = fmt.Sprintf("%.2f", x)
		}
		return strings.Join(c, " ")
	}
	// A path of iSCSI is away for half a minute: what comes back has waited for it.
	check("a path that flaps is named by the kernel's log", []string{"sudden-stall", "a path to the storage failed"}, []string{"media-degradation", "queue-saturation"}, map[string]string{
		"iostat.txt": intervals(60, func(at int) []string {
			switch {
			case at >= 30 && at < 36:
				return []string{also(served("sdc", 0, 0, 0, 0, 0, 0, 0), 0, 0, 0, 0, 0, 14, 100)}
			case at == 36:
				return []string{served("sdc", 300, 16, 900, 100, 8, 1200, 100)}
			}
			return []string{served("sdc", 300*shake(at, 1), 16, 1.2*shake(at, 2), 100*shake(at, 3), 8, 1.4*shake(at, 4), 30)}
		}),
		"dmesg.txt": "[Sun Jun 14 03:02:35 2026]  connection1:0: detected conn error (1022)\n",
	})
	// A file system that flushes after each small write, on a disk.
	check("barriers on a disk are a storm", []string{"metadata-storm", "a flush after every record or file"}, []string{"media-degradation", "writeback-stall", "bandwidth-saturation"}, map[string]string{
		"iostat.txt": intervals(72, func(at int) []string {
			return []string{also(served("sda", 2, 8, 6, 260*shake(at, 1), 4.3, 4*shake(at, 2), 98), 0, 0, 0, 120*shake(at, 3), 7.8, 2.0, 98)}
		}),
	})
	// Discards of an online TRIM fill the queue of a flash drive; the reads behind
	// them are no sign of wear.
	check("a storm of discards is no bad medium", []string{"queue-saturation", "discards (TRIM) fill the queue"}, []string{"media-degradation", "bandwidth-saturation", "sudden-stall"}, map[string]string{
		"iostat.txt": intervals(72, func(at int) []string {
			if at < 30 {
				return []string{served("nvme0n1", 800*shake(at, 1), 8, 0.15*shake(at, 2), 100, 8, 0.05, 20)}
			}
			return []string{also(served("nvme0n1", 800*shake(at, 1), 8, 6*shake(at, 2), 100, 8, 4, 99), 900*shake(at, 3), 2048, 25, 0, 0, 27.7*shake(at, 4), 99)}
		}),
	})
	// A disk drive of shingled tracks whose cache is full: a fiftieth of the rate.
	check("a cliff of writes is the device's", []string{"media-degradation"}, []string{"queue-saturation", "sudden-stall", "metadata-storm", "cache-thrash"}, map[string]string{
		"iostat.txt": intervals(96, func(at int) []string {
			if at < 48 {
				return []string{served("sda", 2, 4, 9, 293*shake(at, 1), 512, 6*shake(at, 2), 95)}
			}
			return []string{served("sda", 2, 4, 9, 9*shake(at, 1), 512, 900*shake(at, 2), 100)}
		}),
	})
	// A disk that serves a database well is held against nothing but itself once
	// a backup streams from it: its quiet minutes before were no fault.
	check("the quiet before a backup is well", []string{"1 of 1 device has sick windows"}, []string{"media-degradation", "sudden-stall", "cache-thrash"}, map[string]string{
		"iostat.txt": intervals(96, func(at int) []string {
			if at < 48 {
				return []string{served("sda", 40*shake(at, 1), 16, 6*shake(at, 2), 15*shake(at, 3), 12, 5*shake(at, 4), 40)}
			}
			return []string{served("sda", 380*shake(at, 1), 340, 17*shake(at, 2), 15, 12, 18, 99.5)}
		}),
	})
	// Dirty pages go out in floods: the reads beside them wait, and so does a window
	// of which the first report is missing, since no queue stands in it.
	check("a flood of dirty pages is a flood", []string{"writeback-stall"}, []string{"queue-saturation", "media-degradation", "bandwidth-saturation"}, map[string]string{
		"iostat.txt": intervals(96, func(at int) []string {
			if at%30 < 4 {
				return []string{served("sdb", 40*shake(at, 1), 16, 180*shake(at, 2), 900*shake(at, 3), 480, 140*shake(at, 4), 100)}
			}
			return []string{served("sdb", 120*shake(at, 1), 16, 0.4*shake(at, 2), 4, 8, 0.5, 6)}
		}),
	})
	// Calls of a mount that wait in the client: the server answers in a millisecond.
	nfs.Reset()
	for at := range 48 {
		ops, rtt, wait, backlog := 75.0, 1.1*shake(at, 1), 0.02, 0.0
		if at >= 20 {
			ops, wait, backlog = 1000, 84*shake(at, 2), 180
		}
		fmt.Fprintf(&nfs, "\nfiler:/home mounted on /home:\n\n           ops/s       rpc bklog\n%16.3f%16.3f\n", ops*2.4, backlog)
		for _, op := range []string{"read: ", "write:"} {
			fmt.Fprintf(&nfs, "%s              ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)  avg queue (ms)          errors\n%24.3f%16.3f%16.3f        0 (0.0%%)%16.3f%16.3f%16.3f        0 (0.0%%)\n",
				op, ops, ops*8, 8.0, rtt, rtt+wait, wait)
		}
	}
	check("calls that wait for a slot are a queue of the mount", []string{"queue-saturation", "in the client for a free slot"}, []string{"media-degradation", "sudden-stall"}, map[string]string{"nfsiostat.txt": nfs.String()})
	// A path is away for twelve seconds across the border of two windows, one call
	// after another piles up: what hung makes the second window's own median.
	var snoop strings.Builder
	snoop.WriteString("TIME(s)     COMM           PID    DISK    T  SECTOR     BYTES   LAT(ms)\n")
	for at := range 240 * 60 {
		start := float64(at) / 60
		end := start + 0.0009*shake(at, 1)
		if start >= 120 && start < 132 {
			end = 132 + float64(at%60)/1e4
		}
		fmt.Fprintf(&snoop, "%-11.6f %-14s %-6d %-7s %s  %-10d %-7d %7.3f\n", end, "postgres", 2211, "sdc", "RRRW"[at%4:at%4+1], at*7919%(1<<30), 8192, (end-start)*1e3)
	}
	check("a stall is one on both sides of a border", []string{"sudden-stall"}, []string{"burst-congestion", "queue-saturation", "media-degradation"}, map[string]string{"biosnoop.txt": snoop.String()})
}
