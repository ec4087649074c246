package mirror

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gocloud.dev/blob/memblob"

	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/ingest/lake"
)

// noise is bytes that are no others'.
func noise(seed uint64, n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(data) // it never fails
	return data
}

func putObject(t testing.TB, b *bucket.Bucket, key string, data []byte) {
	t.Helper()
	if err := b.Put(context.Background(), key, int64(len(data)), fromMemory(data)); err != nil {
		t.Fatal(err)
	}
}

// readers opens a lake of parts with these bytes for reading.
func readers(t *testing.T, b *bucket.Bucket, keep int64, parts ...[]byte) *Copy {
	t.Helper()
	for i, data := range parts {
		putObject(t, b, fmt.Sprintf("it/events/%d.parquet", i), data)
	}
	c, err := Open(context.Background(), b, "it", Options{Dir: t.TempDir(), KeepBytes: keep})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	for i, data := range parts {
		p := lake.Part{Path: fmt.Sprintf("events/%d.parquet", i), Bytes: int64(len(data))}
		for from := 0; from < len(data); from += lake.BlockBytes {
			sum := sha256.Sum256(data[from:min(from+lake.BlockBytes, len(data))])
			p.Blocks = append(p.Blocks, hex.EncodeToString(sum[:]))
		}
		c.parts[p.Path] = p
	}
	return c
}

func opened(t *testing.T, c *Copy, part int) lake.Bytes {
	t.Helper()
	f, err := c.Open(c.path(fmt.Sprintf("events/%d.parquet", part)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestRanges reads a part at places: the bytes are bytes.Reader's, and no more of them
// come from the bucket than the blocks that they lie in, each once.
func TestRanges(t *testing.T) {
	const mib = lake.BlockBytes
	data := noise(1, 20*mib+777)
	b := over(t, memblob.OpenBucket(nil))
	c := readers(t, b, 0, data)
	f := opened(t, c, 0)
	defer f.Close()
	want := bytes.NewReader(data)
	for _, x := range []struct {
		at, n  int64
		blocks int64 // that come
	}{
		{20*mib + 700, 77, 1}, {20 * mib, 777, 0}, // the last, which is short
		{5 * mib, 10, 1}, {5*mib + 9, mib - 9, 0}, {6*mib - 1, 2, 2}, // read on: two at once, so that the next is here
		{7*mib + 3, 40, 0}, {8 * mib, 1, 4}, {11*mib + 5, 5, 0}, {12 * mib, 5, 8},
		{0, 2, 1}, {mib, 5, 2}, {3 * mib, 3 * mib, 2}, // 3 and 4 are not here, and no more is asked for than is not
		{0, 20*mib + 777, 0}, {20*mib + 770, 100, 0}, {20*mib + 777, 1, 0},
	} {
		p, q := make([]byte, x.n), make([]byte, x.n)
		before := b.Received()
		n, err := f.ReadAt(p, x.at)
		wn, werr := want.ReadAt(q, x.at)
		if n != wn || !errors.Is(err, werr) || !bytes.Equal(p, q) {
			t.Errorf("%d at %d: %d, %v; bytes.Reader says %d, %v", x.n, x.at, n, err, wn, werr)
		}
		if came := (b.Received() - before + mib - 1) / mib; came != x.blocks {
			t.Errorf("%d at %d: %d blocks came, want %d", x.n, x.at, came, x.blocks)
		}
	}
	if got := b.Received(); got != int64(len(data)) {
		t.Errorf("%d bytes came for a part of %d", got, len(data))
	}
	if hole, err := os.ReadFile(c.path("events/0.parquet")); err != nil || len(hole) != len(data) || bytes.Count(hole, []byte{0}) != len(data) {
		t.Errorf("the working copy shows what is not whole: %v", err)
	}
}

// TestRangesAtOnce reads a part by many at once: each block comes once.
func TestRangesAtOnce(t *testing.T) {
	data := noise(2, 9*lake.BlockBytes+5)
	b := over(t, memblob.OpenBucket(nil))
	c := readers(t, b, 0, data)
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			f, err := c.Open(c.path("events/0.parquet"))
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			p := make([]byte, 300_000)
			for i := range int64(30) {
				at := (int64(k)*7 + i*11) % 30 * 300_000
				n, err := f.ReadAt(p, at)
				if err != nil && err != io.EOF || !bytes.Equal(p[:n], data[at:][:n]) {
					t.Errorf("at %d: %d bytes, %v", at, n, err)
				}
			}
		})
	}
	wg.Wait()
	if got := b.Received(); got > int64(len(data)) {
		t.Errorf("%d bytes came for a part of %d", got, len(data))
	}
}

