package ingest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// pages reads an input with checkpoints: its chunks as text, and the report.
func pages(t testing.TB, in Input, o Options) (map[int64]string, Report) {
	t.Helper()
	in.Checkpoints = true
	chunks := map[int64]string{}
	rep, err := Read(context.Background(), in, o, 2, func(c *Chunk) error {
		var b strings.Builder
		fmt.Fprintf(&b, "final %v %+v\n", c.Final, c.Tally)
		for _, e := range c.Events {
			fmt.Fprintf(&b, "%d %s @%d\n", e.TimeNS, c.Names.String(e.Device), e.Position)
		}
		for _, r := range c.Rejected {
			fmt.Fprintf(&b, "line %d @%d %s %q\n", r.Line, r.Position, r.Reason, r.Text)
		}
		chunks[c.Number] = b.String()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return chunks, rep
}

// goesOn reads an input from the checkpoint of an older one, and wants what one
// undisturbed reading gives. It says whether the checkpoint was of use.
func goesOn(t testing.TB, what string, old, now Input, o Options) bool {
	t.Helper()
	was, first := pages(t, old, o)
	if first.Checkpoint == nil {
		return false
	}
	code, err := first.Checkpoint.Encode()
	if err != nil {
		t.Fatal(err)
	}
	now.ID = first.ID
	want, whole := pages(t, now, o)
	if now.Resume, err = DecodeCheckpoint(code); err != nil {
		t.Fatal(err)
	}
	got, rep := pages(t, now, o)
	if rep.Note == "" {
		if rep.NewBytes != rep.Bytes-first.Checkpoint.Pos || first.Checkpoint.Pos == 0 {
			t.Errorf("%s: %d new bytes of %d", what, rep.NewBytes, rep.Bytes)
		}
		for n, text := range was {
			if n < first.Checkpoint.Chunk {
				got[n] = text
			}
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got\n%v\nwant\n%v", what, got, want)
	}
	stale := rep.Note != ""
	if a, b := fmt.Sprint(rep.Checkpoint), fmt.Sprint(whole.Checkpoint); a != b {
		t.Errorf("%s: the checkpoint is %s, want %s", what, a, b)
	}
	rep.NewBytes, rep.Note, rep.Kept, rep.Checkpoint, whole.Checkpoint = whole.NewBytes, "", 0, nil, nil
	if fmt.Sprintf("%+v", rep) != fmt.Sprintf("%+v", whole) {
		t.Errorf("%s: the report is\n%+v\nwant\n%+v", what, rep, whole)
	}
	return !stale
}

func inputOf(data string) Input {
	return Input{Path: "x", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(data)), nil }}
}

func squeezed(t testing.TB, data string) Input {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return inputOf(b.String())
}

func TestResumeKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector")
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var lines, pairs, stream strings.Builder
	for i := range 15_000 {
		fmt.Fprintf(&lines, "t d%d %d\n", rng.IntN(9), i)
		fmt.Fprintf(&stream, "<d%d %d>", rng.IntN(9), i)
		if pairs.WriteString(fmt.Sprintf("+d%d %d\n", rng.IntN(99), i)); rng.IntN(3) == 0 {
			fmt.Fprintf(&pairs, "-d%d\n", rng.IntN(99))
		}
	}
	check := func(name, old, now string, want bool) {
		t.Helper()
		for _, span := range []int64{2000, 20_000} {
			o := Options{ChunkBytes: span}
			if got := goesOn(t, name, inputOf(old), inputOf(now), o); got != want {
				t.Errorf("%s, chunks of %d: went on: %v", name, span, got)
			}
			if got := goesOn(t, name+" compressed", squeezed(t, old), squeezed(t, now), o); got != want {
				t.Errorf("%s compressed, chunks of %d: went on: %v", name, span, got)
			}
		}
		if got := goesOn(t, name+" recompressed", inputOf(old), squeezed(t, now), Options{ChunkBytes: 20_000}); got != want {
			t.Errorf("%s recompressed: went on: %v", name, got)
		}
	}
	for name, b := range map[string]string{"lines": lines.String(), "pairs": pairs.String(), "stream": stream.String()} {
		for range 3 {
			check(name, b[:90_000+rng.IntN(len(b)-90_000)], b, true)
		}
		at := 78_000
		check(name+" that changed before the checkpoint", b[:100_000], b[:at]+strings.Repeat("t", 20_000)+b[at+20_000:], false)
		check(name+" that is shorter", b[:100_000], b[:70_000], false)
		if name == "stream" {
			continue
		}
		check(name+" with a long line", b[:70_000]+strings.Repeat("x", MaxLine+5)+b[70_000:80_000], b[:70_000]+strings.Repeat("x", MaxLine+5)+b[70_000:], true)
	}
}

func TestResumeRecords(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector")
	}
	rng := rand.New(rand.NewPCG(5, 6))
	var b [3]strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b[rng.IntN(3)], "@%d d%d;", 1_000_000+i/3, rng.IntN(9))
	}
	all := []string{b[0].String(), b[1].String(), b[2].String()}
	on := 0
	for range 12 {
		cut := make([]string, 3)
		for i := range cut {
			cut[i] = all[i][:min(len(all[i]), 66_000+rng.IntN(30_000))]
		}
		o := Options{ChunkBytes: int64(5_000 + rng.IntN(20_000))}
		if goesOn(t, "group", writeRecords(t, cut...), writeRecords(t, all...), o) {
			on++
		}
		if goesOn(t, "one stream", inputOf(cut[0]), inputOf(all[0]), o) {
			on++
		}
	}
	if on < 20 {
		t.Errorf("only %d of 24 went on", on)
	}
}

