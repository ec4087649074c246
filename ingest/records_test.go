package ingest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A format of the tests alone: records "@TIME NAME;", of files NAME.rec.N.
var _ = Register(Format{Name: "test-records", Doc: "test", Sniff: prefix("@"),
	Group: func(path string) string {
		base, number, ok := strings.Cut(path, ".rec.")
		if _, err := strconv.Atoi(number); !ok || err != nil {
			return ""
		}
		return base + ".rec.*"
	},
	Records: func(src *Source) (RecordsDecoder, error) {
		if bytes.Contains(src.Head, []byte("refused")) {
			return nil, Refusal("refused")
		}
		return testRecords{}, nil
	}})

type testRecords struct{}

func (testRecords) Time(_ int, data []byte) (int64, bool) {
	number, _, ok := strings.Cut(string(data[:min(len(data), 30)]), " ")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(number, "@"), 10, 64)
	return n, err == nil
}

func (d testRecords) Decode(run Run, out *Out) (took int) {
	start := out.Position
	for took < run.Room {
		n := bytes.IndexByte(run.Data[took:], ';')
		if n < 0 {
			break
		}
		ns, ok := d.Time(run.Member, run.Data[took:])
		if !ok || ns > run.Until {
			break
		}
		_, name, _ := strings.Cut(string(run.Data[took:took+n]), " ")
		out.Position = start + int64(took)
		out.Tally.Lines++
		out.Lineno++
		e := NewEvent()
		e.TimeNS, e.Device = ns, out.Names.InternString(name)
		out.Event(e)
		took += n + 1
	}
	return took
}

func (testRecords) End(out *Out) { out.Fact(Evidence{Name: out.Names.InternString("end")}) }

// writeRecords writes members and resolves their folder.
func writeRecords(t testing.TB, members ...string) Input {
	t.Helper()
	dir := t.TempDir()
	for i, m := range members {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("x.rec.%d", i)), []byte(m), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	inputs, _, err := Resolve([]string{dir}, nil, Options{})
	if err != nil || len(inputs) != 1 {
		t.Fatalf("%d inputs, %v", len(inputs), err)
	}
	return inputs[0]
}

// chunksOf reads an input and gives its chunks as text, and its rows alone.
func chunksOf(t testing.TB, in Input, o Options) (chunks, rows string, rep Report) {
	t.Helper()
	var text, all strings.Builder
	rep, err := Read(context.Background(), in, o, 1, func(c *Chunk) error {
		fmt.Fprintf(&text, "chunk %d final %v lines %d\n", c.Number, c.Final, c.Tally.Lines)
		for _, e := range c.Events {
			fmt.Fprintf(&text, "%d %s @%d\n", e.TimeNS, c.Names.String(e.Device), e.Position)
			fmt.Fprintf(&all, "%d %s\n", e.TimeNS, c.Names.String(e.Device))
		}
		for _, r := range c.Rejected {
			fmt.Fprintf(&text, "reject record %d @%d %s %q\n", r.Line, r.Position, r.Reason, r.Text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String(), all.String(), rep
}

func TestRecords(t *testing.T) {
	in := writeRecords(t, "@1 a;@4 b;@4 c;@9 d;", "", "@2 e;@4 f;@5 to", "@3 g;@20 h;")
	if len(in.Members) != 4 || !strings.HasSuffix(in.Path, "x.rec.*") || in.Size != 46 {
		t.Fatalf("%+v", in)
	}
	got, _, rep := chunksOf(t, in, Options{})
	want := "chunk 0 final false lines 9\n1 a @0\n2 e @0\n3 g @0\n4 b @5\n4 c @10\n4 f @5\n9 d @15\n20 h @5\n" +
		"reject record 3 @10 torn-record \"@5 to\"\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if rep.Bytes != 46 || rep.CompressedBytes != 46 || rep.Format != "test-records" || rep.HeadBytes != 4*32 {
		t.Errorf("%+v", rep)
	}
	id, n, err := Identify(in, Options{}, 0)
	if err != nil || id != rep.ID || n != rep.HeadBytes {
		t.Errorf("identity %s of %d, %v; read as %s of %d", id, n, err, rep.ID, rep.HeadBytes)
	}
	// A chunk is final as long as no member has ended: one that grows may put
	// records before the others' last.
	got, _, _ = chunksOf(t, writeRecords(t, "@1 a;@2 a;@9 a;", "@3 b;@4 b;"), Options{ChunkBytes: 10})
	want = "chunk 0 final true lines 2\n1 a @0\n2 a @5\nchunk 1 final false lines 2\n3 b @0\n4 b @5\nchunk 2 final false lines 1\n9 a @10\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	_, _, rep = chunksOf(t, writeRecords(t, "@1 refused;", "@2 a;"), Options{})
	if rep.Problem != "refused" || rep.Events != 0 {
		t.Errorf("%+v", rep)
	}
	_, _, rep = chunksOf(t, writeRecords(t, "", ""), Options{})
	if rep.Problem != "empty" {
		t.Errorf("%+v", rep)
	}
}

// Rows are those of a sort of all records, whatever the files and reads.
func TestRecordsMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	type record struct {
		time   int
		member int
		text   string
	}
	var all []record
	const n = 40
	members, clock := make([]string, n), make([]int, n)
	for range 20000 {
		k := rng.IntN(n) * rng.IntN(n) / n
		clock[k] += rng.IntN(30)
		text := fmt.Sprintf("%d m%d.%d", clock[k], k, rng.IntN(1000))
		all = append(all, record{clock[k], k, text})
		members[k] += "@" + text + ";"
	}
	slices.SortStableFunc(all, func(a, b record) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.member, b.member)) })
	var want strings.Builder
	for _, r := range all {
		want.WriteString(r.text + "\n")
	}
	in := writeRecords(t, members...)
	for _, chunk := range []int64{64 << 20, 5000, 11} {
		first := ""
		for _, size := range []int{1 << 20, 4096, 13} {
			chunks, rows, _ := chunksOf(t, in, Options{ChunkBytes: chunk, ReadBytes: size})
			if rows != want.String() {
				t.Fatalf("chunks of %d, reads of %d: not in the order of time", chunk, size)
			}
			if first == "" {
				first = chunks
			}
			if chunks != first {
				t.Errorf("chunks of %d, reads of %d: other chunks than with other reads", chunk, size)
			}
		}
	}
}

