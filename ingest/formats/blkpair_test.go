package formats

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

func TestBlkparseSniff(t *testing.T) {
	check := func(name, head string, want int) {
		t.Helper()
		if got := Blkparse.Sniff([]byte(head), "x"); got != want {
			t.Errorf("%s: sniffed %d, want %d", name, got, want)
		}
	}
	const line = "  8,16   5        2     0.000001850 18615  Q   R 1444645666 + 256 [java]\n"
	check("default", line, 2)
	check("message first", "  8,16   5        0     0.000012990     0  m   N cfq18615S / insert_request\n", 2)
	check("three-digit major", "259,0    0        1     0.000000000   411  D   R 45522 + 16 [fio]\n", 2)
	check("cut at the front", "0.000001 18615  Q   R 1 + 8 [java]\n"+line, 2)
	check("a word before", "Input file sdb.blktrace.0 added\n"+line, 2)
	check("no whole line", strings.TrimSuffix(line, "\n"), 0)
	check("-f of other columns", "8,16 0.000001850 Q R 1444645666 256\n8,16 0.000009980 D R 1444645666 256\n", 0)
	check("-f with commas", "8,16,5,2,0.000001850,18615,Q,R,1444645666,256,java\n", 0)
	check("-f without seq", "8,16 5 0.000001850 18615 Q R 1444645666 + 256 [java]\n", 0)
	check("summary alone", "CPU0 (sdb):\n Reads Queued:           0,        0KiB\n", 0)
	check("ftrace", "   fio-405     [000] d.h1.   206.768384: block_rq_complete: 259,0 R () 45522 + 16 [0]\n", 0)
	check("btt", "==================== All Devices ====================\n", 0)
	check("iostat", "Device  r/s  rkB/s\nsda 1.0 2.0\n", 0)
	check("CSV", "128166372003061629,hm,1,Read,383496192,32768,413\n", 0)
	check("empty", "", 0)
}

// The base of the times is the user's; without one they stay relative.
func TestBlkparseStart(t *testing.T) {
	const text = "8,16 0 1 1.500000007 7 D R 8 + 8 [x]\n8,16 0 2 1.500000107 0 C R 8 + 8 [0]\n"
	for _, start := range []int64{0, 1_700_000_000_000_000_000} {
		out := decodeBlkparse(t, []byte(text), ingest.Options{StartNS: start})
		if len(out.Events) != 1 || out.Events[0].TimeNS != start+1_500_000_107 || out.Events[0].LatencyNS != 100 {
			t.Errorf("start %d: %+v", start, out.Events)
		}
	}
}

// consistent checks that the three indexes of the table tell of the same I/Os.
func (t *blkTable) consistent() error {
	byAge, prev := map[int32]bool{}, int32(0)
	for i := t.oldest; i != 0; i = t.ios[i].ageNext {
		if byAge[i] || t.ios[i].agePrev != prev || t.ios[i].state == blkFreeState {
			return fmt.Errorf("age list broken at %d", i)
		}
		byAge[i], prev = true, i
	}
	if len(byAge) != t.open || prev != t.newest {
		return fmt.Errorf("%d by age, %d open", len(byAge), t.open)
	}
	starts, ends := 0, 0
	for _, slot := range t.starts.slots {
		key, l := slot.key, slot.blkList
		if l.head == 0 {
			continue
		}
		prev = 0
		for i := l.head; i != 0; i = t.ios[i].startNext {
			io := &t.ios[i]
			if !byAge[i] || io.startPrev != prev || blkKey(io.dev, io.sector) != key {
				return fmt.Errorf("start list %#x broken at %d", key, i)
			}
			prev = i
			starts++
		}
		if prev != l.tail || prev == 0 {
			return fmt.Errorf("start list %#x ends at %d, tail %d", key, prev, l.tail)
		}
	}
	for _, slot := range t.ends.slots {
		key, i := slot.key, slot.head
		prev = 0
		for ; i != 0; i = t.ios[i].endNext {
			io := &t.ios[i]
			if !byAge[i] || io.endPrev != prev || !io.hasEnd() || blkKey(io.dev, io.sector+io.sectors) != key {
				return fmt.Errorf("end list %#x broken at %d", key, i)
			}
			prev = i
			ends++
		}
	}
	want := 0
	for i := range byAge {
		if t.ios[i].hasEnd() {
			want++
		}
	}
	if starts != t.open || ends != want {
		return fmt.Errorf("%d starts of %d, %d ends of %d", starts, t.open, ends, want)
	}
	return nil
}

