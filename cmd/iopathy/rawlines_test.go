package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/reports"
)

// The byte ranges of the report's exemplar windows lead to the raw lines of
// those windows: from plain logs and from packed ones, by the command that the
// page prints.
func TestByteRangesLeadToTheLines(t *testing.T) {
	for _, tool := range []string{"sh", "tail", "head", "gzip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("no " + tool + " on this machine")
		}
	}
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for _, packed := range []bool{false, true} {
		made, out := filepath.Join(t.TempDir(), "made"), filepath.Join(t.TempDir(), "out")
		args := []string{"generate", "--devices", "2", "--hosts", "1", "--hours", "0.05", "--sick", "1", "--pathology", "sudden-stall", "--seed", "7", "--out", made, "--quiet"}
		if packed {
			args = append(args, "--gzip")
		}
		in(t, exitFine, args...)
		in(t, exitFine, "run", filepath.Join(made, "runs"), "--inventory", filepath.Join(made, "inventory.csv"), "--out", out, "--quiet")
		data, err := os.ReadFile(filepath.Join(out, "report.json"))
		if err != nil {
			t.Fatal(err)
		}
		var report struct {
			Cards []struct {
				Host      string `json:"host"`
				Device    string `json:"device"`
				Exemplars []struct {
					FromNS int64 `json:"from_ns"`
					ToNS   int64 `json:"to_ns"`
					Ranges []struct {
						Source   string `json:"source"`
						First    int64  `json:"first_byte"`
						Last     int64  `json:"last_line_byte"`
						Requests int    `json:"requests"`
					} `json:"ranges"`
				} `json:"exemplars"`
			} `json:"cards"`
		}
		if err := json.Unmarshal(data, &report); err != nil {
			t.Fatal(err)
		}
		checked := 0
		for _, c := range report.Cards {
			for _, e := range c.Exemplars {
				for _, r := range e.Ranges {
					command := reports.ByteRange{Source: r.Source, Lines: true, First: r.First, Last: r.Last}.Command()
					if strings.Contains(command, "gzip -dc") != packed {
						t.Fatalf("packed %v: %s", packed, command)
					}
					sh := exec.Command("sh", "-c", command)
					sh.Dir = filepath.Join(made, "runs")
					got, err := sh.Output()
					if err != nil {
						t.Fatalf("%s: %v", command, err)
					}
					inside, ends := 0, [2]bool{}
					lines := bytes.Split(bytes.TrimSuffix(got, []byte("\n")), []byte("\n"))
					for i, line := range lines {
						f := strings.Split(string(line), ",")
						at, err := strconv.ParseInt(f[0], 10, 64)
						if err != nil || len(f) < 11 {
							t.Fatalf("%s: line %d is %q", command, i, line)
						}
						if f[1] == c.Host && f[2] == c.Device && at >= e.FromNS && at < e.ToNS {
							inside++
							ends[0] = ends[0] || i == 0
							ends[1] = ends[1] || i == len(lines)-1
						}
					}
					if inside != r.Requests || !ends[0] || !ends[1] {
						t.Errorf("%s: %d requests of the window, want %d; the first and the last line are %v", command, inside, r.Requests, ends)
					}
					checked++
				}
			}
		}
		if checked == 0 {
			t.Error("no byte range was told")
		}
	}
}
