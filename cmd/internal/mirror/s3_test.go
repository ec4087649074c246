package mirror

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/iopathy/iopathy/cmd/internal/gateway"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/ingest/lake"
)

// server starts a server of S3 and gives its address.
func server(t *testing.T) string {
	t.Helper()
	addr, _ := gateway.Start(t)
	return addr
}

// through opens the bucket lakes of a server at an address.
func through(t *testing.T, addr string, o bucket.Options) *bucket.Bucket {
	t.Helper()
	p, err := bucket.Parse("s3://" + gateway.Bucket + gateway.Query(addr))
	if err != nil {
		t.Fatal(err)
	}
	b, err := bucket.Open(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// TestSameLakeS3 is TestSameLake on a real server of S3.
func TestSameLakeS3(t *testing.T) {
	sameLake(t, map[string]*bucket.Bucket{"s3": through(t, server(t), bucket.Options{})})
}

// proxy stands between iopathy and a server, and spoils some requests.
type proxy struct {
	to       *httputil.ReverseProxy
	requests atomic.Int64
	spoilt   atomic.Int64
	mu       sync.Mutex
	counts   map[string]int64
	spoil    func(n int64, r *http.Request) string // "", "throttle", "reset", "cut" or "slow"; n counts requests of a method
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.requests.Add(1)
	p.mu.Lock()
	p.counts[r.Method]++
	n := p.counts[r.Method]
	p.mu.Unlock()
	how := p.spoil(n, r)
	if how != "" {
		p.spoilt.Add(1)
	}
	switch how {
	case "throttle":
		_, _ = io.Copy(io.Discard, r.Body) // the client is told in any case
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`)
		return
	case "reset": // in the midst of what is sent
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
		reset(w)
		return
	case "cut": // in the midst of the answer
		w = &cutting{ResponseWriter: w, left: 3000}
	case "slow":
		time.Sleep(50 * time.Millisecond)
	}
	p.to.ServeHTTP(w, r)
}

// reset ends the connection so that the other side is told.
func reset(w http.ResponseWriter) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
}

// cutting lets some bytes of an answer through, and then resets the connection.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(p []byte) (int, error) {
	if n := min(len(p), c.left); n < len(p) {
		_, _ = c.ResponseWriter.Write(p[:n])
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		reset(c.ResponseWriter)
		return n, errors.New("cut")
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

func (p *proxy) listen(t *testing.T, server string) string {
	t.Helper()
	p.counts = map[string]int64{}
	p.to = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: server})
		r.Out.Host = r.In.Host // it is signed
	}}
	p.to.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { reset(w) }
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: p}
	go func() { _ = srv.Serve(l) }() // ends with Close
	t.Cleanup(func() { srv.Close() })
	return l.Addr().String()
}

// TestFaultsS3 works through two nights by a proxy that throttles every third
// request, resets connections in the midst of what is sent (also of the parts of a
// multipart upload) and of what is read, and is slow. Each time the bucket holds what the directory does.
func TestFaultsS3(t *testing.T) {
	addr := server(t)
	when := func(how string, yes bool) string {
		if yes {
			return how
		}
		return ""
	}
	for name, spoil := range map[string]func(n int64, r *http.Request) string{
		"throttled": func(n int64, _ *http.Request) string { return when("throttle", n%3 == 0) },
		"reset":     func(n int64, r *http.Request) string { return when("reset", r.Method == "PUT" && n%3 == 1) },
		"cut":       func(n int64, r *http.Request) string { return when("cut", r.Method == "GET" && n%2 == 0) },
		"slow":      func(int64, *http.Request) string { return "slow" },
	} {
		p := &proxy{spoil: spoil}
		b := through(t, p.listen(t, addr), bucket.Options{Tries: 12, Pause: time.Millisecond, Deadline: 20 * time.Second})
		logs, dir, outs := t.TempDir(), filepath.Join(t.TempDir(), "lake"), []string{t.TempDir(), t.TempDir()}
		for n := int64(1); n <= 2; n++ {
			what := fmt.Sprintf("%s, night %d", name, n)
			grow(t, logs, n)
			night(t, &local.Job{Config: configs.Default(), Lake: dir}, logs, outs[0], n)
			c, err := Open(context.Background(), b, "it-"+name, Options{Write: true, Dir: t.TempDir(), KeepBytes: 1})
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			night(t, jobOn(c), logs, outs[1], n)
			if err := errors.Join(c.Publish(context.Background()), c.Close()); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			sameTrees(t, what, objects(t, b, "it-"+name+"/"), tree(t, dir))
		}
		if p.spoilt.Load() < 5 {
			t.Errorf("%s: %d of %d requests were spoilt: too few", name, p.spoilt.Load(), p.requests.Load())
		}
		t.Logf("%s: %d of %d requests were spoilt", name, p.spoilt.Load(), p.requests.Load())
	}
}

// multipart is the file of 20 MiB that is sent in parts.
func multipart(n int) []byte { return bytes.Repeat([]byte("0123456789abcdef"), n<<20/16) }

// TestMultipartS3 sends a file of the lake that goes in three parts, of which one
// breaks off, and reads it back; one that is killed in its midst shows nothing.
func TestMultipartS3(t *testing.T) {
	addr := server(t)
	var broke atomic.Int64
	p := &proxy{spoil: func(n int64, r *http.Request) string {
		if r.URL.Query().Get("partNumber") == "2" && broke.Add(1) <= 2 {
			return "reset"
		}
		return ""
	}}
	b := through(t, p.listen(t, addr), bucket.Options{Tries: 12, Pause: time.Millisecond})
	data := multipart(20)
	c, err := Open(context.Background(), b, "it", Options{Write: true, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(c.path("quarantine"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.path("quarantine/large"), data, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Publish(context.Background()), c.Close()); err != nil {
		t.Fatal(err)
	}
	if broke.Load() < 2 {
		t.Error("no part broke off: it was not sent in parts")
	}
	got, err := b.Get(context.Background(), "it/quarantine/large", 1<<30)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes came back, or others: %v", len(got), err)
	}
}

// TestMultipartMemoryS3 publishes a file of 192 MiB: it goes in parts of 8 MiB, all of
// it comes back, and no more than some parts are in memory at any time.
func TestMultipartMemoryS3(t *testing.T) {
	addr := server(t)
	const size = 192 << 20
	var parts, peak atomic.Int64
	p := &proxy{spoil: func(_ int64, r *http.Request) string {
		if r.URL.Query().Has("partNumber") {
			parts.Add(1)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			for now := int64(m.HeapAlloc); ; {
				if was := peak.Load(); now <= was || peak.CompareAndSwap(was, now) {
					break
				}
			}
		}
		return ""
	}}
	b := through(t, p.listen(t, addr), bucket.Options{})
	c, err := Open(context.Background(), b, "it", Options{Write: true, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(c.path("quarantine"), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(c.path("quarantine/large"))
	if err != nil {
		t.Fatal(err)
	}
	want := sha256.New()
	for i := range byte(size >> 20) {
		data := noise(uint64(i), 1<<20)
		want.Write(data)
		if _, err := f.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := errors.Join(c.Publish(context.Background()), c.Close()); err != nil {
		t.Fatal(err)
	}
	if n := parts.Load(); n != size/(8<<20) {
		t.Errorf("%d parts, want %d of 8 MiB", n, size/(8<<20))
	}
	if more := peak.Load() - int64(before.HeapAlloc); more > size/2 {
		t.Errorf("%d MiB more in memory while %d MiB are sent", more>>20, size>>20)
	} else {
		t.Logf("%d MiB more in memory while %d MiB are sent", more>>20, size>>20)
	}
	from, err := b.Open(context.Background(), "it/quarantine/large")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	got := sha256.New()
	if n, err := io.Copy(got, from); err != nil || n != size || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		t.Errorf("%d of %d bytes came back, or others: %v", n, size, err)
	}
}

// TestLeaseS3 holds that of many that want to write at once one may, on a server
// of S3.
func TestLeaseS3(t *testing.T) { race(t, through(t, server(t), bucket.Options{})) }

// TestLease is the same in memory: whoever is late is told who holds it, and may
// have it when it was given back. (In a directory gocloud.dev's puts on condition
// are two steps.)
func TestLease(t *testing.T) { race(t, over(t, memblob.OpenBucket(nil))) }

func race(t *testing.T, b *bucket.Bucket) {
	for round := range 3 {
		var got, busy atomic.Int64
		var held *Copy
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				c, err := Open(context.Background(), b, "race", Options{Write: true, Dir: t.TempDir()})
				switch {
				case err == nil:
					got.Add(1)
					held = c
				case errors.As(err, new(*lake.Busy)):
					busy.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got.Load() != 1 || busy.Load() != 5 {
			t.Errorf("round %d: %d may write, %d are told to wait, of 6", round, got.Load(), busy.Load())
		}
		if held != nil {
			if err := held.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if left, err := b.List(context.Background(), "race"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestDamaged reads lakes with an object that is damaged, and one that is gone.
func TestDamaged(t *testing.T) {
	logs, dir := t.TempDir(), t.TempDir()
	grow(t, logs, 1)
	b := inFiles(t, dir)
	write(t, b, func(j *local.Job) {
		j.RunID = "one"
		if _, err := j.Ingest(context.Background(), []string{logs}, nil); err != nil {
			t.Fatal(err)
		}
	})
	parts, err := filepath.Glob(filepath.Join(dir, "it", "events", "*", "*", "*.parquet"))
	if err != nil || len(parts) < 2 {
		t.Fatal(parts, err)
	}
	data, err := os.ReadFile(parts[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := errors.Join(os.WriteFile(parts[0], data, 0o666), os.Remove(parts[1])); err != nil {
		t.Fatal(err)
	}
	wrong := verified(t, "damaged", b, 2)
	if len(wrong) == 2 && (wrong[0].Kind != lake.Damaged || wrong[1].Kind != lake.Absent) {
		t.Errorf("verify tells %v", wrong)
	}
	c, err := Open(context.Background(), b, "it", Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rel, err := filepath.Rel(filepath.Join(dir, "it"), parts[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Fetch(filepath.ToSlash(rel)); !errors.Is(err, errOther) {
		t.Errorf("a damaged file is fetched as if it were none: %v", err)
	}
	if err := c.Publish(context.Background()); err == nil || !strings.Contains(err.Error(), "reading") {
		t.Errorf("a reader may publish: %v", err)
	}
}
