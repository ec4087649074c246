package formats

import (
	"encoding/binary"
	"fmt"
)

// speedCalls are logs of programs' calls, and binary traces.
func speedCalls() []speedLog {
	return []speedLog{
		{format: Strace, part: func(w *logText, _ int) {
			us := w.step() / 1000
			head := fmt.Sprintf("%d %d.%06d ", 9000+w.n(4), 1700000200+us/1e6, us%1e6)
			fd := w.n(8)
			file, off, size := fmt.Sprintf("%d</srv/db/table%d>", 4+fd, fd), w.sector()*512, w.size()
			switch w.n(6) {
			case 0:
				w.f("%sfdatasync(%s) = 0 <0.%06d>\n", head, file, w.n(9000))
			case 1, 2:
				w.f("%spwrite64(%s, \"\\0\\1\\2page\\0\\1\\2page\\0\\1\\2page\\0\\1\\2page\"..., %d, %d) = %d <0.%06d>\n", head, file, size, off, size, w.n(9000))
			default:
				w.f("%spread64(%s, \"record_of_text__record_of_text__\"..., %d, %d) = %d <0.%06d>\n", head, file, size, off, size, w.n(9000))
			}
		}},
		{format: PerfTrace, part: func(w *logText, _ int) {
			size := w.size()
			line := fmt.Sprintf("%10.3f (%6.3f ms): %s/%d %s(fd: %d, buf: 0x7fff%08x, count: %d, pos: %d)", float64(w.step())/1e6, float64(w.n(9000))/1000,
				w.of("iowork", "db (x) y", "fio"), 880+w.n(9), w.of("pread64", "pwrite64"), 4+w.n(8), w.r.Uint32(), size, w.sector()*512)
			w.f("%-103s = %d\n", line, size)
		}},
		{format: Dftracer, head: "[\n{\"id\":1,\"name\":\"HH\",\"cat\":\"dftracer\",\"pid\":10,\"tid\":10,\"ph\":\"M\",\"args\":{\"name\":\"node9\",\"value\":9509357668201227806}}\n", part: func(w *logText, i int) {
			if i%50 == 0 {
				w.f("{\"id\":%d,\"name\":\"FH\",\"cat\":\"dftracer\",\"pid\":10,\"tid\":10,\"ph\":\"M\",\"args\":{\"name\":\"/data/img_%d_of_1024.npz\",\"value\":%d}}\n", i+2, i/50%999, uint64(1<<63)+uint64(i/50%999))
			}
			w.f("{\"id\":%d,\"name\":\"%s\",\"cat\":\"POSIX\",\"pid\":10,\"tid\":%d,\"ts\":%d,\"dur\":%d,\"ph\":\"X\",\"args\":{\"hhash\":9509357668201227806,\"p_idx\":-1,\"level\":1,\"count\":%d,\"ret\":%d,\"fhash\":%d,\"fd\":%d}}\n",
				i+3, w.of("read", "write", "pread64", "__xstat"), 10+w.n(8), 1700000000000100+w.step()/1000, w.n(900), w.size(), w.size(), uint64(1<<63)+uint64(i/50%999), 4+w.n(30))
		}},
		{format: Darshan, head: darshanHead, part: func(w *logText, i int) {
			counter := [...]string{"POSIX_OPENS", "POSIX_READS", "POSIX_WRITES", "POSIX_BYTES_READ", "POSIX_BYTES_WRITTEN", "POSIX_SIZE_READ_100K_1M", "POSIX_SEQ_READS", "POSIX_RW_SWITCHES"}[i%9%8]
			if i%9 == 8 {
				w.f("POSIX\t%d\t%d\tPOSIX_F_READ_TIME\t%d.%06d\t/scratch/run/out%d.h5\t/scratch\tlustre\n", i/900, 15920181672442173319-uint64(i/9%100), w.n(90), w.n(1e6), i/9%100)
				return
			}
			w.f("POSIX\t%d\t%d\t%s\t%d\t/scratch/run/out%d.h5\t/scratch\tlustre\n", i/900, 15920181672442173319-uint64(i/9%100), counter, w.n(1<<w.n(30)), i/9%100)
		}},
		{format: DarshanDXT, head: darshanHead, part: func(w *logText, i int) {
			if i%1000 == 0 {
				w.f("\n# DXT, file_id: %d, file_name: /scratch/run/out%d.h5\n# DXT, rank: %d, hostname: node%d\n# DXT, number of threads: 1\n# DXT, write_count: 500, read_count: 500\n# DXT, mnt_pt: /scratch, fs_type: lustre\n", 6404389318180665914+uint64(i), i/1000, i/1000, i/8000)
				w.f("# Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)   Pthread-ID\n")
			}
			start := w.step() / 100_000
			end := start + w.r.Int64N(20)
			w.f(" X_POSIX  %6d  %5s  %7d  %14d  %14d  %10s  %10s   140218779280960\n", i/1000, w.of("write", "read"), i%1000, w.sector()*512, w.size(), tenthMS(start), tenthMS(end))
		}},
		{format: Blktrace, part: func(w *logText, i int) {
			rec := func(action uint64, sector, bytes int) {
				w.Write(blkBytes(blkLayout{version: 7}, blkRaw{time: uint64(w.step()), sector: uint64(sector), bytes: uint32(bytes), action: action, pid: uint32(1000 + i%40), dev: blkSDB}))
			}
			sector, bytes := i*4096, 4096<<(i%5)
			rec(rawQ, sector, bytes)
			rec(rawG, sector, bytes)
			rec(rawD, sector, bytes)
			if k := i - 8; k >= 0 {
				rec(rawC, k*4096, 4096<<(k%5))
			}
		}},
		{format: VSCSI, path: "w01.vscsi", part: func(w *logText, i int) {
			var b [40]byte
			binary.LittleEndian.PutUint16(b[0:], [...]uint16{0x28, 0x2a, 0x88, 0x8a}[w.n(4)])
			binary.LittleEndian.PutUint16(b[2:], 0x0200)
			binary.LittleEndian.PutUint32(b[4:], uint32(i))
			binary.LittleEndian.PutUint32(b[8:], uint32(w.size()))
			binary.LittleEndian.PutUint32(b[12:], 1)
			binary.LittleEndian.PutUint64(b[16:], uint64(w.sector()))
			binary.LittleEndian.PutUint64(b[24:], uint64(w.step()/1000))
			binary.LittleEndian.PutUint64(b[32:], uint64(w.n(9000)))
			w.Write(b[:])
		}},
	}
}

func tenthMS(v int64) string { return fmt.Sprintf("%d.%04d", v/1e4, v%1e4) }

const darshanHead = `# darshan log version: 3.41
# compression method: ZLIB
# exe: ./solver -n 2
# uid: 1000
# jobid: 77
# start_time: 1700000000
# start_time_asci: Tue Nov 14 22:13:20 2023
# end_time: 1700009012
# end_time_asci: Wed Nov 15 00:43:32 2023
# nprocs: 2
# run time: 9011.2500
# metadata: lib_ver = 3.4.4
# mount entry:	/scratch	lustre
# mount entry:	/	ext4
`