// Any records in any order: each has one fate, no size or time is negative,
// the table stays whole and within its limit.
func TestBlkPairsAnyRecords(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 7))
		p := newBlkPairs("h")
		p.limit = 1 + rng.IntN(40)
		out := &ingest.Out{}
		now := int64(0)
		ops := []ingest.Op{ingest.OpRead, ingest.OpWrite, ingest.OpDiscard, ingest.OpFlush, ingest.OpOther}
		for range 400 {
			now += rng.Int64N(1000) - 10
			r := blkRecord{
				TimeNS: now, Sector: rng.Uint64N(24), Sectors: rng.Uint64N(6), Dev: uint32(rng.IntN(2)), PID: int32(rng.IntN(3)),
				Action: blkAction(1 + rng.IntN(int(blkRemap))), Op: ops[min(rng.IntN(12), 4)], Error: int32(rng.IntN(2)),
				Flags: ingest.Flags(rng.IntN(32)), Pass: rng.IntN(40) == 0, Comm: []byte("c"),
			}
			if r.Action == blkSplit {
				r.Other = r.Sector + 1 + rng.Uint64N(4)
			}
			out.Tally.Lines++
			p.Add(&r, out)
			if err := p.table.consistent(); err != nil {
				t.Fatalf("seed %d: after %+v: %v", seed, r, err)
			}
			if p.table.open > max(p.limit, 2) { // a split needs two
				t.Fatalf("seed %d: %d open, limit %d", seed, p.table.open, p.limit)
			}
		}
		p.End(out)
		checkSums(t, out)
		for _, e := range out.Events {
			if e.LatencyNS < 0 && e.Kind != ingest.KindNone || e.SizeBytes < 0 || e.OffsetBytes < ingest.Missing || e.QueueNS < ingest.Missing ||
				e.Kind == ingest.KindQ2C && e.QueueNS > e.LatencyNS {
				t.Fatalf("seed %d: %+v", seed, e)
			}
		}
	}
}

// completion adds one without its beginning: the trace holds both ends.
func completion(p *blkPairs, out *ingest.Out) {
	out.Tally.Lines++
	p.Add(&blkRecord{Dev: 8<<20 | 16, Sector: 1 << 30, Sectors: 8, Action: blkComplete, Op: ingest.OpWrite}, out)
}

// Of a trace that holds one end alone each record is an I/O; with both, what comes
// before the first beginning are halves.
func TestBlkPairsOneEnd(t *testing.T) {
	for _, c := range []struct {
		actions          string // of I/Os, in turn: each letter for all of them
		events, unpaired int
		latency          bool
	}{
		{"D", 3, 0, false}, {"Q", 3, 0, false}, {"QG", 3, 0, false}, {"QGD", 3, 0, false}, {"C", 3, 0, false},
		{"DC", 3, 0, true}, {"QDC", 3, 0, true}, {"CD", 0, 6, false},
	} {
		for _, limit := range []int{3, blkOpenLimit} {
			p := newBlkPairs("h")
			p.limit = limit
			out := &ingest.Out{}
			for n, letter := range []byte(c.actions) {
				for i := range uint64(3) {
					out.Tally.Lines++
					out.Position++
					p.Add(&blkRecord{
						TimeNS: int64(n)*1e9 + int64(i), Dev: 8<<20 | 16, PID: 7, Sector: 1000 * (i + 1), Sectors: 8,
						Action: blkLetter([]byte{letter}), Op: ingest.OpRead,
					}, out)
				}
			}
			p.End(out)
			checkSums(t, out)
			unpaired := int64(0)
			for _, n := range out.Tally.Unpaired {
				unpaired += n
			}
			facts := 0
			if c.actions == "CD" { // in flight at the end
				facts = 3
			}
			if len(out.Events) != c.events || unpaired != int64(c.unpaired) || len(out.Evidence) != facts {
				t.Errorf("%s: %d events, %d facts: %s", c.actions, len(out.Events), len(out.Evidence), tallyText(out))
			}
			for i, e := range out.Events {
				if (e.LatencyNS != ingest.Missing) != c.latency || (e.Kind == ingest.KindNone) == c.latency || e.OffsetBytes != int64(i+1)*512000 || e.SizeBytes != 4096 || e.Position > int64(3*len(c.actions)) {
					t.Errorf("%s: event %d: %+v", c.actions, i, e)
				}
			}
		}
	}
}

