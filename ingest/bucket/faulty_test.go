package bucket

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// faulty is a server of one object over HTTP, as S3 serves one, that fails as
// it is told to.
type faulty struct {
	data     []byte
	requests atomic.Int64
	fault    func(n int64, w http.ResponseWriter) (cut int, handled bool) // cut: bytes after which the connection is reset
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := f.requests.Add(1)
	cut, handled := 0, false
	if f.fault != nil {
		cut, handled = f.fault(n, w)
	}
	if handled {
		return
	}
	w.Header().Set("ETag", `"one"`)
	if cut == 0 {
		http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(f.data))
		return
	}
	var from, to int
	w.Header().Set("Last-Modified", time.Unix(1e9, 0).UTC().Format(http.TimeFormat))
	if k, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); k < 2 {
		to = len(f.data) - 1
	}
	to = min(to, len(f.data)-1)
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(f.data)))
	w.Header().Set("Content-Length", fmt.Sprint(to+1-from))
	w.WriteHeader(http.StatusPartialContent)
	_, _ = w.Write(f.data[from:min(from+cut, to+1)]) // the reset follows
	if err := http.NewResponseController(w).Flush(); err != nil {
		return
	}
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = c.(*net.TCPConn).SetLinger(0) // so that Close resets it
		c.Close()
	}
}

func (f *faulty) open(t *testing.T, o Options) *Bucket {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: f}
	go func() { _ = srv.Serve(l) }() // ends with Close
	t.Cleanup(func() { srv.Close() })
	t.Setenv("AWS_ACCESS_KEY_ID", "who")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hush-hush")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	p, err := Parse("s3://b?endpoint=http://" + l.Addr().String() + "&use_path_style=true&region=us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}
