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

// siteLog is the log of a site: devices that read 4 KiB forty times a second in
// 0.2 ms, some of which have a poller in the second half of two minutes: it reads
// the same 64 blocks again and again and notes each in a forced write.
func siteLog(polled, well int) (log, truth string) {
	const start = int64(1_760_000_000_000_000_000)
	var l, t strings.Builder
	l.WriteString("time_ns,host,device,op,flags,offset_bytes,size_bytes,latency_ns\n")
	t.WriteString("host,device,label,fault_start_ns,fault_end_ns\n")
	for d := range polled + well {
		device := fmt.Sprintf("sd%c", 'a'+d)
		if d < polled {
			fmt.Fprintf(&t, "h1,%s,lock-poller,%d,%d\n", device, start+60e9, start+120e9)
		} else {
			fmt.Fprintf(&t, "h1,%s,healthy,,\n", device)
		}
		for second := range int64(120) {
			at := start + second*1e9
			for i := range int64(40) {
				place := (second*40 + i) * 7919 % 100_000 * 4096
				fmt.Fprintf(&l, "%d,h1,%s,R,,%d,4096,%d\n", at+i*25_000_000+int64(d)*1000, device, place, 200_000+(i*37+second*11)%41*1000)
				if d < polled && second >= 60 {
					for k := range int64(3) {
						done := at + i*25_000_000 + 2_000_000 + k*6_000_000
						fmt.Fprintf(&l, "%d,h1,%s,R,,%d,4096,200000\n", done, device, 1<<33+(i*3+k)%64*4096)
						fmt.Fprintf(&l, "%d,h1,%s,W,SU,%d,4096,1000000\n", done+1_500_000, device, 1<<34+(i*3+k)%64*4096)
					}
				}
			}
		}
	}
	return l.String(), t.String()
}

// A site teaches a fault that the catalogue doesn't know: what is written is a
// catalogue, and a run with it says the new name.
func TestCalibrateTeachesANewFault(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program many times over")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	log, truth := siteLog(3, 3)
	for name, text := range map[string]string{"log.csv": log, "truth.csv": truth, "few.csv": strings.Join(strings.Split(truth, "\n")[:2], "\n") + "\n"} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	iopathy := func(want int, args ...string) (string, string) {
		t.Helper()
		var out, words bytes.Buffer
		if got := run(context.Background(), args, strings.NewReader(""), &out, &words); got != want {
			t.Fatalf("iopathy %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, want, out.String(), words.String())
		}
		return out.String(), words.String()
	}
	iopathy(0, "run", at("log.csv"), "--out", at("report"), "--quiet")
	lake := at("report/lake")
	if _, words := iopathy(1, "calibrate", "--truth", at("few.csv"), "--lake", lake, "--out", at("site")); !strings.Contains(words, "too little truth: 6 healthy windows of 1 device") {
		t.Errorf("little truth: %s", words)
	}
	if _, err := os.Stat(at("site")); err == nil {
		t.Error("little truth leaves an output")
	}
	out, _ := iopathy(0, "calibrate", "--truth", at("truth.csv"), "--lake", lake, "--out", at("site"))
	for _, want := range []string{"lock-poller (new: becomes a pathology)", "nothing: before", ": after", "wrote " + at("site/catalogue.yaml")} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	iopathy(2, "calibrate", "--truth", at("truth.csv"), "--lake", lake, "--out", at("site"))
	out, _ = iopathy(0, "calibrate", "--truth", at("truth.csv"), "--lake", lake, "--out", at("site"), "--force", "--output", "json")
	var said struct {
		Before, After struct{ MacroF1 float64 }
		Files         []string
		Changes       []struct {
			Pathology string
			New       bool
			Devices   int
		}
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		t.Fatal(err)
	}
	if said.After.MacroF1 < said.Before.MacroF1+0.3 || len(said.Files) != 2 {
		t.Errorf("before %v, after %v, files %v", said.Before, said.After, said.Files)
	}
	text, err := os.ReadFile(at("site/catalogue.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), "# Calibrated on ") || !strings.Contains(string(text), "# The pathologies. A window's direction") {
		t.Errorf("the catalogue begins with\n%.300s", text)
	}
	if t.Failed() {
		return
	}
	iopathy(0, "run", at("log.csv"), "--catalogue", at("site/catalogue.yaml"), "--out", at("after"), "--quiet")
	out, _ = iopathy(0, "evaluate", at("after/labels.csv"), at("truth.csv"), "--catalogue", at("site/catalogue.yaml"), "--min-f1", "0.95")
	if !strings.Contains(out, "3 of 3 sick devices named right") {
		t.Error(out)
	}
}
