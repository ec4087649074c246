package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who did it, where the answer is known: a database that reads 4 MiB/s all the
// time, and a batch job that joins it for the second half and writes 36 MiB/s.
// By the requests themselves, and by the counters of cgroups (io.stat) beside
// interval counters: the batch job's share rises from 0 to 90 % of the bytes.
func TestCulpritsOfAnEpisode(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program several times over")
	}
	const start = int64(1781406000) // 2026-06-14 03:00:00 UTC
	shake := func(at, by int) float64 { return 1 + float64((at*7+by*3)%11-5)/100 }
	deep := intervals(144, func(at int) []string {
		r := served("sdb", 1024*shake(at, 1), 4, 0.5*shake(at, 2), 0, 0, 0, 40)
		if at >= 72 {
			r = served("sdb", 1024, 4, 60*shake(at, 3), 9216, 4, 60*shake(at, 4), 100)
		}
		return []string{r}
	})
	var stat strings.Builder
	read, written := 0, 0
	for i := range 145 {
		fmt.Fprintf(&stat, "# %d\n/sys/fs/cgroup/io.stat:8:16 rbytes=%d wbytes=%d rios=1 wios=1\n/sys/fs/cgroup/db.slice/io.stat:8:16 rbytes=%d wbytes=0 rios=%d wios=0\n/sys/fs/cgroup/batch.slice/io.stat:8:16 rbytes=0 wbytes=%d rios=0 wios=%d\n",
			start+5*int64(i), read, written, read, read/4096, written, written/4096)
		read += 5 * 1024 * 4096
		if i >= 72 {
			written += 5 * 9216 * 4096
		}
	}
	var events strings.Builder
	events.WriteString("time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error\n")
	for i := int64(0); i < 240*100; i++ { // 100 reads a second of the database, then the batch job's writes beside them
		ns := start*1e9 + i*10e6
		latency := int64(200e3)
		if i >= 12000 {
			latency = 400e6
			for k := int64(0); k < 9; k++ {
				fmt.Fprintf(&events, "%d,box,sdb,2,batch,W,,%d,8192,1000,%d,0\n", ns+k*1e6+latency, (i*9+k)*8192, latency)
			}
		}
		fmt.Fprintf(&events, "%d,box,sdb,1,db,R,,%d,8192,1000,%d,0\n", ns+latency, i*7919%1000003*8192, latency)
	}
	check := func(name string, files map[string]string, source, who, other string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			dir, out := t.TempDir(), t.TempDir()
			for f, text := range files {
				if err := os.WriteFile(filepath.Join(dir, f), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var stdout, words bytes.Buffer
			if code := run(context.Background(), []string{"run", "--out", out, "--force", "--host", "box", dir}, strings.NewReader(""), &stdout, &words); code != 0 {
				t.Fatalf("exit code %d: %s", code, words.String())
			}
			data, err := os.ReadFile(filepath.Join(out, "report.json"))
			if err != nil {
				t.Fatal(err)
			}
			type shares struct{ Bytes *float64 }
			var doc struct {
				Episodes []struct {
					Pathology string
					From      int64 `json:"from_ns"`
					Culprits  []struct {
						By, Name, Source, Says string
						Before, During         shares
						Rises                  bool
					}
				}
			}
			if err := json.Unmarshal(data, &doc); err != nil {
				t.Fatal(err)
			}
			if len(doc.Episodes) == 0 {
				t.Fatalf("no episode: %s", stdout.String())
			}
			late := 0
			for _, e := range doc.Episodes {
				if e.From < start*1e9+100e9 {
					continue // before the batch job joined
				}
				late = int(e.From)
				found := map[string]bool{}
				for _, c := range e.Culprits {
					if c.Source != source || c.Name != who && c.Name != other {
						continue
					}
					found[c.Name] = true
					before, during := 0.0, 0.9
					if c.Name == other {
						before, during = 1, 0.1
					}
					if c.Before.Bytes == nil || c.During.Bytes == nil || *c.Before.Bytes != before || *c.During.Bytes < during-0.01 || *c.During.Bytes > during+0.01 || c.Rises != (c.Name == who) {
						t.Errorf("%s: %s %s, want %v before and %v during", e.Pathology, c.Name, c.Says, before, during)
					}
				}
				if !found[who] || !found[other] {
					t.Errorf("%s from %d: culprits %+v, want %s and %s", e.Pathology, e.From, e.Culprits, who, other)
				}
			}
			var told bytes.Buffer
			if late == 0 {
				t.Fatalf("no episode with the batch job: %s", stdout.String())
			}
			at := fmt.Sprint(late + 5_000_000_000)
			if code := run(context.Background(), []string{"explain", "box/sdb", at, "--lake", filepath.Join(out, "lake")}, strings.NewReader(""), &told, &words); code != 0 {
				t.Fatalf("explain: exit code %d: %s", code, words.String())
			}
			if !strings.Contains(told.String(), "Who did it") || !strings.Contains(told.String(), who+": 90 % of the bytes during, 0 % before") {
				t.Errorf("explain doesn't say who did it:\n%.4000s", told.String())
			}
			page, err := os.ReadFile(filepath.Join(out, "report.html"))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(page), "whose share rose:") {
				t.Error("the page's first screen doesn't say whose share rose")
			}
		})
	}
	check("by requests", map[string]string{"e.csv": events.String()}, "", "batch", "db")
	// The block layer knows no files, the calls of the same time do.
	var calls strings.Builder
	calls.WriteString("time_ns,host,device,pid,comm,op,offset_bytes,size_bytes,latency_ns,latency_kind,file\n")
	for i := int64(0); i < 240*100; i++ {
		ns := start*1e9 + i*10e6
		if i >= 12000 {
			for k := int64(0); k < 9; k++ {
				fmt.Fprintf(&calls, "%d,box,app,2,batch,W,%d,8192,100000,syscall,/data/batch\n", ns+k*1e6+50_000_000, (i*9+k)*8192)
			}
		}
		fmt.Fprintf(&calls, "%d,box,app,1,db,R,%d,8192,300000,syscall,/data/db\n", ns+300e3, i*7919%1000003*8192)
	}
	check("by files of calls", map[string]string{"e.csv": events.String(), "calls.csv": calls.String()}, "calls", "/data/batch", "/data/db")
	check("by io.stat", map[string]string{"iostat.txt": deep, "cgroup.txt": stat.String(), "partitions": "major minor  #blocks  name\n\n   8       16  488386584 sdb\n"},
		"io.stat", "/sys/fs/cgroup/batch.slice", "/sys/fs/cgroup/db.slice")
}
