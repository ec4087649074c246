package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iopathy/iopathy/ingest/lake"
)

// TestDrillDisk gives a night a lake on a disk that can't be written, and on disks that are
// full at different points: it fails and says why, the lake stays whole, and the
// next night with room leaves what an undisturbed one does.
func TestDrillDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	points := int(soak(t, "IOPATHY_SOAK_FULL", 2))
	disk, dir := t.TempDir(), t.TempDir()
	mount := func(flags uintptr, size int64) error {
		return syscall.Mount("tmpfs", disk, "tmpfs", flags, fmt.Sprintf("size=%d", size))
	}
	if err := mount(0, 64<<20); err != nil {
		t.Skipf("a file system of its own: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	logs, base := stage(t, 150_000)
	want, out := filepath.Join(dir, "want"), filepath.Join(disk, "out")
	copyTree(t, base, want)
	must(t, "nightly", logs, "--out", want, "--quiet")
	undisturbed := holdings(t, want)
	night := []string{"nightly", logs, "--out", out, "--quiet"}
	settle := func(what string) {
		t.Helper()
		must(t, "verify", filepath.Join(out, "lake"), "--quiet")
		if err := mount(syscall.MS_REMOUNT, 64<<20); err != nil {
			t.Fatal(err)
		}
		must(t, night...)
		must(t, "verify", filepath.Join(out, "lake"), "--quiet")
		if d := cmp.Diff(undisturbed, holdings(t, out)); d != "" {
			t.Errorf("%s: the next night leaves something else (-undisturbed +):\n%.3000s", what, d)
		}
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
	}
	copyTree(t, base, out)
	idle := holdings(t, out)
	if err := mount(syscall.MS_REMOUNT|syscall.MS_RDONLY, 64<<20); err != nil {
		t.Fatal(err)
	}
	if said := says(t, exitFailed, night...); !strings.Contains(said, "read-only file system") {
		t.Errorf("a read-only lake: %s", said)
	}
	must(t, "query", "SELECT 1", "--lake", filepath.Join(out, "lake"), "--print")
	if d := cmp.Diff(idle, holdings(t, out)); d != "" {
		t.Errorf("a night on a read-only lake changed it:\n%s", d)
	}
	settle("read-only")

	// narrow runs a night with so much room, and says whether it was too little.
	narrow := func(room int64) bool {
		t.Helper()
		copyTree(t, base, out)
		var stat syscall.Statfs_t
		if err := syscall.Statfs(disk, &stat); err != nil {
			t.Fatal(err)
		}
		used := int64(stat.Blocks-stat.Bfree) * stat.Bsize
		if err := mount(syscall.MS_REMOUNT, used+room); err != nil {
			t.Fatal(err)
		}
		said, err := iopathy(t, night...).CombinedOutput()
		if err == nil {
			return false
		}
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != exitFailed || !strings.Contains(string(said), "no space left on device") {
			t.Errorf("%d kB of room: %v: %s", room>>10, err, said)
		}
		return true
	}
	need := int64(64 << 10)
	if points > 2 { // spread them over all that a night needs
		need = bisect(8<<10, 4<<20, 8<<10, func(room int64) bool {
			full := narrow(room)
			settle(fmt.Sprintf("%d kB of room", room>>10))
			return full
		})
		t.Logf("a night needs %d kB of room", need>>10)
	}
	full := 0
	for i := range points {
		room := int64(8<<10) + int64(i)*(need-(8<<10))/int64(points)
		if narrow(room) {
			full++
		}
		settle(fmt.Sprintf("%d kB of room", room>>10))
	}
	t.Logf("the disk was full at %d of %d points: the night fails, the lake stays whole, and the next night with room leaves what an undisturbed one does", full, points)
	if full < (points+1)/2 {
		t.Errorf("the disk was full at %d of %d points", full, points)
	}
}

// bisect gives, to within a step, the least room at which it is not full any more.
func bisect(from, to, step int64, full func(int64) bool) int64 {
	for to-from > step {
		if middle := (from + to) / 2 / step * step; full(middle) {
			from = middle
		} else {
			to = middle
		}
	}
	return to
}

// TestDrillDenied keeps one of 100 logs from the night: the others are read, it is named, and
// once it may be read the lake is that of a night that could.
func TestDrillDenied(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	if os.Getuid() != 0 {
		t.Skip("another user can be had by root only")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "denied")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	const nobody = 65534
	logs, out, calm := filepath.Join(dir, "logs"), filepath.Join(dir, "out"), filepath.Join(dir, "calm")
	for _, d := range []string{dir, logs, out, calm} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{out, calm} {
		if err := os.Chown(d, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "iopathy")
	if err := os.Link(self, program); err != nil {
		b, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		path := filepath.Join(logs, fmt.Sprintf("%02d.csv", i))
		headed(t, path, fmt.Sprint(i), 1, 2, 5_000)
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	night := func(out string) (string, error) {
		cmd := exec.Command(program, "nightly", logs, "--out", out)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), asMain+"=1", "HOME="+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
	denied := filepath.Join(logs, "42.csv")
	if err := os.Chmod(denied, 0); err != nil {
		t.Fatal(err)
	}
	said, err := night(out)
	if err != nil && strings.Contains(err.Error(), "fork/exec") {
		t.Skipf("another user can't start the program: %v", err)
	}
	if !strings.Contains(said, "42.csv") || !strings.Contains(said, "permission denied") {
		t.Errorf("%v: the night says nothing of the log that it may not read: %s", err, said)
	}
	t.Logf("one of 100 may not be read: %v", err)
	events, err := lake.Manifests(filepath.Join(out, "lake"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(lake.Parts(events, lake.Events)); n != 99 {
		t.Errorf("%d parts of 99 logs that may be read", n)
	}
	if err := os.Chmod(denied, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, o := range []string{out, calm} {
		if said, err := night(o); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
	if !maps.Equal(tables(t, calm, lake.Events, lake.Windows, lake.Labels), tables(t, out, lake.Events, lake.Windows, lake.Labels)) {
		t.Error("once it may be read the lake is another than that of a night that could")
	}
}
