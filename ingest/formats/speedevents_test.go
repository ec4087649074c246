package formats

import "fmt"

func speedLogs() []speedLog { return append(append(speedEvents(), speedSeries()...), speedHosts()...) }

func speedEvents() []speedLog {
	return append(speedCalls(), []speedLog{
		{format: Alibaba, part: func(w *logText, _ int) {
			w.f("%d,%s,%d,%d,%d\n", w.n(900), w.of("R", "W"), w.sector()*512, w.size(), 1577808000000663+w.step()/1000)
		}},
		{format: Biosnoop, shape: "bcc", head: "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  QUE(ms) LAT(ms)\n", part: func(w *logText, _ int) {
			w.f("%-11.6f %-14s %-7d %-9s %s %-10d %-7d %7.2f %7.2f\n", float64(w.step())/1e9, w.comm(), w.n(99999), w.of("sda", "nvme0n1"), w.of("R", "W"), w.sector(), w.size(), float64(w.n(20))/100, float64(w.n(3000))/100)
		}},
		{format: Biosnoop, shape: "libbpf", head: "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)\n", part: func(w *logText, _ int) {
			w.f("%-11.6f %-14.14s %-7d %-7s %-4s %-10d %-7d %7.3f %7.3f\n", float64(w.step())/1e9, w.comm(), w.n(99999), w.of("sda", "nvme0n1"), w.of("R", "WS", "W", "RM"), w.sector(), w.size(), float64(w.n(900))/1000, float64(w.n(30000))/1000)
		}},
		{format: BiosnoopBT, head: "Attached 4 probes\nTIME(ms)     DISK ID        COMM             PID    LAT(ms)\n             MAJOR MINOR\n", part: func(w *logText, i int) {
			w.f("%-12d %-6d %-5d %-16s %-6d %7d\n", i/3, 8, w.n(9), w.comm(), w.n(99999), w.n(40))
		}},
		{format: Blkparse, part: blkparseIO},
		{format: CloudPhysics, head: "version,time,op,size,lbn\n", part: func(w *logText, i int) {
			w.f("1,%d,%s,%d,%d\n", 5000000+i/50, w.of("2a", "28", "88", "8a"), w.size(), w.sector())
		}},
		{format: Cydonia, part: func(w *logText, _ int) {
			w.f("%d,%d,%s,%d\n", w.step()/1000, w.sector(), w.of("r", "w"), w.size())
		}},
		{format: EventCSV, head: "time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error\n", part: func(w *logText, _ int) {
			w.f("%d,n%d,%s,%d,%s,%s,%s,%d,%d,%d,%d,0\n", 1790000000125355206+w.step(), w.n(2), w.of("nvme0n1", "sda", "sdb"), w.n(99999), w.comm(), w.of("R", "W"), w.of("", "S", "SM"), w.sector()*512, w.size(), w.n(9e5), 9e5+w.n(9e6))
		}},
		{format: FioLog, path: "a_lat.1.log", part: func(w *logText, _ int) {
			w.f("%d, %d, %d, %d, %d, 0\n", w.step()/1e6, 1000+w.n(9e6), w.n(2), w.size(), w.sector()*512)
		}},
		{format: FIU, part: func(w *logText, _ int) {
			w.f("%d %d %s %d %d %s 8 0 %016x%016x\n", w.step(), w.n(99999), w.comm(), w.sector(), 8<<w.n(5), w.of("R", "W"), w.r.Uint64(), w.r.Uint64())
		}},
		{format: FSSlower, shape: "table", head: "Tracing xfs operations slower than 1 ms\nTIME     COMM           PID    T BYTES   OFF_KB   LAT(ms) FILENAME\n", part: func(w *logText, i int) {
			w.f("%s %-14.14s %-6d %s %-7d %-8d %7.2f %s\n", dayTime(i/100), w.comm(), w.n(99999), w.of("R", "W"), w.size(), w.n(1e6), float64(100+w.n(9000))/100, w.of("a b.txt", "data.db", "x"))
		}},
		{format: FSSlower, shape: "csv", head: "Tracing xfs operations slower than 1 ms\nENDTIME_us,TASK,PID,TYPE,BYTES,OFFSET_b,LATENCY_us,FILE\n", part: func(w *logText, _ int) {
			w.f("%d,%s,%d,%s,%d,%d,%d,%s\n", 127200712278+w.step()/1000, w.comm(), w.n(99999), w.of("R", "W"), w.size(), w.n(1e9), 1000+w.n(1e5), w.of("a b.txt", "data.db", "x"))
		}},
		{format: MappedCSV, mapping: mappedTable, head: "Timestamp,Hostname,LUN,Op,Offset (sectors),Blocks,Latency (us),Tier\n", part: func(w *logText, _ int) {
			w.f("%d,array%d.example.org,vol-%04d,%s,%d,%d,%.1f,ssd\n", 1700000000000000+w.step()/1000, w.n(2), w.n(40), w.of("Read", "Write"), w.sector(), 8<<w.n(5), float64(w.n(90000))/10)
		}},
		{format: MappedJSON, mapping: mappedObjects, part: func(w *logText, _ int) {
			w.f("{\"time\": %d, \"host\": \"array%d\", \"io\": {\"volume\": \"vol-%04d\", \"op\": \"%s\", \"offset\": %d, \"bytes\": %d, \"latency_us\": %.1f}, \"tier\": \"ssd\"}\n",
				1700000000000000+w.step()/1000, w.n(2), w.n(40), w.of("read", "write"), w.sector()*512, w.size(), float64(w.n(90000))/10)
		}},
		{format: MQSim, part: func(w *logText, _ int) {
			w.f("%d %d %d %d %d\n", 900040698+w.step(), w.n(16), w.sector(), 8<<w.n(5), w.n(2))
		}},
		{format: MSR, part: msrRow},
		{format: SPC, part: func(w *logText, _ int) {
			w.f("%d,%d,%d,%s,%.6f\n", w.n(24), w.sector(), w.size(), w.of("R", "W", "r", "w"), float64(w.step())/1e9)
		}},
		{format: Systor, head: "Timestamp,Response,IOType,LUN,Offset,Size\n", part: func(w *logText, _ int) {
			ns := 1456000000e9 + w.step()
			w.f("%d.%09d,0.%09d,%s,%d,%d,%d\n", ns/1e9, ns%1e9, w.n(1e8), w.of("R", "W"), w.n(6), w.sector()*512, w.size())
		}},
		{format: Tencent, part: func(w *logText, i int) {
			w.f("%d,%d,%d,%d,%d\n", 1538323200+i/400, w.sector()+1, 8<<w.n(5), w.n(2), 1000+w.n(999))
		}},
		{format: Ftrace, part: func(w *logText, _ int) { tracedIO(w, "%16s-%-7d [%03d] %s %5d.%06d: %s: ", "ftrace") }},
		{format: TraceCmd, head: "cpus=2\n", part: func(w *logText, _ int) { tracedIO(w, "%16s-%-5d [%03d] %s %5d.%06d: %s: ", "trace-cmd") }},
		{format: PerfScript, part: func(w *logText, _ int) { tracedIO(w, "%16s %5d [%03d] %s%5d.%06d: block:%s: ", "perf") }},
	}...)
}