// What is in memory of a group does not grow with its size.
func TestRecordsBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 32 MB")
	}
	records := func(from int) string {
		var b strings.Builder
		for i := range 100_000 {
			fmt.Fprintf(&b, "@%d %040d;", from+2*i, i)
		}
		return b.String()
	}
	in := writeRecords(t, records(0), records(1), records(50_000), records(math.MaxInt32))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	peak := uint64(0)
	rep, err := Read(context.Background(), in, Options{ChunkBytes: 1 << 20}, 1, func(c *Chunk) error {
		runtime.GC()
		runtime.ReadMemStats(&after)
		peak = max(peak, after.HeapAlloc)
		return nil
	})
	if err != nil || rep.Events != 400_000 || rep.Chunks < 16 {
		t.Fatalf("%+v, %v", rep, err)
	}
	if grown := int64(peak) - int64(before.HeapAlloc); grown > 12<<20 {
		t.Errorf("%d bytes live while reading %d", grown, in.Size)
	}
}

func TestGroups(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 11 {
		write(fmt.Sprintf("many.rec.%d", i), fmt.Sprintf("@1 a%d;", i))
	}
	write("one.rec.0", "@1 a;")
	write("two.rec.0", "@1 a;")
	write("two.rec.1", "t of another kind\n")
	write("sub/many.rec.0", "@1 b;")
	write("sub/many.rec.1", "@1 c;")
	write("plain.log", "t a 1\n")
	inputs, _, err := Resolve([]string{dir, filepath.Join(dir, "many.rec.3")}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, in := range inputs {
		path, _ := filepath.Rel(dir, in.Path)
		got = append(got, fmt.Sprintf("%s:%d", path, len(in.Members)))
	}
	if g, want := strings.Join(got, " "), "many.rec.*:11 one.rec.0:0 plain.log:0 sub/many.rec.*:2 two.rec.0:0 two.rec.1:0"; g != want {
		t.Errorf("%s, want %s", g, want)
	}
	// The tenth comes after the second: ties are told in the order of numbers.
	_, rows, _ := chunksOf(t, inputs[0], Options{})
	if !strings.HasPrefix(rows, "1 a0\n1 a1\n1 a2\n") || !strings.HasSuffix(rows, "1 a9\n1 a10\n") {
		t.Errorf("members in the order\n%s", rows)
	}
	forced, _, err := Resolve([]string{dir}, nil, Options{Format: "test-line"})
	if err != nil || len(forced) != 11+1+2+2+1 {
		t.Errorf("%d inputs with another format forced, %v", len(forced), err)
	}
	// The bytes of a group, one member after the other.
	r, err := inputs[3].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(r); err != nil || b.String() != "@1 b;@1 c;" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
