package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iopathy/iopathy/ingest/lake"
)

// nightOf writes the log of a night, some minutes of a few devices of which one is sick
// on two nights of three, in the place of the one of the night before.
func nightOf(t *testing.T, dir string, night int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(81, uint64(night)))
	start := time.Date(2023, 1, 1, 1, 0, 0, 0, time.UTC).AddDate(0, 0, night).UnixNano()
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %d\ntime_ns,host,device,op,offset_bytes,size_bytes,latency_ns\n", night)
	for i := range 2000 {
		device := rng.IntN(4)
		latency := 200_000 + rng.Int64N(300_000)
		if night%3 > 0 && device == night%4 {
			latency *= 200
		}
		fmt.Fprintf(&b, "%d,h%d,sd%c,%c,%d,4096,%d\n", start+int64(i)*60_000_000, device/2, 'a'+device%2, "RW"[rng.IntN(2)], rng.Int64N(1<<20)*4096, latency)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.csv", night)), b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestDrillYears does night after night on one lake, all reports kept: memory stays
// within its bound, manifests within theirs, each table has the dates that retention leaves it and
// no others, and the index has every night. How long a night takes is told, now and then.
func TestDrillYears(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	nights := int(soak(t, "IOPATHY_SOAK_NIGHTS", 6))
	t.Setenv("IOPATHY_RETENTION_REPORTS", "0")
	keeps := map[string]int{"EVENTS": 14, "TICKS": 90, "LABELS": 400} // days, the defaults
	if nights < keeps["EVENTS"] {
		keeps = map[string]int{"EVENTS": 1, "TICKS": 2, "LABELS": 4}
		for what, days := range keeps {
			t.Setenv("IOPATHY_RETENTION_"+what, fmt.Sprintf("%dh", 24*days))
		}
	}
	dir := t.TempDir()
	logs, out := filepath.Join(dir, "logs"), filepath.Join(dir, "out")
	files := func(below string) (n int, size int64) {
		t.Helper()
		err := filepath.WalkDir(filepath.Join(out, below), func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil {
				n, size = n+1, size+info.Size()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n, size
	}
	index := func() string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(out, "index.html"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	every := max(nights/11, 5)
	for night := range nights {
		nightOf(t, logs, night)
		if (night+1)%every != 0 && night != 9 && night != nights-1 {
			in(t, exitFine, "nightly", logs, "--out", out, "--quiet")
			continue
		}
		cmd := iopathy(t, "nightly", logs, "--out", out, "--quiet")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("night %d: %v\n%s", night+1, err, said)
		}
		rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss * 1024
		inLake, bytes := files("lake")
		runs, _ := files("lake/runs")
		t.Logf("night %4d: %.2f CPU seconds, %d MiB; the lake has %d files of %.1f MB, %d of them manifests; index.html %d kB", night+1,
			(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), rss>>20, inLake, float64(bytes)/1e6, runs, len(index())>>10)
		if rss > memoryBound {
			t.Errorf("night %d: peak memory %d MiB is over %d MiB", night+1, rss>>20, memoryBound>>20)
		}
		if runs > 210 { // retention.runs, and those of a night
			t.Errorf("night %d: %d manifests", night+1, runs)
		}
	}
	if n := strings.Count(index(), "/report.html"); n < nights {
		t.Errorf("the index leads to %d reports of %d nights", n, nights)
	}
	for table, days := range map[string]int{ // the day before the first is what that begins with
		lake.Events: keeps["EVENTS"] + 1, lake.Ticks: keeps["TICKS"], lake.Profiles: keeps["TICKS"], lake.Windows: keeps["LABELS"], lake.Labels: keeps["LABELS"], lake.Baselines: keeps["LABELS"],
	} {
		dates, err := filepath.Glob(filepath.Join(out, "lake", table, "date=*"))
		if err != nil {
			t.Fatal(err)
		}
		days = min(days, nights)
		first := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, nights-days).Format(time.DateOnly)
		if len(dates) != days || filepath.Base(dates[0]) != "date="+first {
			t.Errorf("%s has %d dates, the first %s: want %d from %s on", table, len(dates), filepath.Base(dates[0]), days, first)
		}
	}
	in(t, exitFine, "verify", filepath.Join(out, "lake"), "--quiet")
}