// TestRangesKept reads many parts one after another: what stays of them is bounded,
// but for what somebody reads just now.
func TestRangesKept(t *testing.T) {
	const keep = 5 * lake.BlockBytes
	var parts [][]byte
	for i := range 6 {
		parts = append(parts, noise(uint64(i), 3*lake.BlockBytes))
	}
	c := readers(t, over(t, memblob.OpenBucket(nil)), keep, parts...)
	first := opened(t, c, 0)
	defer first.Close()
	p := make([]byte, len(parts[0]))
	for round := range 2 {
		for i := range parts {
			f := opened(t, c, i)
			if _, err := f.ReadAt(p, 0); err != nil || !bytes.Equal(p, parts[i]) {
				t.Errorf("round %d, part %d: %v, or other bytes", round, i, err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			here := int64(0)
			for _, e := range files(t, filepath.Join(c.home.Dir(), blocksDir)) {
				here += e.Size()
			}
			if here != c.blocks || here > keep+int64(len(p)) {
				t.Errorf("round %d, part %d: %d bytes lie there, %d are counted, %d may stay", round, i, here, c.blocks, keep)
			}
		}
	}
	if err := c.Fetch("events/3.parquet"); err != nil {
		t.Fatal(err)
	}
	if f := opened(t, c, 3); f.(interface{ Name() string }).Name() != c.path("events/3.parquet") {
		t.Error("a part that is whole is not read where it lies")
	}
	if err := c.trim(); err != nil || c.blocks > keep {
		t.Errorf("%d bytes stay: %v", c.blocks, err)
	}
}

func files(t *testing.T, dir string) (all []os.FileInfo) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, info)
	}
	return all
}

