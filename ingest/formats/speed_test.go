package formats

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// speedBytes is the size of the logs that benchmarks read.
const speedBytes = 8_000_000

// speedLog is a log as its tool writes it, of any length, by a seeded generator:
// numbers of all widths and clocks that run on, which a small log that is
// repeated does not have.
type speedLog struct {
	format     ingest.Format
	shape      string // where a format has several
	path       string
	mapping    string // an option
	head, foot string
	part       func(w *logText, i int)
}

func (l *speedLog) name() string {
	if l.shape == "" {
		return "format=" + l.format.Name
	}
	return "format=" + l.format.Name + "/shape=" + l.shape
}

func (l *speedLog) sample(size int) sample {
	w := &logText{r: rand.New(rand.NewPCG(7, 11))}
	w.WriteString(l.head)
	for i := 0; w.Len() < size; i++ {
		l.part(w, i)
	}
	w.WriteString(l.foot)
	o := ingest.DefaultOptions()
	o.Host, o.StartNS, o.Format = "h", 1_700_000_000e9, l.format.Name
	if l.mapping != "" {
		o.Format = ""
		if err := option(&o, "mapping", l.mapping); err != nil {
			panic(err)
		}
	}
	path := l.path
	if path == "" {
		path = "log"
	}
	return sample{format: l.format, path: path, data: w.Bytes(), o: o}
}

// logText is a log that is being written.
type logText struct {
	bytes.Buffer
	r  *rand.Rand
	ns int64 // its clock
}

func (w *logText) f(format string, a ...any) { fmt.Fprintf(w, format, a...) }

func (w *logText) n(limit int) int { return w.r.IntN(limit) }

// step moves the clock on by up to 40 us and gives it.
func (w *logText) step() int64 {
	w.ns += 1000 + w.r.Int64N(39000)
	return w.ns
}

func (w *logText) size() int { return 512 << w.n(9) }

func (w *logText) sector() int64 { return w.r.Int64N(1<<28) * 8 }

func (w *logText) comm() string {
	return [...]string{"postgres", "fio", "kworker/3:1H", "Web Content", "mysqld", "jbd2/sda1-8"}[w.n(6)]
}

func (w *logText) of(words ...string) string { return words[w.n(len(words))] }

// TestSpeedLogs holds that what the benchmarks read is read as meant: as the
// format, without rejects, with rows.
func TestSpeedLogs(t *testing.T) {
	for _, l := range speedLogs() {
		s := l.sample(60_000)
		rep := read(t, s, 1, nil).rep
		if rep.Problem != "" || rep.Tally.Unexpected() > 0 || rep.Events+rep.Samples+rep.Evidence == 0 {
			t.Errorf("%s: %s, %d rows, %s", l.name(), rep.Problem, rep.Events+rep.Samples+rep.Evidence, fates(rep.Tally))
		}
		if unpaired := rep.Tally.UnpairedLines(); unpaired*10 > rep.Tally.Lines {
			t.Errorf("%s: %d of %d lines are unpaired", l.name(), unpaired, rep.Tally.Lines)
		}
	}
}

// BenchmarkFormats reads 8 MB of each format to batches, with one worker: reading
// loop and decoder together; of formats without a generator the cleanest log of
// testdata, again and again. MB/cpu-s is 10^6 bytes of log per second of
// processor time, which other programs on the machine change little.
func BenchmarkFormats(b *testing.B) {
	measured := make(map[string]bool)
	one := func(name string, log func() sample) {
		b.Run(name, func(b *testing.B) {
			s := log()
			measure(b, int64(len(s.data)), func() int64 {
				return read(b, s, 1, func(*ingest.Chunk) {}).rep.Tally.Lines
			})
		})
	}
	for _, l := range speedLogs() {
		measured[l.format.Name] = true
		one(l.name(), func() sample { return l.sample(speedBytes) })
	}
	best, share := make(map[string]sample), make(map[string]float64)
	for _, s := range shelf(b) {
		if measured[s.format.Name] {
			continue
		}
		rep := read(b, s, 1, nil).rep
		if v := float64(rep.Events+rep.Samples+rep.Evidence) / float64(max(rep.Tally.Lines, 1)); best[s.format.Name].data == nil || v > share[s.format.Name] {
			best[s.format.Name], share[s.format.Name] = s, v
		}
	}
	for _, f := range ingest.Formats() {
		if s := best[f.Name]; len(s.data) > 0 {
			one("format="+f.Name+"/shape=repeated", func() sample {
				s.data = bytes.Repeat(s.data, 1+speedBytes/len(s.data))
				return s
			})
		}
	}
}

// measure runs a benchmark over size bytes and reports their speed by processor
// time and the allocations per line; once gives how many lines it read.
func measure(b *testing.B, size int64, once func() int64) {
	once() // pools are filled, as they are in a run over many inputs
	b.SetBytes(size)
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var lines int64
	cpu := processorTime()
	b.ResetTimer()
	for range b.N {
		lines += once()
	}
	b.StopTimer()
	spent := processorTime() - cpu
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(max(lines, 1)), "allocs/line")
	if spent > 0 {
		b.ReportMetric(float64(size)*float64(b.N)/1e6/spent.Seconds(), "MB/cpu-s")
	}
}
