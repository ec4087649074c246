package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest/lake"
)

var errKilled = errors.New("killed")

// kill ends a Copy as SIGKILL would: nothing is tidied up, but nothing of it runs
// any more. The working copy stays, with nobody at home.
func (c *Copy) kill(t *testing.T) {
	t.Helper()
	c.lease.stop()
	<-c.lease.done
	if err := c.home.Close(); err != nil {
		t.Fatal(err)
	}
}

// lapse makes the leases in a bucket that is a directory look old.
func lapse(t *testing.T, dir string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "it", ".writer", "*"))
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, path := range all {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

// second is what a run does to a lake that holds the first logs: one of these has
// grown, there are new ones, and parts are removed.
func second(t *testing.T, j *local.Job, logs string) {
	t.Helper()
	j.RunID, j.SkipEmpty = "two", true
	if _, err := j.Ingest(context.Background(), []string{logs}, nil); err != nil {
		t.Fatal(err)
	}
	lock, err := lake.NewLock(j.Lake)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	manifests, err := lake.Manifests(j.Lake)
	if err != nil {
		t.Fatal(err)
	}
	m := lake.Manifest{Run: "three"}
	for _, p := range lake.Parts(manifests, lake.Events) {
		if strings.Contains(p.Path, "host=h2") {
			m.Removed = append(m.Removed, p.Path)
		}
	}
	if len(m.Removed) > 0 {
		if err := lock.Replace(m); err != nil {
			t.Fatal(err)
		}
	}
}

// seen is what a reader finds: all files of the lake, with their bytes.
func seen(t *testing.T, dir string) map[string]string {
	t.Helper()
	c, err := Open(context.Background(), inFiles(t, dir), "it", Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Fetch(sorted(c.files)...); err != nil {
		t.Fatal(err)
	}
	all := tree(t, c.Dir())
	all[".lock"] = "" // a process's own affair
	return all
}

// TestKilled kills a Publish in front of each of its writes. A reader finds the
// lake as it was, or as it is to be, and nothing between; the next run finishes
// the work, and leaves what a run leaves that nobody killed.
func TestKilled(t *testing.T) {
	logs, one := t.TempDir(), t.TempDir()
	grow(t, logs, 1)
	write(t, inFiles(t, one), func(j *local.Job) {
		j.RunID = "one"
		if _, err := j.Ingest(context.Background(), []string{logs}, nil); err != nil {
			t.Fatal(err)
		}
	})
	before := seen(t, one)
	grow(t, logs, 2)
	plain := filepath.Join(t.TempDir(), "lake")
	if err := os.CopyFS(plain, os.DirFS(filepath.Join(one, "it"))); err != nil {
		t.Fatal(err)
	}
	second(t, &local.Job{Config: configs.Default(), Lake: plain}, logs)
	after := tree(t, plain)

	home := t.TempDir() // of all working copies
	states := map[string]int{}
	for k := int64(1); ; k++ {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(one)); err != nil {
			t.Fatal(err)
		}
		c, err := Open(context.Background(), inFiles(t, dir), "it", Options{Write: true, Dir: home})
		if err != nil {
			t.Fatal(err)
		}
		second(t, jobOn(c), logs)
		var n atomic.Int64
		c.shelf.held = func() error {
			if n.Add(1) >= k {
				return errKilled
			}
			return nil
		}
		err = c.Publish(context.Background())
		if err == nil {
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			sameTrees(t, "nobody killed it", tree(t, filepath.Join(dir, "it")), after)
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		c.kill(t)
		what := fmt.Sprintf("killed in front of write %d", k)
		switch got := seen(t, dir); {
		case equal(got, before):
			states["before"]++
		case equal(got, after):
			states["after"]++
		default:
			sameTrees(t, what+", and a reader finds neither what was nor what is to be", got, before)
		}
		if _, err := Open(context.Background(), inFiles(t, dir), "it", Options{Write: true, Dir: home}); !errors.As(err, new(*lake.Busy)) {
			t.Fatalf("%s: its lease is no hindrance: %v", what, err)
		}
		lapse(t, dir)
		again, err := Open(context.Background(), inFiles(t, dir), "it", Options{Write: true, Dir: home})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(again.Words(), func(s string) bool { return strings.Contains(s, "took over") }) {
			t.Errorf("%s: that it was taken over is not said: %q", what, again.Words())
		}
		second(t, jobOn(again), logs)
		if err := errors.Join(again.Publish(context.Background()), again.Close()); err != nil {
			t.Fatal(err)
		}
		got := tree(t, filepath.Join(dir, "it"))
		if !equal(got, after) {
			sameTrees(t, what+", and run again", got, after)
		}
	}
	if states["before"] < 3 || states["after"] < 3 {
		t.Errorf("it was killed %v times: too few on either side of the moment", states)
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("working copies are left: %v, %v", left, err)
	}
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for path, data := range a {
		if other, ok := b[path]; !ok || other != data {
			return false
		}
	}
	return true
}
