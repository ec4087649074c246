package alerts

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iopathy/iopathy/configs"
)

// downstream is a real server on this machine that does as it is told.
type downstream struct {
	*httptest.Server
	mu     sync.Mutex
	answer []string // "200", "503", "hang", "cut", "302"; the last stays
	asked  int
	got    []string // ids that were answered with 200
	bad    []string // what was wrong with requests
}

const key = "s3cret-of-the-test"

func newDownstream(t *testing.T) *downstream {
	d := &downstream{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write(body)
		d.mu.Lock()
		if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); r.Header.Get(SignatureHeader) != want {
			d.bad = append(d.bad, "signature "+r.Header.Get(SignatureHeader))
		}
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || !strings.Contains(string(body), r.Header.Get(IDHeader)) {
			d.bad = append(d.bad, fmt.Sprint(r.Method, r.Header))
		}
		how := d.answer[min(d.asked, len(d.answer)-1)]
		d.asked++
		if how == "200" {
			d.got = append(d.got, r.Header.Get(IDHeader))
		}
		d.mu.Unlock()
		switch how {
		case "hang":
			<-r.Context().Done()
		case "cut":
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				c.Close()
			}
		case "302":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		default:
			var code int
			fmt.Sscan(how, &code)
			w.WriteHeader(code)
		}
	}))
	t.Cleanup(d.Close)
	return d
}

// tell sets the answers to come.
func (d *downstream) tell(answers ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer, d.asked = answers, 0
}

func (d *downstream) taken() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.got, " ")
}

// testSender sends to url and notes what it says and how long it would wait.
func testSender(t *testing.T, url string, timeout time.Duration, most int) (s *sender, said *[]string, waits *[]time.Duration) {
	t.Helper()
	t.Setenv("IOPATHY_ALERT_WEBHOOK_SECRET", key)
	to, err := newByHTTP(configs.Webhook{URL: url, Timeout: timeout}, "alert.webhook", "test")
	if err != nil {
		t.Fatal(err)
	}
	said, waits = new([]string), new([]time.Duration)
	return &sender{
		queue: queue{filepath.Join(t.TempDir(), "queue"), most}, to: to, tries: 3, rng: rand.New(rand.NewPCG(1, 0)), what: "webhook",
		wait: func(_ context.Context, d time.Duration) error { *waits = append(*waits, d); return nil },
		say:  func(format string, args ...any) { *said = append(*said, fmt.Sprintf(format, args...)) },
	}, said, waits
}

func put(t *testing.T, s *sender, id string) {
	t.Helper()
	if err := s.put(id, map[string]string{"id": id}); err != nil {
		t.Fatal(err)
	}
}

