package formats

import (
	"fmt"
	"strings"
)

// speedDevices is how many devices a series holds.
const speedDevices = 12

func eachDevice(line func(d int)) {
	for d := range speedDevices {
		line(d)
	}
}

// interval is that of a report, in seconds: whole hundredths about a second, as
// sysstat counts it, so that rates have two decimals of all kinds.
func interval(w *logText) float64 { return float64(100+w.n(4)) / 100 }

// speedSeries are series of counters and rates, and evidence.
func speedSeries() []speedLog {
	const iostatHead = "Linux 5.14.0-70.el9.x86_64 (n07) \t2026-11-29 \t_x86_64_\t(8 CPU)\n\n"
	return append(speedEvidence(), []speedLog{
		{format: FioRates, path: "a_bw.1.log", part: func(w *logText, i int) {
			w.f("%d, %d, 0, 0, 0\n%d, %d, 1, 0, 0\n", 500*(i+1), w.n(1<<21), 500*(i+1), w.n(1<<21))
		}},
		{format: Diskstats, part: func(w *logText, i int) {
			w.f("# %d.305930349\n", 1_700_000_000+i)
			eachDevice(func(d int) {
				w.f("   8 %7d sd%c %d 10 %d %d %d 20 %d %d 0 %d %d 35 26 872228 10 %d 45\n", d*16, 'a'+d, 254637+i*100, 1003346126+i*800,
					18492372+i*30, 284447+i*50, 505697032+i*400, 63877960+i*12, 9653880+i*300, 82621804+i*50, 90+i)
			})
		}},
		{format: CgroupIO, part: func(w *logText, i int) {
			w.f("# %d\n", 1_700_000_000+i)
			eachDevice(func(d int) {
				w.f("254:%d rbytes=%d wbytes=%d rios=%d wios=%d dbytes=0 dios=0\n", d, 598016+i*4096, 227002702848000+i*65536, 146+i, 124342581+i)
			})
		}},
		{format: Iostat, shape: "x", head: iostatHead, part: func(w *logText, i int) {
			t := interval(w)
			w.f("2026-11-29T%s+0000\navg-cpu:  %%user   %%nice %%system %%iowait  %%steal   %%idle\n           5.14    0.00    1.22    0.87    0.00   92.77\n\n", dayTime(i))
			w.f("Device         r/s   rkB/s  rrqm/s   %%rrqm r_await rareq-sz     w/s   wkB/s  wrqm/s   %%wrqm w_await wareq-sz     d/s   dkB/s  drqm/s   %%drqm d_await dareq-sz     f/s f_await  aqu-sz   %%util\n")
			eachDevice(func(d int) {
				r, v := float64(w.n(900))/t, float64(w.n(300))/t
				w.f("sd%c        %7.2f %7.2f    0.00    0.00    0.%02d     4.00 %7.2f %7.2f    0.00    0.00    2.%02d    16.00    0.00    0.00    0.00    0.00    0.00     0.00 %7.2f    0.67    0.%02d   %2d.%02d\n",
					'a'+d, r, 4*r, w.n(100), v, 16*v, w.n(100), 3/t, w.n(100), w.n(100), w.n(100))
			})
			w.WriteString("\n")
		}},
		{format: Iostat, shape: "d", head: iostatHead, part: func(w *logText, i int) {
			t := interval(w)
			w.f("2026-11-29T%s+0000\nDevice             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd\n", dayTime(i))
			eachDevice(func(d int) {
				r, v := w.n(900), w.n(300)
				w.f("nvme%dn1      %8.2f %11.2f %12.2f         0.00 %10d %10d          0\n", d, float64(r+v)/t, float64(4*r)/t, float64(16*v)/t, 4*r, 16*v)
			})
			w.WriteString("\n")
		}},
		{format: IostatJSON, head: "{\"sysstat\": {\n\t\"hosts\": [\n\t\t{\n\t\t\t\"nodename\": \"n07\",\n\t\t\t\"sysname\": \"Linux\",\n\t\t\t\"release\": \"6.1\",\n\t\t\t\"machine\": \"x86_64\",\n\t\t\t\"number-of-cpus\": 8,\n\t\t\t\"date\": \"2026-11-29\",\n\t\t\t\"statistics\": [\n", part: func(w *logText, i int) {
			t := interval(w)
			if i > 0 {
				w.WriteString(",\n")
			}
			w.f("\t\t\t\t{\n\t\t\t\t\t\"timestamp\": \"2026-11-29T%s+0000\",\n\t\t\t\t\t\"avg-cpu\":  {\"user\": 1.00, \"nice\": 0.00, \"system\": 0.40, \"iowait\": 0.10, \"steal\": 0.00, \"idle\": 98.50},\n\t\t\t\t\t\"disk\": [\n", dayTime(i))
			eachDevice(func(d int) {
				r, v := float64(w.n(900))/t, float64(w.n(300))/t
				w.f("\t\t\t\t\t\t{\"disk_device\": \"sd%c\", \"r/s\": %.2f, \"w/s\": %.2f, \"d/s\": 0.00, \"f/s\": 0.00, \"rkB/s\": %.2f, \"wkB/s\": %.2f, \"dkB/s\": 0.00, \"rrqm/s\": 0.00, \"wrqm/s\": 0.00, \"drqm/s\": 0.00, \"rrqm\": 0.00, \"wrqm\": 0.00, \"drqm\": 0.00, \"r_await\": 0.%02d, \"w_await\": 2.%02d, \"d_await\": 0.00, \"f_await\": 0.67, \"rareq-sz\": 4.00, \"wareq-sz\": 16.00, \"dareq-sz\": 0.00, \"aqu-sz\": 0.%02d, \"util\": %d.90}%s\n",
					'a'+d, r, v, 4*r, 16*v, w.n(100), w.n(100), w.n(100), w.n(100), commaUnless(d == speedDevices-1))
			})
			w.WriteString("\t\t\t\t\t]\n\t\t\t\t}")
		}, foot: "\n\t\t\t]\n\t\t}\n\t]\n}}\n"},
		{format: Sar, head: "Linux 6.1.0 (vm) \t2026-11-29 \t_x86_64_\t(2 CPU)\n\n", part: func(w *logText, i int) {
			t := interval(w)
			if i%20 == 0 {
				w.f("\n%s          tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %%util DEV\n", dayTime(i))
			}
			eachDevice(func(d int) {
				n := float64(w.n(900)) / t
				w.f("%s %12.2f %9.2f      0.00      0.00      4.00      0.%02d      0.37     %2d.80 loop%d\n", dayTime(i+1), n, 4*n, w.n(100), w.n(100), d)
			})
		}},
		{format: SadfCSV, shape: "d", head: "# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util\n", part: func(w *logText, i int) {
			t := interval(w)
			eachDevice(func(d int) {
				n := float64(w.n(900)) / t
				w.f("vm;1;2026-11-29 %s UTC;loop%d;%.2f;%.2f;0.00;0.00;4.00;0.%02d;0.37;%d.80\n", dayTime(i), d, n, 4*n, w.n(100), w.n(100))
			})
		}},
		{format: SadfCSV, shape: "p", part: func(w *logText, i int) {
			t := interval(w)
			eachDevice(func(d int) {
				n := float64(w.n(900)) / t
				for _, c := range []struct {
					name  string
					value float64
				}{{"tps", n}, {"rkB/s", 4 * n}, {"wkB/s", 0}, {"dkB/s", 0}, {"areq-sz", 4}, {"aqu-sz", 0.1}, {"await", 0.37}, {"%util", float64(w.n(100))}} {
					w.f("vm\t1\t%d\tloop%d\t%s\t%.2f\n", 1795954829+i, d, c.name, c.value)
				}
			})
		}},
		{format: SadfJSON, head: "{\"sysstat\": {\"hosts\": [{\"nodename\": \"vm\", \"file-date\": \"2026-11-29\", \"statistics\": [\n", part: func(w *logText, i int) {
			w.f("\t{\n\t\t\"timestamp\": {\"date\": \"2026-11-29\", \"time\": \"%s\", \"utc\": 1, \"interval\": 1},\n\t\t\"disk\": [\n", dayTime(i))
			t := interval(w)
			eachDevice(func(d int) {
				n := float64(w.n(900)) / t
				w.f("\t\t\t{\"disk-device\": \"loop%d\", \"tps\": %.2f, \"rd_sec\": %.2f, \"wr_sec\": 0.00, \"rkB\": 4.00, \"wkB\": 0.00, \"avgrq-sz\": 8.00, \"aqu-sz\": 0.%02d, \"await\": 0.50, \"util-percent\": 18.00},\n", d, n, 8*n, w.n(100))
			})
			w.WriteString("\t\t]\n\t},\n")
		}},
		{format: Prometheus, part: func(w *logText, i int) {
			w.f("# %d\n", 1_700_000_000+15*i)
			for k, name := range []string{"reads_completed_total", "read_bytes_total", "read_time_seconds_total", "writes_completed_total", "io_time_seconds_total"} {
				w.f("# HELP node_disk_%s What it counts.\n# TYPE node_disk_%s counter\n", name, name)
				eachDevice(func(d int) { w.f("node_disk_%s{device=\"sd%c\"} %d\n", name, 'a'+d, 7000+(k+1)*i*10) })
			}
			for c := range 16 {
				w.f("node_cpu_seconds_total{cpu=\"%d\",mode=\"%s\"} %d.%02d\n", c, w.of("idle", "user", "iowait"), 7000+i, w.n(100))
			}
		}},
		{format: PrometheusJSON, head: `{"status":"success","data":{"resultType":"matrix","result":[`, part: func(w *logText, i int) {
			for k, name := range []string{"reads_completed_total", "read_bytes_total", "io_time_seconds_total"} {
				w.f(`{"metric":{"__name__":"node_disk_%s","device":"sd%d","instance":"h:9100"},"values":[`, name, i)
				for j := range 600 {
					w.f(`[%d,"%d"],`, 1_700_000_000+15*j, (k+1)*j*10)
				}
				w.WriteString("]},")
			}
		}, foot: "]}}\n"},
	}...)
}

