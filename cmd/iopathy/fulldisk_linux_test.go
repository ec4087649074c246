package main

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFullDisk fills a small file system: the error says so, the lake is what
// it was before, and once there is room the same run gives what an undisturbed
// one does.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program many times over")
	}
	disk, dir := t.TempDir(), t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("a file system of its own: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("IOPATHY_INGEST_CHUNK_BYTES", strconv.Itoa(1<<20))
	lake, elsewhere := filepath.Join(disk, "lake"), filepath.Join(dir, "lake")
	grows, big := filepath.Join(dir, "grows.csv"), filepath.Join(dir, "big.csv")
	full := func(what string, args ...string) {
		t.Helper()
		before := stateOf(t, lake)
		cmd := iopathy(t, append(args, "--lake", lake, "--quiet")...)
		var words bytes.Buffer
		cmd.Stderr = &words
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(words.String(), "no space left on device") {
			t.Errorf("%s: %v\n%s", what, err, words.String())
		}
		if d := cmp.Diff(before, stateOf(t, lake)); d != "" {
			t.Errorf("%s: the lake is another (-before +after):\n%s", what, d)
		}
		must(t, "verify", lake)
	}
	eventFile(t, grows, 1, 5, 1_500_000)
	must(t, "ingest", grows, "--lake", lake, "--quiet")
	must(t, "ingest", grows, "--lake", elsewhere, "--quiet")
	eventFile(t, big, 2, 5, 12_000_000)
	full("another input", "ingest", big)
	eventFile(t, grows, 1, 5, 14_000_000)
	full("an input that has grown", "ingest", grows)
	full("both", "ingest", grows, big)
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	must(t, "ingest", grows, big, "--lake", lake, "--quiet")
	must(t, "ingest", grows, big, "--lake", elsewhere, "--quiet")
	if d := cmp.Diff(stateOf(t, elsewhere), stateOf(t, lake)); d != "" {
		t.Errorf("with room again the lake is another than one that always had it:\n%s", d)
	}
	must(t, "verify", lake)
}
