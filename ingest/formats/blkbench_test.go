package formats

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// blkparseText makes n I/Os at a queue depth, a quarter of them merged from two
// bios, in blkparse's layout.
func blkparseText(n, depth int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	type io struct {
		sector, sectors uint64
		rwbs            string
	}
	var b bytes.Buffer
	var open []io
	now := int64(0)
	line := func(action, rwbs string, sector, sectors uint64, tail string) {
		now += 1000 + rng.Int64N(20000)
		fmt.Fprintf(&b, "%3d,%-3d %2d %8d %5d.%09d %5d %2s %3s %d + %d [%s]\n",
			8, 16, rng.IntN(8), 1+rng.IntN(1e6), now/1e9, now%1e9, 1000+rng.IntN(40), action, rwbs, sector, sectors, tail)
	}
	for range n {
		x := io{rng.Uint64N(1<<30) * 8, 8 << rng.IntN(6), []string{"R", "RA", "WS", "W"}[rng.IntN(4)]}
		line("Q", x.rwbs, x.sector, x.sectors, "postgres")
		line("G", x.rwbs, x.sector, x.sectors, "postgres")
		if rng.IntN(4) == 0 {
			line("Q", x.rwbs, x.sector+x.sectors, 8, "postgres")
			line("M", x.rwbs, x.sector+x.sectors, 8, "postgres")
			x.sectors += 8
		}
		line("I", x.rwbs, x.sector, x.sectors, "postgres")
		line("D", x.rwbs, x.sector, x.sectors, "kworker/3:1H")
		open = append(open, x)
		if len(open) > depth {
			k := rng.IntN(len(open))
			line("C", open[k].rwbs, open[k].sector, open[k].sectors, "0")
			open[k] = open[len(open)-1]
			open = open[:len(open)-1]
		}
	}
	return b.Bytes()
}

func BenchmarkBlkparse(b *testing.B) {
	for _, depth := range []int{4, 128, 4096} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			text := blkparseText(20000, depth)
			var out ingest.Out
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				dec, err := Blkparse.Lines(&ingest.Source{Host: "h"})
				if err != nil {
					b.Fatal(err)
				}
				feedBlkparse(dec, text, &out)
				if len(out.Events) == 0 {
					b.Fatal("no events")
				}
				out.Reset()
			}
		})
	}
}