func send(t *testing.T, s *sender) {
	t.Helper()
	if err := s.send(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// A server that fails, cuts the line, hangs, sends elsewhere, and comes back:
// nothing is lost, nothing overtakes, nothing is sent twice.
func TestWebhookOutlivesItsReceiver(t *testing.T) {
	d := newDownstream(t)
	s, said, waits := testSender(t, d.URL+"/hidden-path", 5*time.Second, 10)

	put(t, s, "a")
	d.tell("503", "cut", "200")
	send(t, s)
	if d.taken() != "a" || len(*waits) != 2 || len(*said) != 0 {
		t.Fatalf("taken %q, %d waits, said %q: want a at the third try", d.taken(), len(*waits), *said)
	}
	for i, w := range *waits {
		if w < firstWait<<i/2 || w > firstWait<<i {
			t.Errorf("wait %d is %v, want between half of and %v", i, w, firstWait<<i)
		}
	}

	put(t, s, "b")
	d.tell("500")
	send(t, s)
	put(t, s, "c")
	put(t, s, "b") // waits already
	put(t, s, "a") // was sent
	d.tell("302")
	send(t, s)
	if d.taken() != "a" || len(*said) != 2 || !strings.Contains((*said)[1], "2 messages left waiting for the next night: 3 tries: status 302") {
		t.Fatalf("taken %q, said %q", d.taken(), *said)
	}

	// The next night's process: all that it knows is on disk.
	again := *s
	again.to.(*byHTTP).timeout = 50 * time.Millisecond
	d.tell("hang")
	send(t, &again)
	if d.taken() != "a" || !strings.Contains((*said)[2], "deadline") {
		t.Fatalf("taken %q, said %q", d.taken(), *said)
	}
	again.to.(*byHTTP).timeout = 5 * time.Second
	d.tell("200")
	send(t, &again)
	send(t, &again)
	if d.taken() != "a b c" {
		t.Errorf("taken %q, want a b c, each once", d.taken())
	}

	// No server at all.
	put(t, s, "d")
	d.Close()
	send(t, s)
	if _, waiting, err := s.queue.load(); err != nil || len(waiting) != 1 {
		t.Errorf("%d messages wait, %v", len(waiting), err)
	}
	if len(d.bad) > 0 {
		t.Error("requests:", d.bad)
	}
	if all := strings.Join(*said, "\n"); strings.Contains(all, key) || strings.Contains(all, "hidden-path") {
		t.Errorf("a secret is said:\n%s", all)
	}
}

// A message that the receiver will never take does not stop those behind it.
func TestWebhookRefused(t *testing.T) {
	d := newDownstream(t)
	s, said, _ := testSender(t, d.URL, 5*time.Second, 10)
	put(t, s, "a")
	put(t, s, "b")
	d.tell("400", "200")
	send(t, s)
	put(t, s, "a")
	send(t, s)
	st, waiting, err := s.queue.load()
	if d.taken() != "b" || len(*said) != 1 || err != nil || len(waiting) != 0 || st.Dropped != 1 {
		t.Errorf("taken %q, said %q, %d wait, %d dropped, %v", d.taken(), *said, len(waiting), st.Dropped, err)
	}
}

func TestQueueIsBounded(t *testing.T) {
	d := newDownstream(t)
	s, said, _ := testSender(t, d.URL, 5*time.Second, 3)
	for _, id := range strings.Fields("a b c d e") {
		put(t, s, id)
	}
	d.tell("200")
	send(t, s)
	st, _, err := s.queue.load()
	if d.taken() != "c d e" || st.Dropped != 2 || len(*said) != 2 || err != nil {
		t.Errorf("taken %q, %d dropped, said %q, %v", d.taken(), st.Dropped, *said, err)
	}
	// A state that is damaged, and files that are not ours, lose nothing.
	put(t, s, "f")
	for name, text := range map[string]string{stateFile: "{", "notes.txt": "x", "x-y.json": "{}"} {
		if err := os.WriteFile(filepath.Join(s.queue.dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, "g")
	send(t, s)
	if d.taken() != "c d e f g" {
		t.Errorf("taken %q", d.taken())
	}
}

// A night that is told to stop leaves what it has not sent.
func TestSendIsInterrupted(t *testing.T) {
	d := newDownstream(t)
	d.tell("503")
	s, _, _ := testSender(t, d.URL, 5*time.Second, 3)
	put(t, s, "a")
	ctx, stop := context.WithCancel(context.Background())
	s.wait = func(ctx context.Context, _ time.Duration) error { stop(); return ctx.Err() }
	if err := s.send(ctx); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	if _, waiting, _ := s.queue.load(); len(waiting) != 1 {
		t.Errorf("%d wait", len(waiting))
	}
}

func TestBackOffIsSeeded(t *testing.T) {
	a, b := rand.New(rand.NewPCG(7, 0)), rand.New(rand.NewPCG(7, 0))
	for n := range 200 {
		x, y := backOff(a, n), backOff(b, n)
		if x != y || x > longestWait || x < firstWait/2 {
			t.Fatalf("wait %d: %v and %v", n, x, y)
		}
	}
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	t.Setenv("IOPATHY_ALERT_WEBHOOK_SECRET", key)
	run := func(timeout time.Duration, argv ...string) error {
		return byCommand{argv, timeout}.take(context.Background(), "id1", []byte(`{"device":"$(touch /x); \"sda\""}`))
	}
	if err := run(time.Minute, "/bin/sh", "-c", `cat >"$0"; env >"$0.env"`, out); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(out); err != nil || string(b) != `{"device":"$(touch /x); \"sda\""}` {
		t.Errorf("the command read %q, %v", b, err)
	}
	if b, err := os.ReadFile(out + ".env"); err != nil || strings.Contains(string(b), key) || !strings.Contains(string(b), "IOPATHY_ACTION_ID=id1") {
		t.Errorf("the command's environment is %s, %v", b, err)
	}
	if err := run(time.Minute, "/bin/sh", "-c", `printf 'no\033[2J room' >&2; exit 3`); err == nil || !strings.Contains(err.Error(), "exit status 3: no\uFFFD") {
		t.Errorf("got %v", err)
	}
	if err := run(50*time.Millisecond, "/bin/sh", "-c", "sleep 600"); err == nil || !strings.Contains(err.Error(), "took more than") {
		t.Errorf("got %v", err)
	}
	if err := run(time.Minute, filepath.Join(dir, "absent")); err == nil {
		t.Error("no error for a command that does not exist")
	}
}