func speedEvidence() []speedLog {
	return []speedLog{
		{format: PSI, part: func(w *logText, i int) {
			w.f("# %d.%09d\nsome avg10=%d.%02d avg60=0.10 avg300=0.00 total=%d\nfull avg10=0.%02d avg60=0.10 avg300=0.00 total=%d\n", 1_700_000_000+i, w.n(1e9), w.n(90), w.n(100), 13486546+i*5000, w.n(100), 2522120+i*900)
		}},
		{format: CounterLog, shape: "csv", head: "time,host,device,name,value\n", part: func(w *logText, i int) {
			w.f("%d.%03d,web%d,%s,%s,%d\n", 1_700_000_000+i/40, i%40*25, w.n(4), w.of("nvme0n1", "sda", ""), w.of("link_errors", "pgmajfault", "iowait_share"), w.n(1<<w.n(30)))
		}},
		{format: CounterLog, shape: "lines", part: func(w *logText, i int) {
			w.f("{\"time\":%d.%03d,\"host\":\"web%d\",\"device\":\"%s\",\"name\":\"%s\",\"value\":%d.%02d}\n", 1_700_000_000+i/40, i%40*25, w.n(4), w.of("nvme0n1", "sda"), w.of("link_errors", "pgmajfault", "iowait_share"), w.n(1<<w.n(20)), w.n(100))
		}},
		{format: Biolatency, shape: "bcc", head: "Tracing block device I/O... Hit Ctrl-C to end.\n", part: func(w *logText, i int) {
			w.f("\n%s\n\ndisk = 'sd%c'\n     usecs               : count     distribution\n", dayTime(i), 'a'+i%4)
			for b := 1; b < 1<<14; b *= 2 {
				w.f("%10d -> %-10d : %-8d |%-40s|\n", b&^1, 2*b-1, w.n(4000), strings.Repeat("*", w.n(41)))
			}
		}},
		{format: Biolatency, shape: "bpftrace", head: "Attached 3 probes\nTracing block device I/O... Hit Ctrl-C to end.\n^C\n", part: func(w *logText, i int) {
			w.f("\n@usecs[sd%c]:\n", 'a'+i%26)
			for b := 1; b < 1024; b *= 2 {
				w.f("%-16s%9d |%-52s|\n", fmt.Sprintf("[%d, %d)", b, 2*b), w.n(4000), strings.Repeat("@", w.n(53)))
			}
		}},
		{format: Dmesg, head: "[    0.000000] Linux version 6.1.0 (builder@example) #1 SMP\n", part: func(w *logText, i int) {
			w.f("[%5d.%06d] ", 400+i/50, i%50*20000)
			switch w.n(6) {
			case 0:
				w.f("I/O error, dev sd%c, sector %d op 0x0:(READ) flags 0x80700 phys_seg 4 prio class 2\n", 'a'+w.n(12), w.sector())
			case 1:
				w.f("sd 1:0:0:0: [sd%c] tag#4 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_OK cmd_age=3s\n", 'a'+w.n(12))
			case 2:
				w.f("nvme nvme0: I/O %d QID 4 timeout, aborting\n", w.n(1000))
			default:
				w.f("IPv6: ADDRCONF(NETDEV_CHANGE): eth%d: link becomes ready\n", w.n(9))
			}
		}},
		{format: Smartctl, part: func(w *logText, i int) {
			w.f("{\n  \"json_format_version\": [\n    1,\n    0\n  ],\n  \"device\": {\n    \"name\": \"/dev/sd%c\",\n    \"type\": \"sat\",\n    \"protocol\": \"ATA\"\n  },\n  \"model_name\": \"Example 1T\",\n  \"local_time\": {\n    \"time_t\": %d\n  },\n  \"ata_smart_attributes\": {\n    \"table\": [\n", 'a'+i%12, 1_700_000_000+i*60)
			for k, name := range []string{"Reallocated_Sector_Ct", "Current_Pending_Sector", "UDMA_CRC_Error_Count", "Power_On_Hours"} {
				w.f("      {\n        \"id\": %d,\n        \"name\": \"%s\",\n        \"value\": %d,\n        \"worst\": 99,\n        \"thresh\": 10,\n        \"when_failed\": \"\",\n        \"flags\": {\n          \"value\": 51,\n          \"string\": \"PO--CK \",\n          \"prefailure\": true\n        },\n        \"raw\": {\n          \"value\": %d,\n          \"string\": \"%d\"\n        }\n      }%s\n",
					[...]int{5, 197, 199, 9}[k], name, w.n(200), i, i, commaUnless(k == 3))
			}
			w.f("    ]\n  },\n  \"temperature\": {\n    \"current\": %d\n  }\n}\n", 30+w.n(20))
		}},
		{format: NVMeSmart, path: "nvme0n1.json", part: func(w *logText, i int) {
			w.f("# %d.5\n{\n  \"critical_warning\": 0,\n  \"temperature\": %d,\n  \"avail_spare\": 100,\n  \"spare_thresh\": 10,\n  \"percent_used\": 2,\n  \"data_units_read\": %d,\n  \"data_units_written\": %d,\n  \"host_read_commands\": %d,\n  \"host_write_commands\": 88,\n  \"controller_busy_time\": 9,\n  \"power_cycles\": 1,\n  \"power_on_hours\": %d,\n  \"unsafe_shutdowns\": 3,\n  \"media_errors\": 0,\n  \"num_err_log_entries\": 4,\n  \"warning_temp_time\": 0,\n  \"temperature_sensor_1\": 310\n}\n",
				1_700_000_000+i*60, 300+w.n(20), 1234+i*20, 99999+i*40, 500000+i*99, i/60)
		}},
		{format: FioJSON, shape: "json", part: func(w *logText, i int) { fioReport(w, i, false) }},
		{format: FioJSON, shape: "json+", part: func(w *logText, i int) { fioReport(w, i, true) }},
	}
}

