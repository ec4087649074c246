//go:build unix

package lake

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// BenchmarkYears reads the manifests of a lake after years of nights that each read 20
// logs of 10 hosts, with what retention leaves by default: rows of 14 days, ticks of 90,
// windows and labels of 400, and every log that was ever read. A night does so some ten
// times. ms_cpu is processor time: it holds on a busy machine, too.
func BenchmarkYears(b *testing.B) {
	const hosts, logs = 10, 20
	start := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, years := range []int{1, 3} {
		b.Run(fmt.Sprintf("years=%d", years), func(b *testing.B) {
			dir := b.TempDir()
			lock, err := NewLock(dir)
			if err != nil {
				b.Fatal(err)
			}
			defer lock.Close()
			nights := 365 * years
			m := Manifest{Run: "folded-000000001", Version: "test", Folded: true}
			part := func(table string, day, host int, input string) Part {
				name := PartName{Table: table, Date: start.AddDate(0, 0, day).Format(time.DateOnly), Host: fmt.Sprintf("db%02d", host), Input: input}
				return Part{Path: name.Path(), Rows: 8640, Bytes: 1 << 20, Blocks: []string{fmt.Sprintf("%064x", day*100+host)}, FirstDevice: "sda", LastDevice: "sdz", FirstNS: 1, LastNS: 2}
			}
			for day := range nights {
				for i := range logs {
					id := fmt.Sprintf("%032x", day*1000+i)
					in := Input{ID: id, HeadBytes: 65536, SeenID: id, SeenBytes: 65536, Path: fmt.Sprintf("/var/log/io/host=db%02d/%d.blkparse.%d.gz", i%hosts, day, i), Format: "blkparse", Bytes: 1 << 30, CompressedBytes: 1 << 27, NewBytes: 1 << 30,
						Chunks: 16, FirstNS: 1, LastNS: 2, Tally: []byte(`{"lines":1000000,"event_lines":1000000,"merged_lines":0,"notes":0,"duplicate_lines":0,"rejects":null,"unpaired":null}`), Clock: []byte(`{"base":"epoch"}`)}
					if day >= nights-15 {
						in.Parts = append(in.Parts, part(Events, day, i%hosts, id))
					} else {
						in.Gone = &Gone{Parts: 16, EventRows: 1_000_000}
					}
					m.Inputs = append(m.Inputs, in)
				}
				for host := range hosts {
					if day >= nights-90 {
						m.Parts = append(m.Parts, part(Ticks, day, host, "ticks"), part(Profiles, day, host, "profiles"))
					}
					if day >= nights-400 {
						m.Parts = append(m.Parts, part(Windows, day, host, "windows"), part(Labels, day, host, "labels"), part(Baselines, day, host, "baselines"))
						m.Cells = append(m.Cells, Cell{Host: fmt.Sprintf("db%02d", host), Date: start.AddDate(0, 0, day).Format(time.DateOnly), Of: fmt.Sprintf("%032x", day), WindowNS: 1e10, TickNS: 1e8})
						m.Judged = append(m.Judged, Judged{Day{fmt.Sprintf("db%02d", host), start.AddDate(0, 0, day).Format(time.DateOnly)}, fmt.Sprintf("%032x", day)})
					}
				}
			}
			if err := lock.WriteManifest(m); err != nil {
				b.Fatal(err)
			}
			info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(RunPath(m.Run))))
			if err != nil {
				b.Fatal(err)
			}
			used := func() time.Duration {
				var u syscall.Rusage
				if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
					b.Fatal(err)
				}
				return time.Duration(u.Utime.Nano() + u.Stime.Nano())
			}
			before := used()
			b.ReportAllocs()
			for b.Loop() {
				all, err := Manifests(dir)
				if err != nil || len(all) != 1 || len(all[0].Inputs) != nights*logs {
					b.Fatalf("%d manifests: %v", len(all), err)
				}
			}
			b.ReportMetric(float64((used()-before).Milliseconds())/float64(b.N), "ms_cpu/op")
			b.ReportMetric(float64(info.Size())/1e6, "MB_file")
		})
	}
}
