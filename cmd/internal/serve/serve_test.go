package serve_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/cmd/internal/serve"
	"github.com/iopathy/iopathy/configs"
	_ "github.com/iopathy/iopathy/ingest/formats" // the formats that are read
)

// lakeOf makes a lake of a table of events: a disk, h1/sdb, of 10 ms reads that
// stops for 4 s, beside another.
func lakeOf(t *testing.T) serve.Lake {
	t.Helper()
	return lakeNamed(t, "h1", "sdb")
}

func lakeNamed(t *testing.T, host, sick string) serve.Lake {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error\n")
	line := func(host, device string, ns, latency int64) {
		for _, s := range []string{num(ns), ",", host, ",", device, ",1,<b>app</b>,R,,", num(ns / 50e6 * 7919 % 1000003 * 4096), ",4096,1000,", num(latency), ",0\n"} {
			b.WriteString(s)
		}
	}
	const start = int64(1700000000000000000)
	for i := int64(0); i < 2400; i++ {
		ns := start + i*50e6
		line(host, "sda", ns+10e6, 10e6)
		if at := i * 50; at >= 60_000 && at < 64_000 {
			line(host, sick, start+64_010e6+i, 64_010e6-at*1e6)
		} else {
			line(host, sick, ns+10e6, 10e6)
		}
	}
	log := filepath.Join(dir, "events.csv")
	if err := os.WriteFile(log, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	catalogue, err := configs.LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := cluster.Compile(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	job := &local.Job{Config: configs.Default(), Lake: filepath.Join(dir, "lake"), RunID: "one", Version: "test"}
	in, err := job.Ingest(context.Background(), []string{log}, nil)
	if err != nil {
		t.Fatal(err)
	}
	windows, _, err := job.Features(context.Background(), in.IDs)
	if err != nil {
		t.Fatal(err)
	}
	d, err := job.Diagnose(windows, nil, rules, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := job.StoreDiagnosis(d); err != nil {
		t.Fatal(err)
	}
	return serve.Lake{Job: job, Catalogue: catalogue, Rules: rules}
}

func num(v int64) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + v%10)
		if v /= 10; v == 0 {
			return string(b[i:])
		}
	}
}

func get(t *testing.T, s http.Handler, method, host, path string) (int, http.Header, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	r.Host = host
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Header(), w.Body.String()
}

func TestPages(t *testing.T) {
	s := serve.New(lakeOf(t), "127.0.0.1:8420", []string{"io.example.org"})
	check := func(path string, want int, words ...string) string {
		t.Helper()
		code, h, body := get(t, s, "GET", "127.0.0.1:8420", path)
		if code != want {
			t.Fatalf("%s: %d, want %d: %.200s", path, code, want, body)
		}
		for _, w := range words {
			if !strings.Contains(body, w) {
				t.Errorf("%s lacks %q", path, w)
			}
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: headers are %v", path, h)
		}
		return body
	}
	check("/", 200, `href="/night/2023-11-14"`, "Sudden stall", "h1/sdb", `href="/device?device=sdb&amp;host=h1"`)
	night := check("/night/2023-11-14", 200, `"drill":true`, `"host":"h1","device":"sdb"`, "Sudden stall")
	if again := check("/night/2023-11-14", 200); again != night {
		t.Error("the night's report differs when asked again")
	}
	check("/device?host=h1&device=sdb", 200, "1 sick window", "/window?at=1700000060000000000&amp;device=sdb&amp;host=h1")
	window := check("/window?host=h1&device=sdb&at=1700000060000000000", 200, "Sudden stall", "&lt;b&gt;app&lt;/b&gt;", "events.csv, byte", "Past windows most like it", "Window before")
	if strings.Contains(window, "<b>app</b>") {
		t.Error("a name became markup")
	}
	check("/window?host=h1&device=sdb&near=1700000064123456000", 200, "Sudden stall")
	check("/window?host=h1&device=sda&at=1700000060000000000", 200, "healthy")
	for _, nothing := range []string{"/night/2023-11-15", "/night/yesterday", "/device?host=h1&device=sda", "/device", "/window", "/window?host=h1&device=sdb&at=12", "/window?host=h1&device=sdb&at=x", "/window?host=%2e%2e%2f&device=x&at=1700000060000000000"} {
		check(nothing, 404)
	}
	check("/lake/events", 404)
	check("/..%2f..%2fetc/passwd", 404)
	if code, _, body := get(t, s, "HEAD", "localhost:8420", "/"); code != 200 || body != "" {
		t.Errorf("HEAD gives %d and %d bytes", code, len(body))
	}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		if code, _, _ := get(t, s, method, "127.0.0.1:8420", "/"); code != http.StatusMethodNotAllowed {
			t.Errorf("%s gives %d", method, code)
		}
	}
}

// A page elsewhere that has its name point here is not answered.
func TestHosts(t *testing.T) {
	s := serve.New(lakeOf(t), "10.1.2.3:8420", []string{"io.example.org"})
	for host, want := range map[string]int{"localhost": 200, "127.0.0.1:8420": 200, "[::1]:8420": 200, "10.1.2.3:8420": 200, "io.example.org:8420": 200, "IO.Example.org": 200,
		"evil.example.org": 421, "10.1.2.4": 421, "": 421, "127.0.0.1.evil.example.org:8420": 421} {
		if code, _, _ := get(t, s, "GET", host, "/"); code != want {
			t.Errorf("host %q gives %d, want %d", host, code, want)
		}
	}
}

func TestRunEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	s := serve.New(lakeOf(t), l.Addr().String(), nil)
	go func() { ended <- s.Run(ctx, l) }()
	r, err := http.Get("http://" + l.Addr().String() + "/")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil || r.StatusCode != 200 || !strings.Contains(string(body), "Calendar") {
		t.Errorf("%d, %d bytes, %v", r.StatusCode, len(body), err)
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on after its context ended")
	}
}
