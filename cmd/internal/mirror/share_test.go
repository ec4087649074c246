package mirror

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest/bucket"
)

// wide is the log of a host with many devices: each has a request every 60 ms that
// names another file, so that a lake of it has many bytes and few rows.
func wide(devices, requests int64) []byte {
	var s bytes.Buffer
	s.WriteString("time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error,file\n")
	r := rand.New(rand.NewPCG(5, 6))
	for i := range requests {
		for d := range devices {
			latency := 200_000 + int64(r.IntN(9))*1000
			if d == 3 && i > requests/2 {
				latency *= 50
			}
			fmt.Fprintf(&s, "%d,h1,sd%02d,%d,app,R,,%d,4096,1000,%d,0,/srv/%032x\n", day0+3600e9+i*60e6+d*1000, d, d, r.IntN(1<<18)*4096, latency, r.Uint64())
		}
	}
	return s.Bytes()
}

func judges(t *testing.T) (cluster.Catalogue, *cluster.Rules) {
	t.Helper()
	catalogue, err := configs.LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := cluster.Compile(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	return catalogue, rules
}

// incident writes the page of some seconds of one device.
func incident(t *testing.T, j *local.Job) map[string]string {
	t.Helper()
	catalogue, rules := judges(t)
	at := day0 + 3600e9
	pm, err := j.Postmortem(context.Background(), local.Incident{FromNS: at + 600e9, ToNS: at + 630e9, Host: "h1", Device: "sd03"}, nil, catalogue, rules)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if _, err := j.WritePostmortem(out, pm); err != nil {
		t.Fatal(err)
	}
	if len(pm.Devices) != 1 || len(pm.Devices[0].Slowest) == 0 {
		t.Error("the page tells of no request: it was to read some")
	}
	return tree(t, out)
}

// TestShare holds that the page of an incident fetches a small share of a lake, and is
// that of the lake in a directory.
func TestShare(t *testing.T) {
	dir, want := wideLake(t)
	share(t, inFiles(t, dir), dir, want)
}

// TestShareS3 is TestShare on a server of S3 that throttles, breaks off and is slow.
func TestShareS3(t *testing.T) {
	addr := server(t)
	var broken atomic.Int64
	p := &proxy{spoil: func(n int64, r *http.Request) string {
		switch {
		case r.Method != "GET" || n%2 == 0:
			return ""
		case n%3 == 0:
			return "throttle"
		case n%5 == 0:
			return "slow"
		}
		broken.Add(1)
		return "cut"
	}}
	b := through(t, p.listen(t, addr), bucket.Options{Tries: 12, Pause: time.Millisecond, Deadline: 20 * time.Second})
	dir, want := wideLake(t)
	for path, data := range tree(t, dir) {
		putObject(t, b, path, []byte(data))
	}
	share(t, b, dir, want)
	if broken.Load() < 5 {
		t.Errorf("%d answers broke off, of %d requests", broken.Load(), p.requests.Load())
	}
}

// wideLake makes a lake below "it", and gives the page of an incident on it.
func wideLake(t *testing.T) (dir string, want map[string]string) {
	t.Helper()
	logs, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(logs, "a.csv"), wide(24, 13_000), 0o666); err != nil {
		t.Fatal(err)
	}
	j := &local.Job{Config: configs.Default(), Lake: filepath.Join(dir, "it"), RunID: "one"}
	in, err := j.Ingest(context.Background(), []string{logs}, nil)
	if err != nil {
		t.Fatal(err)
	}
	windows, _, err := j.Features(context.Background(), in.IDs)
	if err != nil {
		t.Fatal(err)
	}
	_, rules := judges(t)
	d, err := j.Diagnose(windows, nil, rules, true)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := j.StoreDiagnosis(d); err != nil {
		t.Fatal(err)
	}
	return dir, incident(t, j)
}

func share(t *testing.T, b *bucket.Bucket, dir string, want map[string]string) {
	t.Helper()
	all := int64(0)
	for _, data := range tree(t, dir) {
		all += int64(len(data))
	}
	before := b.Received()
	c, err := Open(context.Background(), b, "it", Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sameTrees(t, "page", incident(t, jobOn(c)), want)
	got := b.Received() - before
	if all < 10<<20 || got > all/3 {
		t.Errorf("%d of the lake's %d bytes were fetched: more than a third", got, all)
	}
	t.Logf("%d of the lake's %d bytes were fetched", got, all)
}
