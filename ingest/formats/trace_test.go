package formats

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// blockSum is what a trace holds, by operation.
type blockSum struct{ ios, sectors [5]int64 }

func sumOf(out *ingest.Out) (s blockSum) {
	for i := range out.Events {
		e := &out.Events[i]
		s.ios[e.Op]++
		s.sectors[e.Op] += e.SizeBytes / 512
	}
	return s
}

// TestMQSimSamples: oracle, of each file:
//
//	awk '{n[$5]++; s[$5]+=$4} END {print n[1], s[1], n[0], s[0]}'
func TestMQSimSamples(t *testing.T) {
	check := func(name string, reads, readSectors, writes, writeSectors int64) {
		t.Helper()
		data := sharedFile(t, "samples", "block-traces", name)
		out := decodeAll(t, MQSim, name, data, ingest.Options{StartNS: 1e18}, 0)
		got := sumOf(out)
		want := blockSum{}
		want.ios[ingest.OpRead], want.sectors[ingest.OpRead] = reads, readSectors
		want.ios[ingest.OpWrite], want.sectors[ingest.OpWrite] = writes, writeSectors
		if got != want || out.Tally.Event != out.Tally.Lines {
			t.Errorf("%s: %+v of %d lines, want %+v", name, got, out.Tally.Lines, want)
		}
		for i := range out.Events {
			if e := &out.Events[i]; e.LatencyNS != ingest.Missing || e.Kind != ingest.KindNone {
				t.Fatalf("%s: a latency out of nothing: %+v", name, *e)
			}
		}
	}
	check("mqsim-tpcc-small.trace", 4381, 70928, 2618, 45710)
	check("mqsim-wsrch-small.trace.gz", 24779, 746260, 4, 64)
}

