package main

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iopathy/iopathy/ingest/lake"
)

// A copy of an idle lake is that lake: the next night goes on in it. What OPERATIONS says
// of a copy without events holds, too: they are named as missing, and written anew from
// their logs, byte for byte.
func TestBackup(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	dir := t.TempDir()
	logs, out, copied := filepath.Join(dir, "logs"), filepath.Join(dir, "out"), filepath.Join(dir, "copied")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	headed(t, filepath.Join(logs, "a.csv"), "a", 1, 2, 150_000)
	in(t, exitFine, "nightly", logs, "--out", out, "--quiet")
	copyTree(t, out, copied)
	idle := stamps(t, copied)
	in(t, exitFine, "nightly", logs, "--out", copied, "--quiet")
	if d := cmp.Diff(idle, stamps(t, copied)); d != "" {
		t.Errorf("nothing new for a copy, and files changed:\n%s", d)
	}
	headed(t, filepath.Join(logs, "b.csv"), "b", 25, 2, 150_000)
	for _, o := range []string{out, copied} {
		in(t, exitFine, "nightly", logs, "--out", o, "--quiet")
	}
	if d := cmp.Diff(holdings(t, out), holdings(t, copied)); d != "" {
		t.Errorf("the night on the copy leaves something else:\n%s", d)
	}
	held := filepath.Join(copied, "lake")
	if err := os.RemoveAll(filepath.Join(held, lake.Events)); err != nil {
		t.Fatal(err)
	}
	in(t, exitFailed, "verify", held, "--quiet")
	in(t, exitFine, "ingest", "--repair", logs, "--lake", held, "--quiet")
	in(t, exitFine, "verify", held, "--quiet")
	if !maps.Equal(tables(t, out, lake.Events), tables(t, copied, lake.Events)) {
		t.Error("events that were written anew are others")
	}
}
