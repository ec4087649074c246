package lake

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// inMemory is a file in memory that can tell which goroutine reads it.
type inMemory struct {
	*bytes.Reader
	seen func()
}

func (m inMemory) ReadAt(p []byte, at int64) (int, error) {
	if m.seen != nil {
		m.seen()
	}
	return m.Reader.ReadAt(p, at)
}

// drain reads everything that a file gives.
func drain(b []byte, seen func()) (rows int, err error) {
	r, err := newReader("memory", inMemory{bytes.NewReader(b), seen}, int64(len(b)), nil, nil)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	r.RowGroups()
	for {
		_, n, err := r.Next()
		rows += n
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
	}
}

func sample(t testing.TB, rows ...int) []byte {
	rng := rand.New(rand.NewPCG(21, 22))
	var groups [][]Column
	for _, n := range rows {
		groups = append(groups, append(mixed(rng, n, 20), offsets(rng, n, nil)))
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	write(t, path, groups...)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDamaged reads files with some bytes changed, in the calling goroutine:
// each is read or refused, and none ends the process, hangs or asks for much
// memory.
func TestDamaged(t *testing.T) {
	whole := sample(t, 900, 1200)
	if n, err := drain(whole, nil); n != 2100 || err != nil {
		t.Fatalf("the whole file: %d rows, %v", n, err)
	}
	rng := rand.New(rand.NewPCG(23, 24))
	var before, after runtime.MemStats
	refused, slowest, most := 0, time.Duration(0), uint64(0)
	footer := int(whole[len(whole)-8]) | int(whole[len(whole)-7])<<8
	copies := 600
	if s := os.Getenv("IOPATHY_SOAK_DAMAGED"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		copies = n
	}
	for i := range copies {
		b := bytes.Clone(whole)
		from, span := 0, len(b)
		if i%2 == 1 { // half of the damage where it hurts most
			from, span = len(b)-8-footer, footer+8
		}
		for range 1 + rng.IntN(4) {
			b[from+rng.IntN(span)] = byte(rng.Uint32())
		}
		if i%50 == 0 {
			b = b[:rng.IntN(len(b))]
		}
		runtime.ReadMemStats(&before)
		start := time.Now()
		_, err := drain(b, nil)
		slowest = max(slowest, time.Since(start))
		runtime.ReadMemStats(&after)
		most = max(most, after.TotalAlloc-before.TotalAlloc)
		if err != nil {
			refused++
		}
	}
	t.Logf("%d of %d refused, slowest %v, most memory %d KiB", refused, copies, slowest, most>>10)
	if most > 64<<20 {
		t.Errorf("a damaged file of %d bytes asked for %d bytes", len(whole), most)
	}
	if refused < copies/4 {
		t.Errorf("only %d of %d refused", refused, copies)
	}
}

// TestCallingGoroutine shows that all reading is done by the caller: arrow's
// panics can be recovered nowhere else.
func TestCallingGoroutine(t *testing.T) {
	id := func() string {
		var buf [64]byte
		s, _, _ := strings.Cut(strings.TrimPrefix(string(buf[:runtime.Stack(buf[:], false)]), "goroutine "), " ")
		return s
	}
	mine, reads := id(), 0
	b := sample(t, 9000, 50)
	if _, err := drain(b, func() {
		reads++
		if at := id(); at != mine {
			t.Errorf("goroutine %s reads, the caller is %s", at, mine)
		}
	}); err != nil || reads < 10 {
		t.Errorf("%d reads, %v", reads, err)
	}
}

func TestNoParquet(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"empty": "", "short": "PAR1", "text": strings.Repeat("no parquet\n", 100),
		"huge footer": "PAR1" + strings.Repeat("x", 50) + "\xff\xff\xff\x7fPAR1",
		"no footer":   "PAR1\x00\x00\x00\x00PAR1",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, nil); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := Open(dir, nil); err == nil {
		t.Error("a directory was opened")
	}
	if _, err := Open(filepath.Join(dir, "absent"), nil); !os.IsNotExist(err) && err == nil {
		t.Errorf("absent: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(sample(f, 3))
	f.Add(sample(f, 40, 20))
	f.Add([]byte("PAR1\x00\x00\x00\x00PAR1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<20 {
			return
		}
		if rows, err := drain(b, nil); err == nil && rows > 8*maxGroupRows {
			t.Errorf("%d rows of %d bytes", rows, len(b))
		}
	})
}
