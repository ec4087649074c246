//go:build unix

package lake

import (
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
)

// events is a table as ingest writes it: n rows of devices in runs, each in
// the order of time, with the columns that a block trace fills.
func events(n, devices int) []Column {
	rng := rand.New(rand.NewPCG(11, 12))
	at := func() []int64 { return make([]int64, n) }
	time, latency, queue, offset, size, pos := at(), at(), at(), at(), at(), at()
	pid := make([]int32, n)
	host, device, comm, op, flags, kind := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	comms := []string{"postgres", "kworker/u8:2", "fio", "jbd2/sda1-8", "java", "kswapd0"}
	ops := []string{"read", "write", "read", "read", "flush"}
	sizes := []int64{4096, 4096, 4096, 8192, 16384, 65536, 131072, 512}
	allFlags := []string{"", "", "S", "SM", "A", "SU"}
	var now, next int64
	for i := range n {
		d := i * devices / n
		if i == 0 || d != (i-1)*devices/n {
			now = 1_700_000_000_000_000_000
		}
		now += int64(rng.ExpFloat64() * 70_000)
		time[i] = now
		latency[i] = 20_000 + int64(rng.ExpFloat64()*300_000)
		queue[i] = int64(rng.ExpFloat64() * 9_000)
		size[i] = sizes[rng.IntN(len(sizes))]
		if rng.IntN(100) < 60 {
			next = rng.Int64N(1<<31) * 512
		}
		offset[i] = next
		next += size[i]
		pos[i] = int64(i)*97 + rng.Int64N(50)
		k := rng.IntN(len(comms))
		pid[i], comm[i] = int32(1000+k*7+rng.IntN(3)), comms[k]
		host[i], device[i], op[i], flags[i], kind[i] = "db07", fmt.Sprintf("nvme%dn1", d), ops[rng.IntN(len(ops))], allFlags[rng.IntN(len(allFlags))], "q2c"
	}
	some := make([]bool, n)
	for i := range some {
		some[i] = rng.IntN(50) != 0
	}
	return []Column{
		{Name: "time_ns", Data: time}, {Name: "host", Data: host}, {Name: "device", Data: device},
		{Name: "pid", Data: pid, Valid: some}, {Name: "comm", Data: comm, Valid: some}, {Name: "op", Data: op}, {Name: "flags", Data: flags},
		{Name: "offset_bytes", Data: offset, Valid: some}, {Name: "size_bytes", Data: size, Valid: some},
		{Name: "queue_ns", Data: queue, Valid: some}, {Name: "latency_ns", Data: latency, Valid: some},
		{Name: "latency_kind", Data: kind}, {Name: "position", Data: pos},
	}
}

func writeGroups(b testing.TB, path string, cols []Column) Part {
	w, err := Create(path, Fields(cols), nil)
	if err != nil {
		b.Fatal(err)
	}
	_, n := typeOf(cols[0])
	for from := 0; from < n; from += GroupRows {
		if err := w.Write(cut(cols, from, min(from+GroupRows, n))); err != nil {
			b.Fatal(err)
		}
	}
	p, err := w.Close()
	if err != nil {
		b.Fatal(err)
	}
	return p
}

const benchRows = 1 << 20

// perCPU reports the rows of each operation per second of processor time, of
// all threads: it moves less with the load than wall time does.
func perCPU(b *testing.B) (report func()) {
	cpu := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	start := cpu()
	return func() { b.ReportMetric(benchRows*float64(b.N)/(cpu()-start)/1e6, "Mrows/CPU-s") }
}

// BenchmarkWrite counts bytes as the events would take in a CSV of their own,
// 54 a row as in the MSR traces.
func BenchmarkWrite(b *testing.B) {
	cols := events(benchRows, 16)
	path := filepath.Join(b.TempDir(), "a.parquet")
	b.SetBytes(benchRows * 54)
	b.ReportAllocs()
	var p Part
	report := perCPU(b)
	for b.Loop() {
		p = writeGroups(b, path, cols)
	}
	report()
	b.ReportMetric(float64(p.Bytes)/benchRows, "file-B/row")
}

func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.parquet")
	writeGroups(b, path, events(benchRows, 16))
	for name, want := range map[string][]string{
		"columns=13": nil,
		"columns=6":  {"time_ns", "op", "offset_bytes", "size_bytes", "latency_ns", "flags"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			report := perCPU(b)
			for b.Loop() {
				r, err := Open(path, want)
				if err != nil {
					b.Fatal(err)
				}
				rows := 0
				for {
					_, n, err := r.Next()
					if err == io.EOF {
						break
					}
					if err != nil {
						b.Fatal(err)
					}
					rows += n
				}
				r.Close()
				if rows != benchRows {
					b.Fatal(rows)
				}
			}
			report()
		})
	}
}