func TestBlkPairsTooMany(t *testing.T) {
	p := newBlkPairs("h")
	p.limit = 3
	out := &ingest.Out{}
	completion(p, out)
	for i := range uint64(10) {
		out.Tally.Lines++
		p.Add(&blkRecord{TimeNS: int64(i), Sector: 8 * i, Sectors: 8, Action: blkQueue, Op: ingest.OpRead}, out)
	}
	p.End(out)
	checkSums(t, out)
	if n := out.Tally.Unpaired[blkTooMany]; n != 7 {
		t.Errorf("%d given up, want 7: %s", n, tallyText(out))
	}
	for i := range uint32(blkDevices + 5) {
		out.Tally.Lines++
		p.Add(&blkRecord{Dev: i, Sector: 8, Sectors: 8, Action: blkComplete, Op: ingest.OpRead}, out)
	}
	p.End(out)
	checkSums(t, out)
	if n := out.Tally.Rejects[blkDevOverflow]; n != 5 {
		t.Errorf("%d rejected, want 5: %s", n, tallyText(out))
	}
}

// The open I/Os of a trace that was cut are facts, oldest first; what is
// beyond the bound is counted.
func TestBlkPairsOpenFacts(t *testing.T) {
	p := newBlkPairs("h")
	out := &ingest.Out{}
	completion(p, out)
	for i := range uint64(blkOpenFacts + 2) {
		out.Tally.Lines++
		p.Add(&blkRecord{TimeNS: int64(i), Dev: 8<<20 | 16, Sector: 8 * i, Sectors: 8, Action: blkIssue, Op: ingest.OpWrite}, out)
	}
	p.End(out)
	checkSums(t, out)
	if len(out.Evidence) != blkOpenFacts+1 {
		t.Fatalf("%d facts", len(out.Evidence))
	}
	first, last := out.Evidence[0], out.Evidence[blkOpenFacts]
	if first.TimeNS != 0 || first.Value != 4096 || out.Names.String(first.Name) != blkOpenFact || out.Names.String(first.Device) != "dev:8:16" {
		t.Errorf("first %+v", first)
	}
	if last.Value != 2 || out.Names.String(last.Name) != blkMoreFact {
		t.Errorf("last %+v", last)
	}
}

func TestBlkRWBS(t *testing.T) {
	check := func(letters string, empty bool, want string) {
		t.Helper()
		op, flags, ok := blkRWBS([]byte(letters), empty)
		got := strings.TrimSpace(op.String() + " " + flags.String())
		if !ok {
			got = "bad"
		}
		if got != want {
			t.Errorf("%q empty %v: %s, want %s", letters, empty, got, want)
		}
	}
	check("R", false, "read")
	check("RA", false, "read A")
	check("RAM", false, "read MA")
	check("WS", false, "write S")
	check("WS", true, "write S")
	check("FWFSM", false, "write SMUF")
	check("FWS", true, "flush SF")
	check("FWS", false, "write SF")
	check("FN", true, "flush F")
	check("FF", true, "flush F")
	check("F", true, "flush F")
	check("D", false, "discard")
	check("DS", false, "discard S")
	check("DE", false, "other")
	check("WBS", false, "write SF")
	check("N", false, "other")
	check("ZR", false, "other")
	check("", false, "bad")
	check("r", false, "bad")
	check("R+", false, "bad")
	check("RSSSSSSSS", false, "bad")
}

func TestBlkErrno(t *testing.T) {
	in := []int64{0, 65475, 65531, -5, 5}
	want := []int32{0, 61, 5, 5, 5} // 65475 is -61, ENODATA, in 16 bits
	var got []int32
	for _, v := range in {
		got = append(got, blkErrno(v))
	}
	if !slices.Equal(got, want) {
		t.Errorf("errno %v, want %v", got, want)
	}
}
