package main

import (
	"bufio"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
)

// The shape of the generated trace: that of the MSR Cambridge traces (SNIA
// IOTTA, "Write Off-Loading: Practical Power Management for Enterprise
// Storage", FAST 2008): one CSV line an I/O, no header, in the order of its
// stamps, which are FILETIME (100 ns since 1601) as are the response times.
const (
	traceHosts   = 25
	traceDisks   = 2     // a host
	traceSeconds = 28126 // for 1 GiB; other sizes in proportion
	traceBytes   = 1 << 30
	traceLine    = 53.8 // bytes, about
	traceBegin   = 128166372000000000
)

// writeTrace writes lines until size bytes are reached: a seeded mix of 60 %
// random and 40 % sequential offsets, two reads to one write, few sizes, and
// log-normal response times.
func writeTrace(w io.Writer, size int64) error {
	out := bufio.NewWriterSize(w, 1<<20)
	rng := rand.New(rand.NewPCG(2008, 36))
	var names [traceHosts * traceDisks][]byte
	var next [traceHosts * traceDisks]int64
	for i := range names {
		names[i] = strconv.AppendInt(append([]byte(",srv"), byte('0'+i/traceDisks/10), byte('0'+i/traceDisks%10), ','), int64(i%traceDisks), 10)
	}
	sizes := [...]int64{4096, 4096, 4096, 8192, 16384, 32768, 65536, 512}
	mean := traceSeconds * 1e7 / (traceBytes / traceLine) // between lines, in 100 ns
	now, written := float64(traceBegin), int64(0)
	var line []byte
	for written < size {
		now += rng.ExpFloat64() * mean
		d := rng.IntN(len(names))
		line = strconv.AppendInt(line[:0], int64(now), 10)
		line = append(line, names[d]...)
		if rng.IntN(3) < 2 {
			line = append(line, ",Read,"...)
		} else {
			line = append(line, ",Write,"...)
		}
		n := sizes[rng.IntN(len(sizes))]
		if rng.IntN(10) < 6 || next[d] > 1<<37 {
			next[d] = rng.Int64N(1<<37/512) * 512
		}
		line = strconv.AppendInt(line, next[d], 10)
		next[d] += n
		line = strconv.AppendInt(append(line, ','), n, 10)
		line = strconv.AppendInt(append(line, ','), 1+int64(math.Exp(8.5+1.3*rng.NormFloat64())), 10)
		line = append(line, '\n')
		written += int64(len(line))
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}
