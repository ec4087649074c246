package formats

import (
	"bytes"
	"fmt"

	"math"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestBttRunA holds the stages of run A's requests against those that btt 2.09
// (of the blktrace package) gave for the same binary trace, in its table "All
// Devices". What a request has once, btt and iopathy count alike: Q2G, G2I,
// I2D. D2C and Q2C btt counts for each bio: that of a request once more for
// each bio that was merged into it, and not at all for the two bios that were
// split, as no completion covers them whole.
func TestBttRunA(t *testing.T) {
	text := sharedFile(t, "samples", "blkparse", "runA-loop0.blkparse.txt.gz")
	check := func(stages *bttStages) {
		t.Helper()
		for _, want := range []struct {
			name              string
			n                 int
			least, mean, most int64
		}{ // of btt's table, in ns
			{"Q2G", 2689, 751, 13884, 80219},
			{"G2I", 47, 196863, 561669, 4721683},
			{"I2D", 47, 2284, 10668, 23305},
			{"D2C", 2729, 48513, 642185, 95675173},
			{"Q2C", 2729, 59539, 680356, 95714031},
		} {
			s := stages.of[want.name]
			mean := float64(s.sum) / float64(max(s.n, 1))
			t.Logf("%s: %d, %d, %.0f, %d ns", want.name, s.n, s.least, mean, s.most)
			if s.n != want.n || s.least != want.least || s.most != want.most || int64(math.Round(mean)) != want.mean {
				t.Errorf("%s: %d of %d to %d ns, mean %.0f; btt has %+v", want.name, s.n, s.least, s.most, mean, want)
			}
		}
	}
	check(stagesOfBios(decodeBlkparse(t, text, ingest.Options{}).Events, text))
}

type bttStage struct {
	n                int
	least, most, sum int64
}

type bttStages struct{ of map[string]bttStage }

func (b *bttStages) add(name string, ns int64) {
	s, ok := b.of[name]
	if !ok {
		s.least = math.MaxInt64
	}
	b.of[name] = bttStage{s.n + 1, min(s.least, ns), max(s.most, ns), s.sum + ns}
}

// stagesOfBios counts the stages of reads and writes as btt does; the merges
// are those of the trace's text.
func stagesOfBios(events []ingest.Event, text []byte) *bttStages {
	b := &bttStages{map[string]bttStage{}}
	requests := map[int64]int{} // by the time of their bio
	for i := range events {
		if e := &events[i]; e.SizeBytes > 0 {
			requests[e.StartNS()]++
		}
	}
	for i := range events {
		e := &events[i]
		if e.SizeBytes == 0 {
			continue
		}
		if e.GetNS >= 0 {
			b.add("Q2G", e.QueueNS-e.GetNS)
		}
		if e.InsertNS >= 0 {
			b.add("G2I", e.GetNS-e.InsertNS)
			b.add("I2D", e.InsertNS)
		}
		if requests[e.StartNS()] == 1 {
			b.add("D2C", e.LatencyNS-e.QueueNS)
			b.add("Q2C", e.LatencyNS)
		}
	}
	var d blkparse
	queued := map[uint64]int64{}
	for line := range bytes.Lines(text) {
		if d.parse(bytes.TrimRight(line, "\n")) != "" {
			continue
		}
		switch r := &d.rec; r.Action {
		case blkQueue:
			queued[r.Sector] = r.TimeNS
		case blkBackMerge, blkFrontMerge:
			for i := range events {
				e := &events[i]
				if at := int64(r.Sector) * 512; e.StartNS() <= r.TimeNS && r.TimeNS <= e.TimeNS && e.OffsetBytes <= at && at < e.OffsetBytes+e.SizeBytes {
					b.add("D2C", e.LatencyNS-e.QueueNS)
					b.add("Q2C", e.TimeNS-queued[r.Sector])
				}
			}
		}
	}
	return b
}

// TestStagesOfRequests holds the stages of single requests, by hand: times
// are in ns, and what is given is queue, get and insert before the first D.
func TestStagesOfRequests(t *testing.T) {
	const none = ingest.Missing
	check := func(name, text string, want ...[3]int64) {
		t.Helper()
		var lines bytes.Buffer
		for line := range strings.Lines(text) {
			ns, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			fmt.Fprintf(&lines, "  8,16   5        2     0.%09s 18615  %s\n", ns, rest)
		}
		out := decodeBlkparse(t, lines.Bytes(), ingest.Options{})
		var got [][3]int64
		for _, e := range out.Events {
			got = append(got, [3]int64{e.QueueNS, e.GetNS, e.InsertNS})
		}
		if !slices.Equal(got, want) || out.Tally.Rejected() > 0 {
			t.Errorf("%s: %v, want %v; %s", name, got, want, tallyText(out))
		}
	}
	check("all", "100 Q R 8 + 8 [a]\n110 G R 8 + 8 [a]\n130 I R 8 + 8 [a]\n170 D R 8 + 8 [a]\n300 C R 8 + 8 [0]", [3]int64{70, 60, 40})
	check("no scheduler", "100 Q R 8 + 8 [a]\n110 G R 8 + 8 [a]\n170 D R 8 + 8 [a]\n300 C R 8 + 8 [0]", [3]int64{70, 60, none})
	check("no Q, as of a trace of requests alone", "130 I R 8 + 8 [a]\n170 D R 8 + 8 [a]\n300 C R 8 + 8 [0]", [3]int64{none, none, 40})
	check("a merged bio is served by the request's G and I",
		"100 Q W 8 + 8 [a]\n110 G W 8 + 8 [a]\n120 Q W 16 + 8 [a]\n121 M W 16 + 8 [a]\n125 Q W 0 + 8 [a]\n126 F W 0 + 8 [a]\n130 I W 0 + 24 [a]\n170 D W 0 + 24 [a]\n300 C W 0 + 24 [0]", [3]int64{70, 60, 40})
	check("two requests merged: G and I of the one that stays",
		"100 Q W 8 + 8 [a]\n110 G W 8 + 8 [a]\n120 Q W 16 + 8 [a]\n122 G W 16 + 8 [a]\n130 I W 8 + 8 [a]\n131 M W 16 + 8 [a]\n170 D W 8 + 16 [a]\n300 C W 8 + 16 [0]", [3]int64{70, 60, 40})
	check("taken back and inserted anew: the first dispatch counts",
		"100 Q R 8 + 8 [a]\n110 G R 8 + 8 [a]\n130 I R 8 + 8 [a]\n170 D R 8 + 8 [a]\n180 R R 8 + 8 [0]\n190 I R 8 + 8 [a]\n200 D R 8 + 8 [a]\n300 C R 8 + 8 [0]", [3]int64{70, 60, 40})
	check("the parts of a split bio",
		"100 Q R 8 + 16 [a]\n105 X R 8 / 16 [a]\n110 G R 8 + 8 [a]\n112 G R 16 + 8 [a]\n170 D R 8 + 8 [a]\n180 D R 16 + 8 [a]\n300 C R 8 + 8 [0]\n310 C R 16 + 8 [0]", [3]int64{70, 60, none}, [3]int64{80, 68, none})
	check("stamps of two clocks that contradict each other", "100 Q R 8 + 8 [a]\n90 G R 8 + 8 [a]\n130 I R 8 + 8 [a]\n120 D R 8 + 8 [a]\n300 C R 8 + 8 [0]", [3]int64{20, none, none})
	check("a flush", "100 Q FWS [a]\n110 G FWS [a]\n130 D FN [a]\n300 C FN 0 [0]", [3]int64{30, 20, none})
}