// dayTime is a second of a day.
func dayTime(i int) string { i %= 86400; return fmt.Sprintf("%02d:%02d:%02d", i/3600, i/60%60, i%60) }

// msrRow is a line of MSR Cambridge's traces: 50 disks, offsets of which six in
// ten are random, a latency of a wide spread.
func msrRow(w *logText, _ int) {
	w.f("%d,%s,%d,%s,%d,%d,%d\n", 128166372003061629+w.step()/100, w.of("hm", "mds", "prn", "proj", "prxy", "rsrch", "src1", "src2", "stg", "web"), w.n(5),
		w.of("Read", "Write"), w.sector()*512, w.size(), 100<<w.n(14)+w.n(100))
}

// blkparseIO is the lines of an I/O in blkparse's layout, a quarter of them
// merged from two bios, with another's completion between its own lines.
func blkparseIO(w *logText, i int) {
	line := func(action, rwbs string, sector, sectors int64, tail string) {
		ns := w.step()
		w.f("%3d,%-3d %2d %8d %5d.%09d %5d %2s %3s %d + %d [%s]\n", 8, 16*(i%4), w.n(8), 1+w.n(1e6), ns/1e9, ns%1e9, 1000+w.n(40), action, rwbs, sector, sectors, tail)
	}
	rwbs, comm := []string{"R", "RA", "WS", "W"}[i%4], w.comm()
	sector, sectors := int64(i)*4096, int64(8<<(i%5))
	line("Q", rwbs, sector, sectors, comm)
	line("G", rwbs, sector, sectors, comm)
	if i%4 == 0 {
		line("Q", rwbs, sector+sectors, 8, comm)
		line("M", rwbs, sector+sectors, 8, comm)
		sectors += 8
	}
	line("I", rwbs, sector, sectors, comm)
	line("D", rwbs, sector, sectors, "kworker/3:1H")
	if k := int64(i - 8); k >= 0 { // the depth
		rwbs, sectors := []string{"R", "RA", "WS", "W"}[k%4], int64(8<<(k%5))
		if k%4 == 0 {
			sectors += 8
		}
		line("C", rwbs, k*4096, sectors, "0")
	}
}

