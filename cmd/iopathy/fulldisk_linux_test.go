package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
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
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a file system of its own: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("IOPATHY_INGEST_CHUNK_BYTES", strconv.Itoa(1<<19))
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
	eventFile(t, big, 2, 5, 6_000_000)
	full("another input", "ingest", big)
	eventFile(t, grows, 1, 5, 7_000_000)
	full("an input that has grown", "ingest", grows)
	full("both", "ingest", grows, big)
	size := func(bytes int64) {
		t.Helper()
		if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", bytes)); err != nil {
			t.Fatal(err)
		}
	}
	const roomy = 64 << 20
	size(roomy)
	before := filepath.Join(dir, "before")
	copyTree(t, lake, before)
	must(t, "ingest", grows, big, "--lake", elsewhere, "--quiet")
	recovers := func(what string) {
		t.Helper()
		size(roomy)
		must(t, "ingest", grows, big, "--lake", lake, "--quiet")
		if d := cmp.Diff(stateOf(t, elsewhere), stateOf(t, lake)); d != "" {
			t.Errorf("%s: with room again the lake is another than one that always had it:\n%s", what, d)
		}
		must(t, "verify", lake)
	}
	recovers("a disk of 1 MB")
	points := soak(t, "IOPATHY_SOAK_FULL", 0)
	if points == 0 {
		return
	}
	again := func(room int64) (isFull bool) {
		t.Helper()
		if err := os.RemoveAll(lake); err != nil {
			t.Fatal(err)
		}
		copyTree(t, before, lake)
		var stat syscall.Statfs_t
		if err := syscall.Statfs(disk, &stat); err != nil {
			t.Fatal(err)
		}
		size(int64(stat.Blocks-stat.Bfree)*stat.Bsize + room)
		err := iopathy(t, "ingest", grows, big, "--lake", lake, "--quiet").Run()
		size(roomy)
		return err != nil
	}
	need := bisect(8<<10, 32<<20, 32<<10, again)
	for i := range points {
		room := (8 << 10) + i*(need-(8<<10))/points
		copied := stateOf(t, before)
		if !again(room) {
			t.Errorf("%d kB of room of %d: the disk was not full", room>>10, need>>10)
		} else if d := cmp.Diff(copied, stateOf(t, lake)); d != "" {
			t.Errorf("%d kB of room: the lake is another (-before +after):\n%s", room>>10, d)
		}
		must(t, "verify", lake)
		recovers(fmt.Sprintf("%d kB of room", room>>10))
	}
	t.Logf("an ingest needs %d kB of room: at %d points below the disk was full, the lake stayed what it was, and with room again it became that of an undisturbed run", need>>10, points)
}