// TestCloudPhysicsAgree: the CSV was made of the binary trace, so that its rows
// are the same, in its whole seconds.
func TestCloudPhysicsAgree(t *testing.T) {
	text := decodeAll(t, CloudPhysics, "t.csv", sharedFile(t, "samples", "block-traces", "cloudphysics-libcachesim.csv.gz"), ingest.Options{}, 0)
	data := sharedFile(t, "samples", "block-traces", "cloudphysics-libcachesim.vscsi.gz")
	binary := decodeVSCSI(t, data, len(data))
	steps := decodeVSCSI(t, data, 1001)
	if !slices.Equal(binary.Events, steps.Events) {
		t.Error("steps of the stream change what is read")
	}
	const rows = 113872 // 3643904 bytes / 32
	if len(text.Events) != rows || len(binary.Events) != rows {
		t.Fatalf("%d and %d events, want %d", len(text.Events), len(binary.Events), rows)
	}
	for i := range text.Events {
		a, b := &text.Events[i], &binary.Events[i]
		if a.Op != b.Op || a.SizeBytes != b.SizeBytes || a.OffsetBytes != b.OffsetBytes || a.TimeNS/1e9 != b.TimeNS/1e9 {
			t.Fatalf("row %d: %+v in CSV, %+v in binary", i, *a, *b)
		}
	}
	// awk -F, 'NR>1 {n[$3]++; s[$3]+=$4/512} END {for (k in n) print k, n[k], s[k]}'
	want := blockSum{}
	want.ios[ingest.OpRead], want.sectors[ingest.OpRead] = 46974, 3510571
	want.ios[ingest.OpWrite], want.sectors[ingest.OpWrite] = 66898, 4704230
	if got := sumOf(binary); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestTraceExcerpts: the lines of the excerpts, by hand.
func TestTraceExcerpts(t *testing.T) {
	check := func(f ingest.Format, name string, lines, rejects int64, i int, want string) {
		t.Helper()
		data := sharedFile(t, "samples", "block-traces", name)
		if got := f.Sniff(data, name); got != 2 {
			t.Errorf("%s: sniffed %d", name, got)
		}
		out := decodeAll(t, f, name, data, ingest.Options{StartNS: 1e18}, 0)
		if out.Tally.Lines != lines || out.Tally.Rejected() != rejects || out.Tally.Event != lines-rejects {
			t.Errorf("%s: %s", name, fates(out.Tally))
		}
		out.Events = out.Events[i : i+1]
		var w strings.Builder
		dump(&w, &ingest.Batch{Events: out.Events, Names: out.Names})
		if !strings.HasPrefix(w.String(), want) {
			t.Errorf("%s: event %d is\n%swant %s", name, i, w.String(), want)
		}
	}
	check(Alibaba, "alibaba-block-2020.excerpt.csv", 7, 0, 1, "event 1577808000000426000 input-00000000 disk1 write - offset 19496058880 size 77824 queue - latency - none")
	check(SPC, "spc-umass-financial.excerpt.spc", 11, 1, 3, "event 1000000001250720000 input-00000000 asu1 write - offset 1759379456 size 15872 queue - latency - none")
	check(FIU, "fiu-iodedup.excerpt.txt", 1, 0, 0, "event 1000000000000000000 input-00000000 dev:6:0 write - offset 462983966720 size 4096 queue - latency - none depth - error 0 pid 4892 comm syslogd")
}

// TestTraceSniff: a format claims the logs of its own folder and no other's,
// and columns that may be another set's are never taken for sure.
func TestTraceSniff(t *testing.T) {
	mine := []ingest.Format{Alibaba, Tencent, Systor, FIU, CloudPhysics, Cydonia, VSCSI, MQSim, SPC, Biosnoop, BiosnoopBT, FSSlower, Biolatency}
	for _, s := range shelf(t) {
		for _, f := range mine {
			got := f.Sniff(s.data[:min(len(s.data), ingest.SniffBytes)], s.path)
			if f.Name != s.format.Name && got != 0 {
				t.Errorf("%s claims %s: %d", f.Name, s.path, got)
			}
		}
	}
	check := func(f ingest.Format, head string, want int) {
		t.Helper()
		if got := f.Sniff([]byte(head), "x"); got != want {
			t.Errorf("%s: %q gives %d, want %d", f.Name, head, got, want)
		}
	}
	rep := func(line string, n int) string { return strings.Repeat(line+"\n", n) }
	check(Alibaba, rep("1,R,4096,512,1577808000000001", 3), 2)
	check(Alibaba, rep("1,R,4096,512,1577808000", 3), 0)                    // seconds: not this set
	check(Alibaba, rep("1,R,4096,512,1577808000000001", 2)+"x\n", 1)        // a third is damage
	check(Alibaba, "1,R,4096,512,1577808000000001\nx\ny\n", 0)              // most is
	check(Tencent, rep("1538323200,1,8,0,7", 3), 1)                         // never sure
	check(Tencent, rep("1538323200,1,8,2,7", 3), 0)                         // no op
	check(MQSim, rep("1000 1 2048 8 1", 3), 1)                              // never sure
	check(MQSim, rep("0.5 1 2048 8 1", 3), 0)                               // DiskSim
	check(Cydonia, rep("1000,2048,r,4096", 3), 1)                           // never sure
	check(SPC, rep("0,1,512,W,0.5", 3), 2)                                  //
	check(SPC, rep("0,1,512,W,5", 3), 1)                                    // may be another's
	check(Systor, rep("1456000000.000001,0.1,R,2,4096,8192", 3), 2)         // without its header
	check(Systor, rep("1456000000.000001,,,2,4096,8192", 3), 0)             // nothing answered
	check(CloudPhysics, "version,time,op,size,lbn\r\n", 2)                  // no row yet
	check(VSCSI, rep("1000 1 2048 8 1 and some words", 9), 0)               // text
	check(VSCSI, string(make([]byte, 4096)), 0)                             // zeros
	check(Biosnoop, rep("0.000000 fio 1 sda R 24290 4096 0.01 1.05", 2), 2) // its header rolled away
}

func TestScanNano(t *testing.T) {
	check := func(text string, want int64, places, end int) {
		t.Helper()
		if v, p, e := scanNano([]byte(text), 0, ','); v != want || p != places || e != end {
			t.Errorf("%q: %d, %d places, end %d; want %d, %d, %d", text, v, p, e, want, places, end)
		}
	}
	check("", 0, 0, 0)
	check(".", 0, 0, 0)
	check("1", 1e9, 0, 1)
	check("1.", 1e9, 0, 1) // cut off: the point stays
	check(".5", 5e8, 1, 2)
	check("0.551706", 551706000, 6, 8)
	check("0,25 ", 25e7, 2, 4)
	check("1.123456789", 1123456789, 9, 11)
	check("1.1234567899", 1123456789, 10, 12)
	check("8999999999.999999999", 8999999999999999999, 9, 20)
	check("9000000000", -1, 0, 10)
	check("99999999999999999999.5", -1, 1, 22)
	for range 3 { // against strconv, which rounds: to within half a billionth
		for i, text := range []string{"0.1", "12.000001", "3600.25", "0.000000001"} {
			f, err := strconv.ParseFloat(text, 64)
			if v, _, _ := scanNano([]byte(text), 0, '.'); err != nil || math.Abs(float64(v)-f*1e9) > 0.5 {
				t.Errorf("%d: %q: %d", i, text, v)
			}
		}
	}
}

// TestTencentUnit: bytes only where sectors can't be.
func TestTencentUnit(t *testing.T) {
	check := func(head string, want int64) {
		t.Helper()
		if got := tencentUnit([]byte(head)); got != want {
			t.Errorf("%q: %d, want %d", head, got, want)
		}
	}
	check("", 512)
	check("1538323200,8,8,0,1\n", 512)
	check("1538323200,512,4096,0,1\n1538323200,1024,512,0,1\n", 1)
	check("1538323200,512,4096,0,1\n1538323200,1025,512,0,1\n", 512)
	check("1538323200,512,4096,0,1\n1538323200,1024,0,0,1\n", 512)
	check("1538323200,512,4096,0,1\n1538323200,10", 1) // cut by the head's end
}

// TestVSCSIDamage: damage of any length costs itself, whatever the steps of the
// stream.
func TestVSCSIDamage(t *testing.T) {
	var record bytes.Buffer
	record.Write([]byte{1, 0, 0, 0, 0, 16, 0, 0, 1, 0, 0, 0, 0x28, 0, 0, 1})
	record.Write(make([]byte, 16))
	good := bytes.Repeat(record.Bytes(), 40)
	for _, n := range []int{1, 31, 32, 33, vscsiDamage - 1, vscsiDamage, vscsiDamage + 70, 3*vscsiDamage + 5} {
		data := slices.Concat(good, bytes.Repeat([]byte{7}, n), good)
		want := decodeVSCSI(t, data, len(data))
		if len(want.Events) != 80 || want.Tally.Rejects["bad-record"] == 0 {
			t.Errorf("damage of %d bytes: %d events, %v", n, len(want.Events), want.Tally.Rejects)
		}
		for _, step := range []int{997, 65536} {
			got := decodeVSCSI(t, data, step)
			if !slices.Equal(got.Events, want.Events) || fates(got.Tally) != fates(want.Tally) {
				t.Errorf("damage of %d bytes, steps of %d: %s, want %s", n, step, fates(got.Tally), fates(want.Tally))
			}
		}
	}
}

// decodeVSCSI hands a stream on in steps, all in one chunk.
func decodeVSCSI(t *testing.T, data []byte, step int) *ingest.Out {
	t.Helper()
	d := newVSCSI(&ingest.Source{Path: "x.vscsi", Head: data[:min(len(data), ingest.SniffBytes)], Host: "h"})
	out := &ingest.Out{Limit: math.MaxInt64}
	for begin, end := 0, 0; end < len(data); {
		end = min(len(data), end+step)
		for took := 1; took > 0 && begin < end; begin += took {
			out.Position = int64(begin)
			took = d.Decode(data[begin:end], end == len(data), out)
		}
	}
	return out
}

// FuzzTraces decodes anything by the decoders of trace sets and of the eBPF tools
// without the reading loop, which is what makes it fast: the fates sum (decodeAll
// checks it), no value is impossible, steps of the binary stream change nothing.
func FuzzTraces(f *testing.F) {
	lines := []ingest.Format{Alibaba, Tencent, Systor, FIU, CloudPhysics, Cydonia, MQSim, SPC, Biosnoop, BiosnoopBT, FSSlower, Biolatency}
	for _, s := range shelf(f) {
		if s.format.Name == VSCSI.Name || slices.ContainsFunc(lines, func(f ingest.Format) bool { return f.Name == s.format.Name }) {
			f.Add(s.data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range lines {
			out := decodeAll(t, format, "x", data, ingest.Options{StartNS: 1_700_000_000e9}, 0)
			check(t, &ingest.Chunk{Batch: &out.Batch})
		}
		whole := decodeVSCSI(t, data, max(len(data), 1))
		check(t, &ingest.Chunk{Batch: &whole.Batch})
		steps := decodeVSCSI(t, data, 1+len(data)/7)
		if !slices.Equal(whole.Events, steps.Events) || fates(whole.Tally) != fates(steps.Tally) {
			t.Errorf("steps of a stream change what is read: %s and %s", fates(whole.Tally), fates(steps.Tally))
		}
	})
}

// TestAlibabaColumns: the columns of other years are found by their names; without
// names they are claimed by no format, and a mapping reads them.
func TestAlibabaColumns(t *testing.T) {
	for _, row := range []string{
		"1679000000000977,17,R,8192,4096", "17,8192,4096,R,1679000000000977", "17,1679000000000977,R,8192,4096", "1679000000000977,17,8192,4096,R",
	} {
		head := []byte(strings.Repeat(row+"\n", 20))
		for _, f := range ingest.Formats() {
			if got := f.Sniff(head, "io_traces.csv"); got >= 2 {
				t.Errorf("%s claims %q: %d", f.Name, row, got)
			}
		}
	}
	check := func(log string, sure int, want string) {
		t.Helper()
		if got := Alibaba.Sniff([]byte(log), "io_traces.csv"); got != sure {
			t.Errorf("sure of %q: %d, want %d", log, got, sure)
		}
		if sure == 0 {
			return
		}
		out := decodeAll(t, Alibaba, "io_traces.csv", []byte(log), ingest.Options{}, 0)
		var w strings.Builder
		dump(&w, &ingest.Batch{Events: out.Events, Names: out.Names})
		if !strings.HasPrefix(w.String(), want) || out.Tally.Notes != 1 {
			t.Errorf("%q: got\n%s\nwant %s", log, w.String(), want)
		}
	}
	check("timestamp,vd_id,cluster,op_type,offset,io_size\n1679000000000977,17,b-\"x,w,8192,4096\n", 2,
		"event 1679000000000977000 input-00000000 disk17 write - offset 8192 size 4096 queue - latency - none")
	check("Device_ID, Opcode, Offset, Length, Timestamp, Latency_us\n17,R,8192,4096,1679000000000977,250\n", 2,
		"event 1679000000001227000 input-00000000 disk17 read - offset 8192 size 4096 queue - latency 250000 q2c")
	check("device_id,opcode,offset,timestamp\n17,R,8192,1679000000000977\n", 0, "")                    // no length
	check("device_id,opcode,offset,length,size,timestamp\n17,R,0,1,1,1679000000000977\n", 0, "")       // which length?
	check("device_id,opcode,offset,length,timestamp,x\n17,R,8192,4096,1679000000000977\n", 0, "")      // a column short
	check("device_id,opcode,offset,length,timestamp\n17,1,8192,4096,1679000000000977\n", 0, "")        // 1 is what?
	check("device_id,opcode,offset,length,timestamp\n17,R,8192,4096,1679000000\n", 0, "")              // seconds
	check("device_id,opcode,offset,length,timestamp,latency_us\n1,R,0,1,1679000000000977,-1\n", 0, "") // no latency
}