// fioReport is fio's report of four jobs; bins are the histograms of json+.
func fioReport(w *logText, i int, bins bool) {
	w.f("{\n  \"fio version\" : \"fio-3.33\",\n  \"timestamp\" : %d,\n  \"timestamp_ms\" : %d736,\n  \"time\" : \"Sun Nov 29 12:20:52 2026\",\n  \"global options\" : {\n    \"directory\" : \"/mnt\",\n    \"size\" : \"64m\"\n  },\n  \"jobs\" : [\n", 1_700_000_000+i, 1_700_000_000+i)
	for job := range 4 {
		w.f("    {\n      \"jobname\" : \"job%d\",\n      \"groupid\" : 0,\n      \"error\" : 0,\n      \"eta\" : 0,\n      \"elapsed\" : 23,\n      \"job options\" : {\n        \"rw\" : \"randread\",\n        \"bs\" : \"4k\",\n        \"filename\" : \"/dev/sd%c\"\n      },\n", job, 'a'+job)
		for _, dir := range []string{"read", "write", "trim"} {
			w.f("      \"%s\" : {\n        \"io_bytes\" : %d,\n        \"io_kbytes\" : %d,\n        \"bw_bytes\" : %d,\n        \"bw\" : 999,\n        \"iops\" : %d.958340,\n        \"runtime\" : 6001,\n        \"total_ios\" : %d,\n        \"short_ios\" : 0,\n        \"drop_ios\" : 0,\n", dir, w.n(1e9), w.n(1e6), w.n(1e7), w.n(9999), w.n(99999))
			for _, kind := range []string{"slat_ns", "clat_ns", "lat_ns"} {
				w.f("        \"%s\" : {\n          \"min\" : %d,\n          \"max\" : %d,\n          \"mean\" : %d.572000,\n          \"stddev\" : %d.033252,\n          \"N\" : 1500", kind, w.n(9999), w.n(1e9), w.n(1e7), w.n(1e7))
				if kind == "clat_ns" {
					w.WriteString(",\n          \"percentile\" : {\n")
					for k, p := range []string{"1.000000", "5.000000", "10.000000", "20.000000", "30.000000", "40.000000", "50.000000", "60.000000", "70.000000", "80.000000", "90.000000", "95.000000", "99.000000", "99.500000", "99.900000", "99.950000", "99.990000"} {
						w.f("            \"%s\" : %d%s\n", p, w.n(1e8), commaUnless(k == 16))
					}
					w.WriteString("          }")
					if bins {
						w.WriteString(",\n          \"bins\" : {\n")
						for k := range 200 {
							w.f("            \"%d\" : %d%s\n", 1128+k*32, 1+w.n(9), commaUnless(k == 199))
						}
						w.WriteString("          }")
					}
				}
				w.f("\n        }%s\n", commaUnless(kind == "lat_ns"))
			}
			w.WriteString("      },\n")
		}
		w.f("      \"job_runtime\" : 4000,\n      \"usr_cpu\" : 22.375000,\n      \"sys_cpu\" : 0.000000,\n      \"ctx\" : 669,\n      \"majf\" : 0,\n      \"minf\" : 61\n    }%s\n", commaUnless(job == 3))
	}
	w.WriteString("  ]\n}\n")
}

func commaUnless(last bool) string {
	if last {
		return ""
	}
	return ","
}
