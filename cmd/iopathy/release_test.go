package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A release's words: every verb that people see has a page of the manual, pages name no
// machine and no day but what they are told, and a shell takes the completions.
func TestReleaseWords(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000") // 2023-11-14
	dir := t.TempDir()
	in(t, exitFine, "man", dir)
	for _, verb := range (&app{}).root().Commands() {
		if verb.Hidden || verb.Name() == "help" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, "iopathy-"+verb.Name()+".1"))
		if page := string(b); err != nil || !strings.Contains(page, ".TH ") || !strings.Contains(page, "Nov 2023") || !strings.Contains(page, "SYNOPSIS") {
			t.Errorf("the page of %s: %v\n%.300s", verb.Name(), err, page)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, _ := in(t, exitFine, "completion", shell)
		if !strings.Contains(script, "iopathy") {
			t.Errorf("the completion of %s: %.200s", shell, script)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue // not here
		}
		file := filepath.Join(dir, "completion."+shell)
		if err := os.WriteFile(file, []byte(script), 0o666); err != nil {
			t.Fatal(err)
		}
		if said, err := exec.Command(path, "-n", file).CombinedOutput(); err != nil {
			t.Errorf("%s does not take its completion: %v\n%s", shell, err, said)
		}
	}
}
