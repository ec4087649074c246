package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
)

// quick are options whose pauses a test can wait for.
var quick = Options{BlockBytes: 1000, Blocks: 4, Pause: time.Microsecond, Deadline: 5 * time.Second}

func noise(n int) []byte {
	data := make([]byte, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func put(t *testing.T, b *Bucket, key string, data []byte) {
	t.Helper()
	err := b.Put(context.Background(), key, int64(len(data)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
	if err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, b *Bucket, key string) []byte {
	t.Helper()
	r, err := b.Open(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestLaws are those that hold for every store: here one in memory and one in
// a directory.
func TestLaws(t *testing.T) {
	files, err := fileblob.OpenBucket(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, store := range map[string]*blob.Bucket{"mem": memblob.OpenBucket(nil), "file": files} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			b := Over(store, name+"://b", quick)
			defer b.Close()
			for _, n := range []int{0, 1, 999, 1000, 1001, 7500} {
				data := noise(n)
				key := fmt.Sprintf("d/%d", n)
				put(t, b, key, data)
				if got := get(t, b, key); !bytes.Equal(got, data) {
					t.Errorf("%d bytes: %d came back, or others", n, len(got))
				}
				at, err := b.At(ctx, key)
				if err != nil || at.Size() != int64(n) {
					t.Fatalf("%d bytes: size %d, error %v", n, at.Size(), err)
				}
				want := bytes.NewReader(data)
				for _, x := range [][2]int{{0, n}, {n - 3, 3}, {990, 20}, {n - 1, 9}, {n, 1}, {3, 4000}} {
					if x[0] < 0 {
						continue
					}
					p, q := make([]byte, x[1]), make([]byte, x[1])
					gn, gerr := at.ReadAt(p, int64(x[0]))
					wn, werr := want.ReadAt(q, int64(x[0]))
					if x[1] > 0 && (gn != wn || !errors.Is(gerr, werr) || !bytes.Equal(p, q)) {
						t.Errorf("%d bytes, %d at %d: %d, %v; bytes.Reader says %d, %v", n, x[1], x[0], gn, gerr, wn, werr)
					}
				}
			}
			put(t, b, "d/1", []byte("anew"))
			if got := get(t, b, "d/1"); string(got) != "anew" {
				t.Errorf("an object that was written anew reads %q", got)
			}
			if all, err := b.List(ctx, "d/"); err != nil || len(all) != 6 || all[0].Key != "d/0" || all[5].Key != "d/999" || all[2].Size != 1000 {
				t.Errorf("listing: %v, %v", all, err)
			}
			for i, want := range []bool{true, false} {
				if ok, err := b.PutNew(ctx, "lock", []byte{byte(i)}); ok != want || err != nil {
					t.Errorf("PutNew, time %d: %v, %v", i+1, ok, err)
				}
			}
			if now, err := b.Get(ctx, "lock", 9); err != nil || len(now) != 1 || now[0] != 0 {
				t.Errorf("the first PutNew is to stand: %v, %v", now, err)
			}
			if _, err := b.Get(ctx, "d/7500", 7499); err == nil {
				t.Error("Get gives more than it may")
			}
			if err := errors.Join(b.Copy(ctx, "copy", "d/7500"), b.Delete(ctx, "d/7500"), b.Delete(ctx, "d/7500")); err != nil {
				t.Error(err)
			}
			if got := get(t, b, "copy"); !bytes.Equal(got, noise(7500)) {
				t.Error("the copy is another")
			}
			if _, err := b.Open(ctx, "d/7500"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a removed object: %v", err)
			}
			torn := func() (io.ReadCloser, error) {
				return io.NopCloser(io.LimitReader(rand.NewChaCha8([32]byte{}), 50)), nil
			}
			if err := b.Put(ctx, "torn", 100, torn); err == nil {
				t.Error("half of an object was taken for all of it")
			}
			if _, err := b.Stat(ctx, "torn"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("half of an object can be seen: %v", err)
			}
		})
	}
}

// TestSeek holds a stream that is put anywhere against bytes.Reader.
func TestSeek(t *testing.T) {
	b := Over(memblob.OpenBucket(nil), "mem://b", quick)
	defer b.Close()
	for _, n := range []int{0, 400, 1000, 7500} {
		data := noise(n)
		put(t, b, "k", data)
		r, err := b.Open(context.Background(), "k")
		if err != nil {
			t.Fatal(err)
		}
		want := bytes.NewReader(data)
		rng := rand.New(rand.NewPCG(3, uint64(n)))
		for range 300 {
			offset, whence := rng.Int64N(int64(n)+200)-100, rng.IntN(3)
			at, err := r.Seek(offset, whence)
			wantAt, wantErr := want.Seek(offset, whence)
			if (err == nil) != (wantErr == nil) || err == nil && at != wantAt {
				t.Fatalf("%d bytes, Seek(%d, %d): %d, %v; bytes.Reader says %d, %v", n, offset, whence, at, err, wantAt, wantErr)
			}
			p, q := make([]byte, rng.IntN(2500)+1), make([]byte, 2500)
			got, err := io.ReadFull(r, p)
			wantN, wantErr := io.ReadFull(want, q[:len(p)])
			if got != wantN || !errors.Is(err, wantErr) || !bytes.Equal(p[:got], q[:got]) {
				t.Fatalf("%d bytes, %d read at %d: %d, %v; bytes.Reader says %d, %v", n, len(p), at, got, err, wantN, wantErr)
			}
			got, err = r.ReadAt(p, offset&1023)
			if wantN, wantErr = want.ReadAt(q[:len(p)], offset&1023); got != wantN || !errors.Is(err, wantErr) || !bytes.Equal(p[:got], q[:got]) {
				t.Fatalf("%d bytes, ReadAt: %d, %v; bytes.Reader says %d, %v", n, got, err, wantN, wantErr)
			}
		}
		r.Close()
		if _, err := r.Seek(0, io.SeekStart); err == nil {
			t.Error("a stream that is closed can be put elsewhere")
		}
	}
}

// TestChanged holds that no reading mixes two versions of an object.
func TestChanged(t *testing.T) {
	b := Over(memblob.OpenBucket(nil), "mem://b", quick)
	defer b.Close()
	put(t, b, "k", noise(5000))
	r, err := b.Open(context.Background(), "k")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	at, err := b.At(context.Background(), "k")
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, "k", noise(6000))
	if _, err := io.ReadAll(r); !errors.Is(err, ErrChanged) {
		t.Errorf("stream: %v", err)
	}
	if _, err := at.ReadAt(make([]byte, 10), 4000); !errors.Is(err, ErrChanged) {
		t.Errorf("ReadAt: %v", err)
	}
}

// TestFaults reads through S3's client from a server that throttles, resets
// connections in mid-read and stands still.
func TestFaults(t *testing.T) {
	data := noise(300 << 10)
	o := Options{BlockBytes: 64 << 10, Pause: time.Millisecond}
	for name, fault := range map[string]func(int64, http.ResponseWriter) (int, bool){
		"none": nil,
		"throttled": func(n int64, w http.ResponseWriter) (int, bool) {
			if n > 4 {
				return 0, false
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`)
			return 0, true
		},
		"reset": func(int64, http.ResponseWriter) (int, bool) { return 30 << 10, false },
		"still": func(n int64, w http.ResponseWriter) (int, bool) {
			if n == 2 {
				time.Sleep(500 * time.Millisecond)
			}
			return 0, false
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := &faulty{data: data, fault: fault}
			o := o
			if name == "still" {
				o.Deadline = 300 * time.Millisecond
			}
			b := f.open(t, o)
			b.known.Store(true) // all of its patience, however slow this machine is
			if got := get(t, b, "k"); !bytes.Equal(got, data) {
				t.Errorf("%d bytes came, or others", len(got))
			}
			n := f.requests.Load()
			if fault == nil && n != 2 {
				t.Errorf("%d requests for a whole object, want the first block and the rest", n)
			}
			if fault != nil && n < 3 {
				t.Errorf("%d requests: the fault did not come", n)
			}
			some, err := b.Range(context.Background(), "k", 1000, 200<<10)
			if err != nil || !bytes.Equal(some, data[1000:][:200<<10]) {
				t.Errorf("Range: %d bytes, or others: %v", len(some), err)
			}
			if _, err := b.Range(context.Background(), "k", 299<<10, 2<<10); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("Range behind the end: %v", err)
			}
			at, err := b.At(context.Background(), "k")
			if err != nil {
				t.Fatal(err)
			}
			p := make([]byte, 100<<10)
			if _, err := at.ReadAt(p, 100<<10); err != nil || !bytes.Equal(p, data[100<<10:200<<10]) {
				t.Errorf("ReadAt: %v, or other bytes", err)
			}
			before := f.requests.Load()
			if _, err := at.ReadAt(p, 100<<10); err != nil || f.requests.Load() != before {
				t.Errorf("a block that is kept was asked for again (%v)", err)
			}
		})
	}
}

// TestGivesUp holds that patience has an end, and that what is refused for good
// is not asked for again.
func TestGivesUp(t *testing.T) {
	for _, c := range []struct {
		status, tries int // the client of S3 makes three of each of ours
		code          string
		wrong         bool
	}{
		{503, 2 * 3, "SlowDown", false}, {404, 1, "NoSuchKey", false}, {400, 1, "EntityTooLarge", false},
		{403, 1, "AccessDenied", true}, {403, 1, "SignatureDoesNotMatch", true}, {403, 1, "InvalidAccessKeyId", true}, {400, 1, "ExpiredToken", true}, {404, 1, "NoSuchBucket", true},
	} {
		f := &faulty{fault: func(_ int64, w http.ResponseWriter) (int, bool) {
			w.WriteHeader(c.status)
			fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code></Error>`, c.code)
			return 0, true
		}}
		b := f.open(t, Options{Tries: 2, Pause: time.Millisecond})
		_, err := b.Open(context.Background(), "k")
		if err == nil || int(f.requests.Load()) != c.tries || !strings.Contains(err.Error(), c.code) {
			t.Errorf("%d: %d requests, error %v", c.status, f.requests.Load(), err)
		}
		if errors.Is(err, fs.ErrNotExist) != (c.status == 404) || Wrong(err) != c.wrong || Down(err) != (!c.wrong && c.status != 404) {
			t.Errorf("%s: %v: wrong %v, down %v", c.code, err, Wrong(err), Down(err))
		}
		if words := refusals[c.code]; (words != "") != c.wrong || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "RequestID") {
			t.Errorf("%s: %v", c.code, err)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("the error tells the secret: %v", err)
		}
	}
	f := &faulty{fault: func(_ int64, w http.ResponseWriter) (int, bool) { w.WriteHeader(500); return 0, true }}
	b := f.open(t, Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Open(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("told to stop: %v", err)
	}
}

// TestNobodyThere holds that a store that never answered is given up soon, and one that
// did is not.
func TestNobodyThere(t *testing.T) {
	f := &faulty{data: noise(3 << 10)}
	b := f.open(t, Options{Tries: 3, Pause: time.Millisecond, BlockBytes: 1 << 10})
	gone := func(b *Bucket) error {
		t.Helper()
		_, err := b.Stat(context.Background(), "k")
		if err == nil || Wrong(err) || !Down(err) || !strings.Contains(err.Error(), "can't be reached") {
			t.Errorf("nobody listens: %v", err)
		}
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // nobody listens there now
	p, err := Parse("s3://b?endpoint=http://" + l.Addr().String() + "&use_path_style=true&region=us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	never, err := Open(context.Background(), p, Options{Tries: 1000, Pause: time.Hour}) // who waits between tries waits for ever
	if err != nil {
		t.Fatal(err)
	}
	defer never.Close()
	if err := gone(never); strings.Contains(err.Error(), "\n") || len(err.Error()) > 120 {
		t.Errorf("words: %v", err)
	}
	// Somebody takes the connection, and says nothing.
	mute := &faulty{fault: func(int64, http.ResponseWriter) (int, bool) { time.Sleep(time.Second); return 0, true }}
	silent := mute.open(t, Options{Tries: 1000, Pause: time.Hour, Deadline: 100 * time.Millisecond})
	if _, err := silent.Stat(context.Background(), "k"); !Down(err) || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("a store that says nothing: %v", err)
	}
	if _, err := b.Stat(context.Background(), "k"); err != nil {
		t.Fatal(err)
	}
	tries := 0
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: l.Addr(), Err: errors.New("connection refused")}
	_ = b.again(ctx, "look at", "k", time.Second, func(context.Context) error { tries++; return refused })
	if tries != 3 {
		t.Errorf("a store that has answered before is tried %d times, want 3", tries)
	}
}

func TestParse(t *testing.T) {
	for s, want := range map[string]Place{
		"s3://b/logs/":                         {"s3", "b", "logs/", ""},
		"s3://b":                               {"s3", "b", "", ""},
		"gs://b/a%20b#c":                       {"gs", "b", "a%20b#c", ""},
		"s3://b/x*.csv?region=eu&profile=work": {"s3", "b", "x*.csv", "region=eu&profile=work"},
	} {
		if got, err := Parse(s); err != nil || got != want {
			t.Errorf("%s: %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"s3://", "s3:///k", "http://b/k", "/a/b", "s3://AKIA:hush@b/k", "s3://b/k?secret_access_key=hush", "s3://b?endpoint=x&X-Amz-Signature=hush", "gs://b?private_key_path=hush", "azblob://c?sig=hush"} {
		if _, err := Parse(s); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: error %v", s, err)
		}
	}
	for s, want := range map[string]string{"/a": "/a", "file:///a%20b/": "/a b/", "file://localhost/a": "/a", "s3://b/k": "s3://b/k"} {
		if got, err := LocalPath(s); err != nil || got != want {
			t.Errorf("%s: %q, %v", s, got, err)
		}
	}
	if _, err := LocalPath("file://other/a"); err == nil {
		t.Error("a file of another machine was taken for one of this")
	}
}

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		`Get "https://a.blob.core.windows.net/c/k?sv=2024&sig=hush%3D": EOF`: `Get "https://a.blob.core.windows.net/c/k?sv=***&sig=***": EOF`,
		"s3://b/k?endpoint=http://127.0.0.1:80&region=eu":                    "s3://b/k?endpoint=http://127.0.0.1:80&region=eu",
		"s3://b/k?endpoint=http%3A%2F%2Fu%3Ahush%40h":                        "s3://b/k?endpoint=***",
		"http://u:hush@h/k and https://v:hush@h":                             "http://***@h/k and https://***@h",
		"nothing of it":                                                      "nothing of it",
	} {
		if got := Redact(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