// TestRangesReplaced reads parts that somebody replaces, cuts, damages or removes in
// the midst of it: it is said, and nothing of two versions is given as one.
func TestRangesReplaced(t *testing.T) {
	const mib = lake.BlockBytes
	data := noise(3, 6*mib)
	for name, c := range map[string]struct {
		now  []byte // nil: none
		want error
		says string
	}{
		"replaced": {noise(4, 6*mib), errOther, "another run has just taken its place"},
		"cut":      {data[:4*mib+5], errOther, "another run has just taken its place"},
		"gone":     {nil, errGone, "another run has removed it"},
		"damaged":  {append(bytes.Clone(data[:5*mib+1]), append([]byte{^data[5*mib+1]}, data[5*mib+2:]...)...), errOther, "block 5"},
	} {
		b := over(t, memblob.OpenBucket(nil))
		copied := readers(t, b, 0, data)
		f := opened(t, copied, 0)
		p := make([]byte, 100)
		if _, err := f.ReadAt(p, 2*mib); err != nil {
			t.Fatal(err)
		}
		if err := b.Delete(context.Background(), "it/events/0.parquet"); err != nil {
			t.Fatal(err)
		}
		if c.now != nil {
			putObject(t, b, "it/events/0.parquet", c.now)
		}
		_, err := f.ReadAt(p, 5*mib)
		if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) || !strings.Contains(fmt.Sprint(err), "events/0.parquet") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := f.ReadAt(p, 2*mib+500); err != nil || !bytes.Equal(p, data[2*mib+500:][:100]) {
			t.Errorf("%s: what was here is not any more: %v", name, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFolder works on a directory that stands for a folder of a bucket.
func TestFolder(t *testing.T) {
	b := over(t, memblob.OpenBucket(nil))
	ctx := context.Background()
	part := noise(9, lake.BlockBytes+9)
	for key, data := range map[string]string{
		"out/report.json": `{"tool":"iopathy"}`, "out/old.txt": "old", "out/lake/.lock": "", "out/lake/runs/a.json": "{}", "out/lake/p.parquet": string(part), "out/.hidden": "x", "other/x": "y",
	} {
		putObject(t, b, key, []byte(data))
	}
	f, err := OpenFolder(ctx, b, "out", t.TempDir(), "report.json")
	if err != nil {
		t.Fatal(err)
	}
	sameTrees(t, "opened", tree(t, f.Dir()), map[string]string{"report.json": `{"tool":"iopathy"}`, "old.txt": "", "lake/.lock": ""})
	of := lake.Part{Path: "p.parquet", Bytes: int64(len(part)), Blocks: make([]string, 2)}
	for i := range of.Blocks {
		sum := sha256.Sum256(part[i*lake.BlockBytes : min((i+1)*lake.BlockBytes, len(part))])
		of.Blocks[i] = hex.EncodeToString(sum[:])
	}
	wrong := of
	wrong.Blocks = []string{of.Blocks[0], of.Blocks[0]}
	if err := f.BringParts("lake", []lake.Part{wrong}); !errors.Is(err, errOther) {
		t.Errorf("a part that is another is brought: %v", err)
	}
	if err := errors.Join(f.BringParts("lake", []lake.Part{of}), f.BringBelow("lake"), f.Bring("old.txt")); err != nil {
		t.Error(err)
	}
	if err := f.Bring("../other/x"); err == nil {
		t.Error("a file beside the folder is brought")
	}
	before := objects(t, b, "")
	if err := f.Send(ctx); err != nil {
		t.Error(err)
	}
	sameTrees(t, "nothing was written", objects(t, b, ""), before)
	for name, data := range map[string]string{"report.html": "page", "report.json": "{}", "folds/folds.json": "[]", "folds/.lock": "", ".x.tmp": "half"} {
		path := filepath.Join(f.Dir(), filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(data), 0o666)); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(filepath.Base(name), ".") {
			before["out/"+name] = data
		}
	}
	if err := errors.Join(f.Send(ctx), f.Close()); err != nil {
		t.Error(err)
	}
	sameTrees(t, "sent", objects(t, b, ""), before)
	for prefix, want := range map[string]bool{"out/lake": true, "out": false, "none": false} {
		if got, err := Holds(ctx, b, prefix); got != want || err != nil {
			t.Errorf("a lake below %s: %v, %v", prefix, got, err)
		}
	}
}

// TestLend has the lake take a part of a share in its own bucket: the store copies it, and
// nothing of it comes here.
func TestLend(t *testing.T) {
	b, ctx, dir := over(t, memblob.OpenBucket(nil)), context.Background(), t.TempDir()
	data := noise(8, 2*lake.BlockBytes)
	const rel = "events/date=2026-11-29/host=h/part-0.parquet"
	putObject(t, b, "share/lake/"+rel, data)
	f, err := EmptyFolder(ctx, b, "share", dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := Open(ctx, b, "it", Options{Write: true, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !c.Lend(f) {
		t.Fatal("a folder of the same bucket, on the same disk, is not lent")
	}
	other, err := EmptyFolder(ctx, over(t, memblob.OpenBucket(nil)), "share", dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if c.Lend(other) {
		t.Error("a folder of another bucket is lent")
	}
	if err := f.Stand("lake", []lake.Part{{Path: rel, Bytes: int64(len(data))}}); err != nil {
		t.Fatal(err)
	}
	if err := lake.Adopt(filepath.Join(f.Dir(), "lake"), c.Dir(), rel); err != nil {
		t.Fatal(err)
	}
	before := b.Received()
	if err := c.Publish(ctx); err != nil {
		t.Fatal(err)
	}
	if got := b.Received() - before; got > 1000 {
		t.Errorf("%d bytes came here", got)
	}
	if got := objects(t, b, "it/")[rel]; got != string(data) {
		t.Errorf("the lake has %d bytes, or others", len(got))
	}
	if err := c.Fetch(rel); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(c.path(rel)); err != nil || !bytes.Equal(got, data) {
		t.Errorf("fetched after: %d bytes, or others: %v", len(got), err)
	}
}
