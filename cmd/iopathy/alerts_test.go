package main

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/iopathy/iopathy/cmd/internal/alerts"
)

// A night with sick devices tells the webhook, the chat and the actuator; a
// receiver that is down is told by the next night, once.
func TestNightlyTells(t *testing.T) {
	logs, _ := unpackDemo(t)
	out := t.TempDir()
	var mu sync.Mutex
	down := true
	var got []alerts.Message
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		if down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		var m alerts.Message
		if err := json.Unmarshal(body, &m); err != nil || r.Header.Get(alerts.SignatureHeader) != alerts.Sign([]byte("k3y-of-hook"), body) {
			t.Errorf("a request that is no signed message: %v", err)
		}
		got = append(got, m)
	}))
	defer server.Close()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(out, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret := write("hook.key", "k3y-of-hook\n")
	chat, acted := filepath.Join(out, "chat.txt"), filepath.Join(out, "acted")
	settings := write("iopathy.yaml", `
out: `+out+`
ingest: {host: demo}
alert:
  severity: 1
  text: {file: `+chat+`}
  webhook: {url: "`+server.URL+`/hidden", secret_file: `+secret+`, tries: 1}
actuator:
  command: [/bin/sh, -c, 'cat >>`+acted+`']
  severity: 1
  confidence: 0.2
`)
	_, said := in(t, exitReached, "nightly", logs, "--config", settings, "--fail-on", "1")
	if !strings.Contains(said, "1 message left waiting for the next night") || !strings.Contains(said, "actuator: dry run") || strings.Contains(said, "hidden") || strings.Contains(said, "k3y") {
		t.Errorf("said:\n%s", said)
	}
	if text, err := os.ReadFile(chat); err != nil || !strings.Contains(string(text), "demo/") {
		t.Errorf("the chat is told %q, %v", text, err)
	}
	if exists(acted) {
		t.Error("a dry run acts")
	}
	dry, err := os.ReadFile(filepath.Join(out, "nights", "1970-01-01", "actions.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	actions := 0
	for line := range strings.Lines(string(dry)) {
		var a alerts.Action
		if err := json.Unmarshal([]byte(line), &a); err != nil || a.Schema != alerts.ActionSchema || a.Host != "demo" || a.Severity < 1 || a.Confidence < 0.2 || a.Pathology == "" || a.Advice == "" {
			t.Errorf("action %s: %v", line, err)
		}
		heat := 0.0
		for _, r := range a.Ranges {
			if heat += r.Heat; r.ToBytes <= r.FromBytes || r.Reads <= 0 {
				t.Errorf("range %+v", r)
			}
		}
		if heat > 1.000001 || a.Ranges == nil {
			t.Errorf("heat of all ranges: %v", heat)
		}
		actions++
	}
	if actions == 0 || !strings.Contains(string(dry), `"reads":`) {
		t.Errorf("%d actions, or none with addresses:\n%s", actions, dry)
	}

	mu.Lock()
	down = false
	mu.Unlock()
	for range 2 {
		in(t, exitFine, "nightly", logs, "--config", settings, "--quiet")
	}
	if len(got) != 1 || got[0].Date != "1970-01-01" || len(got[0].Episodes) == 0 || !strings.Contains(got[0].Text, "demo/") {
		t.Errorf("the webhook was told %+v", got)
	}

	// In earnest: a new lake, since the old one's dates are done.
	in(t, exitFine, "nightly", logs, "--config", settings, "--out", filepath.Join(out, "new"), "--quiet")
	if exists(acted) {
		t.Error("a dry run acts")
	}
	t.Setenv("IOPATHY_ACTUATOR_DRY_RUN", "false")
	in(t, exitFine, "nightly", logs, "--config", settings, "--out", filepath.Join(out, "newer"), "--quiet")
	if sent, err := os.ReadFile(acted); err != nil || string(sent) != string(dry) {
		t.Errorf("sent:\n%s\nwant what the dry run wrote:\n%s", sent, dry)
	}

	t.Setenv("IOPATHY_ACTUATOR_SECRET", "k3y-of-actuator")
	shown, _ := in(t, exitFine, "config", "show", "--config", settings)
	if strings.Contains(shown, "hidden\"") || strings.Contains(shown, "/hidden ") || strings.Contains(shown, "k3y") || !strings.Contains(shown, server.URL+"/(hidden)") || !strings.Contains(shown, "actuator.secret") {
		t.Errorf("config show prints:\n%s", shown)
	}

	// Neither the secrets nor the address is in anything that was written.
	read := 0
	err = filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == secret || path == settings {
			return err
		}
		read++
		b, err := os.ReadFile(path)
		if s := string(b); strings.Contains(s, "k3y-of") || strings.Contains(s, "/hidden") {
			t.Errorf("%s holds a secret", path)
		}
		return err
	})
	if err != nil || read < 20 {
		t.Errorf("%d files were looked through: %v", read, err)
	}
}