// tracedIO is three events of an I/O as the kernel's tracer tells them.
func tracedIO(w *logText, head, tool string) {
	comm, pid, cpu, sector := w.of("fio", "iowork", "db main", "jbd2/sda1-8"), 100+w.n(32000), w.n(8), w.sector()
	line := func(comm string, pid int, event, text string) {
		us := w.step() / 1000
		flags := map[string]string{"ftrace": ".....", "trace-cmd": "....."}[tool]
		w.f(head, comm, pid, cpu, flags, 1437+us/1e6, us%1e6, event)
		w.WriteString(text + "\n")
	}
	sectors := 8 << w.n(5)
	rwbs := w.of("RS", "WS", "R", "W", "RA")
	line(comm, pid, "block_bio_queue", fmt.Sprintf("7,0 %s %d + %d [%s]", rwbs, sector, sectors, comm))
	line(comm, pid, "block_rq_issue", fmt.Sprintf("7,0 %s %d () %d + %d be,0,4 [%s]", rwbs, sectors*512, sector, sectors, comm))
	line("ksoftirqd/1", 22, "block_rq_complete", fmt.Sprintf("7,0 %s () %d + %d be,0,4 [0]", rwbs, sector, sectors))
}

const (
	mappedTable   = `{"Name":"plain","Layout":"csv","Header":["Offset (sectors)"],"LatencyKind":"d2c","Time":{"Column":"Timestamp","Unit":"us"},"Fields":{"host":{"Column":"Hostname"},"device":{"Column":"LUN"},"op":{"Column":"Op"},"offset":{"Column":"Offset (sectors)","Unit":"sectors"},"size":{"Column":"Blocks","Unit":"sectors"},"latency":{"Column":"Latency (us)","Unit":"us"}}}`
	mappedObjects = `{"Name":"plain","Layout":"jsonl","Header":["io.latency_us"],"LatencyKind":"d2c","Time":{"Column":"time","Unit":"us"},"Fields":{"host":{"Column":"host"},"device":{"Column":"io.volume"},"op":{"Column":"io.op"},"offset":{"Column":"io.offset"},"size":{"Column":"io.bytes"},"latency":{"Column":"io.latency_us","Unit":"us"}}}`
)
