package main

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/compare"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/features"
)

// Two random halves of the healthy windows of real recordings, and of their
// devices, raise an alarm in at most 5 of 100 trials.
func TestHealthyHalvesRaiseNoAlarm(t *testing.T) {
	needCorpus(t)
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	out := filepath.Join(t.TempDir(), "out")
	in(t, exitFine, "run", corpusDir+"/runs", "--inventory", corpusDir+"/inventory.csv", "--window", "10s", "--tick", "100ms", "--out", out, "--quiet")
	job := &local.Job{Config: configs.Default(), Lake: filepath.Join(out, "lake")}
	side, err := job.Side(local.Selection{}, local.Times{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []features.Window
	devices := map[features.Key]int{}
	for i, l := range side.Labels {
		if l.Verdict == cluster.Healthy {
			all = append(all, side.Windows[i])
			devices[side.Windows[i].Key] = len(devices)
		}
	}
	for _, whole := range []bool{false, true} {
		alarms, asked := 0, 0
		for trial := range uint64(100) {
			r := rand.New(rand.NewPCG(1, trial))
			toss := r.Perm(len(devices))
			var a, b compare.Side
			for _, w := range all {
				to := &a
				if whole && toss[devices[w.Key]%len(toss)]%2 == 0 || !whole && r.IntN(2) == 0 {
					to = &b
				}
				to.Windows = append(to.Windows, w)
				to.Labels = append(to.Labels, compare.Label{Verdict: cluster.Healthy})
			}
			o := compare.DefaultOptions()
			o.Seed, o.Resamples = trial, 200
			c, err := compare.Compare(a, b, o)
			if err != nil {
				t.Fatal(err)
			}
			if c.Alarm {
				alarms++
			}
			if !c.TooFew {
				asked++
			}
		}
		t.Logf("whole devices %v: %d alarms of %d, %d windows", whole, alarms, asked, len(all))
		if alarms > 5 || asked < 90 {
			t.Errorf("whole devices %v: %d alarms, %d of 100 trials could have raised one", whole, alarms, asked)
		}
	}
}