// TestResumeStale wants reasons for the checkpoints that do not fit.
func TestResumeStale(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "+d%d %d\n", i%50, i)
	}
	in := inputOf(b.String())
	o := Options{ChunkBytes: 30_000}
	_, rep := pages(t, in, o)
	code, err := rep.Checkpoint.Encode()
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, change func(*Checkpoint), o Options, want string) {
		t.Helper()
		c, err := DecodeCheckpoint(code)
		if err != nil {
			t.Fatal(err)
		}
		change(c)
		in.Resume = c
		if _, rep := pages(t, in, o); !strings.Contains(rep.Note, want) || (want == "") != (rep.Note == "") || rep.Events != 0 && want == "" {
			t.Errorf("%s: %q, want %q", what, rep.Note, want)
		}
	}
	same := func(*Checkpoint) {}
	check("as it was", same, o, "")
	check("another size of reads", same, Options{ChunkBytes: 30_000, ReadBytes: 100}, "")
	check("another zone", same, Options{ChunkBytes: 30_000, Zone: "Asia/Tokyo"}, "other options")
	check("another chunk", same, Options{ChunkBytes: 30_001}, "other options")
	check("another host", same, Options{ChunkBytes: 30_000, Host: "h"}, "other options")
	check("another input", func(c *Checkpoint) { c.ID = "x" }, o, "another input")
	check("another format", func(c *Checkpoint) { c.Format = "x" }, o, "another input")
	check("more members", func(c *Checkpoint) { c.Places = append(c.Places, c.Places[0]) }, o, "another input")
	check("another edge", func(c *Checkpoint) { c.Places[0].Sum[3]++ }, o, "has changed")
	check("another state", func(c *Checkpoint) { c.State = c.State[:len(c.State)-1] }, o, "damaged")
	for i := 0; i < len(code); i += 97 {
		bad := bytes.Clone(code)
		bad[i] ^= 4
		if _, err := DecodeCheckpoint(bad); err == nil {
			t.Errorf("a flipped bit in byte %d is not seen", i)
		}
		if _, err := DecodeCheckpoint(code[:i]); err == nil {
			t.Errorf("an end at byte %d is not seen", i)
		}
	}
	if _, err := DecodeCheckpoint(append(bytes.Clone(code), 0)); err == nil {
		t.Error("a byte more is not seen")
	}
}

// everything is one field of each kind that a state may have.
type everything struct {
	B      bool
	I      int8
	U      uint16
	F      float64
	S      string
	Raw    []byte
	List   []everything
	Array  [2]int32
	Map    map[string]*everything
	Same   *everything
	Fn     func()
	Memory int `state:"-"`
	hidden map[int64][]string
}

func TestState(t *testing.T) {
	shared := &everything{I: 7, hidden: map[int64][]string{}}
	shared.Same = shared
	e := &everything{
		B: true, I: -3, U: 65535, F: -0.1, S: "s", Raw: []byte{}, List: []everything{{S: "x"}, {Same: shared}}, Array: [2]int32{1, -1 << 31},
		Map: map[string]*everything{"b": shared, "c": {F: 1}}, Memory: 5, hidden: map[int64][]string{-5: {"q"}, 4: nil},
	}
	b, err := saveState(e)
	if err != nil {
		t.Fatal(err)
	}
	var got everything
	if err := loadState(&got, b); err != nil {
		t.Fatal(err)
	}
	again, err := saveState(&got)
	if err != nil || !bytes.Equal(again, b) {
		t.Errorf("%v: saved again it is\n%x, was\n%x", err, again, b)
	}
	if got.Map["b"] != got.List[1].Same || got.Map["b"].Same != got.Map["b"] || got.Memory != 0 || got.Raw == nil || got.Map["c"].Raw != nil || len(got.hidden) != 2 {
		t.Errorf("%+v", got)
	}
	for _, bad := range []any{map[int]*everything{1: nil}, []*everything{shared, nil}} {
		b, err := saveState(bad)
		if err != nil {
			t.Fatal(err)
		}
		into := reflect.New(reflect.TypeOf(bad))
		if err := loadState(into.Interface(), b); err == nil || !strings.Contains(err.Error(), "is missing") {
			t.Errorf("%v with nothing in an element: %v", bad, err)
		}
	}
	for _, bad := range []any{&struct{ N Name }{}, &struct{ C chan int }{make(chan int)}, &struct{ E error }{errors.New("x")}} {
		if _, err := saveState(bad); err == nil {
			t.Errorf("%T is taken for a state", bad)
		}
	}
}

// FuzzCheckpoint decodes bytes of any origin behind a right sum: no panic, and
// memory in proportion to them.
func FuzzCheckpoint(f *testing.F) {
	var b strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&b, "+d%d %d\n", i%50, i)
	}
	_, rep := pages(f, inputOf(b.String()+strings.Repeat("-d1\n", 9000)), Options{ChunkBytes: 30_000})
	code, err := rep.Checkpoint.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(code[len(checkpointMagic) : len(code)-sha256.Size])
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\x7f"))
	e, err := saveState(&everything{Map: map[string]*everything{"a": {}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(e)
	f.Fuzz(func(t *testing.T, body []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b := append([]byte(checkpointMagic), body...)
		sum := sha256.Sum256(b)
		c, err := DecodeCheckpoint(append(b, sum[:]...))
		loaded := loadState(new(everything), body)
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+2000*len(body)); got > most {
			t.Errorf("%d bytes took %d of memory", len(body), got)
		}
		if err == nil {
			if again, err := c.Encode(); err != nil {
				t.Errorf("%x: %v", again, err)
			}
		}
		_ = loaded
	})
}
