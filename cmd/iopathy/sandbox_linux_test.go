package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSystemdSandbox holds the system calls of nights (one with nothing new, one with a
// receiver that is not there, all of it traced by strace) against the filter of the
// service, as systemd itself spells it out: what it forbids would end the night. systemd's
// own judgement of the service is below 2 of 10.
func TestSystemdSandbox(t *testing.T) {
	if testing.Short() {
		t.Skip("needs strace and systemd, and is about single processes")
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze here")
	}
	service := examples + "iopathy.service"
	if said, err := exec.Command(analyze, "security", "--offline=yes", "--threshold=20", service).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, said)
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here")
	}
	var members func(set string) []string
	members = func(set string) (calls []string) {
		out, err := exec.Command(analyze, "syscall-filter", set).Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			switch line = strings.TrimSpace(line); {
			case line == "" || line == set || line[0] == '#':
			case line[0] == '@':
				calls = append(calls, members(line)...)
			default:
				calls = append(calls, line)
			}
		}
		return calls
	}
	allowed := map[string]bool{}
	for line := range strings.Lines(example(t, "iopathy.service")) {
		sets, ok := strings.CutPrefix(strings.TrimSpace(line), "SystemCallFilter=")
		if !ok {
			continue
		}
		sets, deny := strings.CutPrefix(sets, "~")
		for _, set := range strings.Fields(sets) {
			for _, call := range members(set) {
				allowed[call] = !deny
			}
		}
	}
	if !allowed["openat"] || allowed["mount"] || len(allowed) < 200 {
		t.Fatalf("the filter was not understood: %d system calls", len(allowed))
	}
	dir := t.TempDir()
	logs, _ := unpackDemo(t)
	t.Setenv("IOPATHY_ALERT_SEVERITY", "0.1")
	t.Setenv("IOPATHY_ALERT_WEBHOOK_URL", "http://127.0.0.1:9/") // discard: nobody listens
	t.Setenv("IOPATHY_ALERT_WEBHOOK_TRIES", "1")
	t.Setenv("IOPATHY_ALERT_METRICS", filepath.Join(dir, "iopathy.prom"))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	call := regexp.MustCompile(`(?m)^(?:\d+ +)?([a-z_0-9]+)\(`)
	used := map[string]bool{}
	for range 2 {
		traced := filepath.Join(dir, "calls")
		cmd := exec.Command(strace, "-f", "-qq", "-o", traced, self, "nightly", logs, "--host", "demo", "--out", filepath.Join(dir, "out"), "--quiet")
		cmd.Env = append(os.Environ(), asMain+"=1")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("strace: %v: %s", err, said)
		}
		b, err := os.ReadFile(traced)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(b), -1) {
			used[m[1]] = true
		}
	}
	var forbidden []string
	for c := range used {
		if !allowed[c] {
			forbidden = append(forbidden, c)
		}
	}
	slices.Sort(forbidden)
	if len(forbidden) > 0 || !used["connect"] || !used["flock"] || len(used) < 30 {
		t.Errorf("of %d system calls the service forbids %v", len(used), forbidden)
	}
}
