package formats

import "time"

// speedHosts are the logs of what a host tells beside its I/O.
func speedHosts() []speedLog {
	clock := func(i int) string {
		return time.Unix(1_700_000_000+int64(i), 0).UTC().Format("15:04:05")
	}
	share := func(w *logText) float64 { return float64(w.n(10000)) / 100 }
	return []speedLog{
		{format: Mpstat, head: "Linux 6.1.0-13-amd64 (web1) \t11/14/23 \t_x86_64_\t(2 CPU)\n", part: func(w *logText, i int) {
			w.f("\n%s     CPU    %%usr   %%nice    %%sys %%iowait    %%irq   %%soft  %%steal  %%guest  %%gnice   %%idle\n", clock(2*i))
			for _, cpu := range []string{"all", "0", "1"} {
				w.f("%s     %3s  %6.2f    0.00  %6.2f  %6.2f    0.00    0.00    0.00    0.00    0.00  %6.2f\n", clock(2*i+1), cpu, share(w), share(w), share(w), share(w))
			}
		}},
		{format: MpstatJSON, head: "{\"sysstat\": {\n\"hosts\": [\n{\n\"nodename\": \"web1\",\n\"date\": \"11/14/23\",\n\"statistics\": [\n", foot: "{}]}]}}\n", part: func(w *logText, i int) {
			w.f("{\n\"timestamp\": %q,\n\"cpu-load\": [\n", clock(i))
			w.f("{\"cpu\": \"all\", \"usr\": %.2f, \"nice\": 0.00, \"sys\": %.2f, \"iowait\": %.2f, \"idle\": %.2f},\n", share(w), share(w), share(w), share(w))
			w.f("{\"cpu\": \"0\", \"usr\": %.2f, \"nice\": 0.00, \"sys\": %.2f, \"iowait\": %.2f, \"idle\": %.2f}\n]\n},\n", share(w), share(w), share(w), share(w))
		}},
		{format: CgroupIOMax, part: func(w *logText, i int) {
			w.f("# %d\n8:%d rbps=%d wbps=max riops=%d wiops=max\n", 1_700_000_000+i, w.n(16), 1<<20+w.n(1<<30), 1+w.n(9999))
		}},
		{format: ProcVmstat, part: func(w *logText, i int) {
			w.f("# %d\nnr_free_pages %d\nnr_dirty %d\nnr_writeback %d\npgpgin %d\npgpgout %d\npgfault %d\npgmajfault %d\n",
				1_700_000_000+i, w.n(1<<24), w.n(1<<20), w.n(1<<14), 4334000+i*w.n(1000), 1<<33+i, 1<<40+i, 1<<20+i)
		}},
		{format: Vmstat, head: " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC\n" +
			" 1  0      0 13127020 456268 7073412    0    0  4334  6179 2163 4533 69 11 19  1  0 2023-11-14 22:13:20\n", part: func(w *logText, i int) {
			w.f("%2d %2d      0 %8d 456268 7073412    0    0 %5d %5d %4d %4d %2d %2d %2d %2d  0 2023-11-14 %s\n",
				w.n(30), w.n(9), w.n(1<<24), w.n(99999), w.n(99999), w.n(9999), w.n(9999), w.n(50), w.n(20), w.n(20), w.n(10), clock(i%86400))
		}},
		{format: Numastat, part: func(w *logText, i int) {
			w.f("# %d\n                           node0           node1\n", 1_700_000_000+i)
			for _, name := range []string{"numa_hit", "numa_miss", "numa_foreign", "interleave_hit", "local_node", "other_node"} {
				w.f("%-16s %15d %15d\n", name, 1<<30+i*w.n(999), 1<<20+i*w.n(99))
			}
		}},
		{format: Lspci, part: func(w *logText, i int) {
			w.f("%02x:00.0 Non-Volatile memory controller: Example NVMe SSD Controller (prog-if 02 [NVM Express])\n\tControl: I/O- Mem+ BusMaster+\n", i%200)
			w.f("\tNUMA node: %d\n\tCapabilities: [70] Express (v2) Endpoint, MSI 00\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM L1\n", i%2)
			w.f("\t\tLnkCtl:\tASPM L1 Enabled; RCB 64 bytes, Disabled- CommClk+\n\t\tLnkSta:\tSpeed 16GT/s, Width x4\n")
		}},
		{format: NvidiaFS, part: func(w *logText, i int) {
			w.f("# %d\nGDS Version: 1.7.2.10\nNVFS statistics(ver: 4.0)\n", 1_700_000_000+i)
			w.f("Reads\t\t\t\t: err=%d io_state_err=0\nMmap\t\t\t\t: n=%d ok=%d err=0 munmap=2\nOps\t\t\t\t: Read=%d Write=%d BatchIO=0\n", i/100, i, i, i*w.n(99), i*w.n(99))
		}},
		{format: NvidiaDmon, head: "# gpu    pwr  gtemp  mtemp     sm    mem  rxpci  txpci\n# Idx      W      C      C      %      %   MB/s   MB/s\n", part: func(w *logText, i int) {
			w.f("%5d %6d %6d      - %6d %6d %6d %6d\n", i%8, w.n(400), w.n(90), w.n(100), w.n(100), w.n(20000), w.n(20000))
		}},
	}
}
