package configs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// All that is wrong with a file is told at once, each with its line; what the
// environment says wrong names the variable.
func TestAllErrorsAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "iopathy.yaml")
	text := `seed: 5
wndow: 10s
max_rejects: 7
tick: soon
alert:
  severity: -1
  webhook:
    url: https://hooks.example/T0/secretpath
    tries: 0
actuator:
  command: [/bin/act]
  url: ftp://x/secretpath
  nosuch: 1
ingest:
  zone: Nowhere/Here
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("IOPATHY_FAIL_ON", "-2")
	_, _, err := Load(path, nil)
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	for _, want := range []string{`:2: unknown key "wndow" (is it "window"?)`, `:3: max_rejects: 7`, ":4: 'tick'", `:6: alert.severity: -1`, `:9: alert.webhook.tries: 0`,
		`:12: actuator.url: there is a command`, `:12: actuator.url: want http`, `:13: unknown key "actuator.nosuch"`, `:15: ingest.zone`, `IOPATHY_FAIL_ON: fail_on: -2`} {
		n := 0
		for _, l := range lines {
			if strings.Contains(l, want) && (strings.Contains(l, path) || strings.HasPrefix(want, "IOPATHY")) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d lines say %q, want 1:\n%s", n, want, err)
		}
	}
	if len(lines) != 10 {
		t.Errorf("%d lines, want 10:\n%s", len(lines), err)
	}
	if strings.Contains(err.Error(), "secretpath") {
		t.Errorf("an address is printed: %s", err)
	}
}

func TestSecret(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	if err := os.WriteFile(path, []byte("from file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(w Webhook, want string) {
		t.Helper()
		s, err := w.ReadSecret("alert.webhook")
		if err != nil || string(s.Bytes()) != want {
			t.Errorf("got %q, %v, want %q", s.Bytes(), err, want)
		}
		if printed := fmt.Sprintf("%v %+v %#v %s", s, s, s, s); want != "" && strings.Contains(printed, want) {
			t.Errorf("printed: %s", printed)
		}
	}
	check(Webhook{}, "")
	check(Webhook{SecretFile: path}, "from file")
	t.Setenv("IOPATHY_ALERT_WEBHOOK_SECRET", "from environment")
	check(Webhook{SecretFile: path}, "from environment")
	t.Setenv("IOPATHY_ALERT_WEBHOOK_SECRET", "")
	if err := os.WriteFile(path, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := (Webhook{SecretFile: path}).ReadSecret("alert.webhook"); err == nil {
		t.Errorf("an empty file gives %q", s.Bytes())
	}
	if got := (Value{Key: "actuator.url", Value: "https://hooks.example/T0/secretpath"}).Shown(); got != "https://hooks.example/(hidden)" {
		t.Errorf("shown %q", got)
	}
}
