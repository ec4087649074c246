package cluster_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

const (
	dayNS  = int64(86400e9)
	copies = 8 // of the windows that stand for the nights
)

// aside gives which windows of the recordings stand for earlier nights: every
// other window of a device that is healthy and is said to be. The others are
// left to be judged.
func aside(said []cluster.Diagnosis, rec recording) (use []bool) {
	ws := rec.windows
	use = make([]bool, len(ws))
	seen := map[features.Key]int{}
	for i := range ws {
		if rec.truth[i] == "healthy" && said[i].Verdict == cluster.Healthy && said[i].Severity <= 0.8 && said[i].Coverage >= 0.9 {
			use[i] = seen[ws[i].Key]%2 == 0
			seen[ws[i].Key]++
		}
	}
	return use
}

// remembered judges the recordings with a part of their healthy windows as the
// nights before: those of each device's own, or, where as is given, of another
// one. It gives the scores of the windows left, without and with them.
func remembered(t *testing.T, rec recording, as func(features.Key) features.Key, inv reduce.Inventory, alone bool) (plain, past [2]float64, used int) {
	t.Helper()
	r, o, ro := shippedRules(t), cluster.DefaultOptions(), reduce.DefaultOptions()
	m := shippedModel(t)
	judge := func(ws []features.Window, h *reduce.History) (points []reduce.Point, said []cluster.Diagnosis) {
		t.Helper()
		prior := *m
		prior.Reduce = m.Reduce.Remembering(h)
		for from, to := 0, 0; from < len(ws); from = to {
			to = len(ws)
			if alone {
				for to = from + 1; to < len(ws) && ws[to].Key == ws[from].Key; to++ {
				}
			}
			some, _, err := cluster.Place(ws[from:to], inv, r, &prior, ro, o)
			if err != nil {
				t.Fatal(err)
			}
			res, _, err := cluster.Diagnose(some, r, m, "", o)
			if err != nil {
				t.Fatal(err)
			}
			points, said = append(points, some...), append(said, res.Diagnoses.Slice()...)
		}
		return points, said
	}
	points, said := judge(rec.windows, nil)
	use := aside(said, rec)
	var learnt []reduce.Night
	for night := range copies { // recordings are short: the nights are longer, and alike
		for _, n := range reduce.Learn(points, use) {
			n.DayNS -= int64(1+night%2) * dayNS
			n.Key = as(n.Key)
			learnt = append(learnt, n)
		}
	}
	var left []features.Window
	var truth []string
	for i := range rec.windows {
		if !use[i] {
			left, truth = append(left, rec.windows[i]), append(truth, rec.truth[i])
		}
	}
	_, without := judge(left, nil)
	points, with := judge(left, reduce.NewHistory(learnt))
	for i := range points {
		if points[i].Normal.Source == "nights" {
			used++
		}
	}
	plain[0], plain[1] = score(without, truth)
	past[0], past[1] = score(with, truth)
	return plain, past, used
}

// A device's own healthy windows as its nights before must not make the
// labels of the others worse; nor must those of another device of its model, which
// did other work.
func TestNightsBeforeOnRecordings(t *testing.T) {
	rec := readRecording(t)
	byModel := map[string][]features.Key{}
	for k, d := range rec.inv {
		byModel[d.Model] = append(byModel[d.Model], k)
	}
	next := map[features.Key]features.Key{}
	for _, keys := range byModel {
		slices.SortFunc(keys, func(a, b features.Key) int {
			return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device))
		})
		for i, k := range keys {
			next[k] = keys[(i+1)%len(keys)]
		}
	}
	own := func(k features.Key) features.Key { return k }
	for _, c := range []struct {
		what  string
		as    func(features.Key) features.Key
		inv   reduce.Inventory
		alone bool // each device is judged by itself
	}{
		{"own nights", own, rec.inv, false},
		{"own nights, no inventory", own, nil, false},
		{"own nights, one device at a time", own, rec.inv, true},
		{"own nights, one device at a time, no inventory", own, nil, true},
		{"nights of another device of the model", func(k features.Key) features.Key { return next[k] }, rec.inv, false},
	} {
		plain, past, used := remembered(t, rec, c.as, c.inv, c.alone)
		t.Logf("%s: macroF1 %.3f falseAlarm %.3f without, %.3f and %.3f with; %d windows held against them", c.what, plain[0], plain[1], past[0], past[1], used)
		if past[0] < plain[0]-0.005 || past[1] > plain[1]+0.01 || used == 0 {
			t.Errorf("%s: macroF1 %.3f and falseAlarm %.3f, without nights %.3f and %.3f; %d windows held against them", c.what, past[0], past[1], plain[0], plain[1], used)
		}
	}
}

// A first night on which every device is sick all the time, of whatever it is,
// becomes no normal: of none of the axes, whether the model is fitted on it alone
// or its nights are remembered. Then the next night reads as it would without it.
func TestSickFirstNight(t *testing.T) {
	rec, r, shipped, o := readRecording(t), shippedRules(t), shippedModel(t), cluster.DefaultOptions()
	var first []features.Window
	for i, truth := range rec.truth {
		if truth != "" && truth != "healthy" {
			w := rec.windows[i]
			w.StartNS, w.EndNS = w.StartNS-dayNS, w.EndNS-dayNS
			first = append(first, w)
		}
	}
	judge := func(ws []features.Window, prior *cluster.Model) ([]reduce.Point, []cluster.Diagnosis, *cluster.Model) {
		t.Helper()
		points, space, err := cluster.Place(ws, rec.inv, r, prior, reduce.DefaultOptions(), o)
		if err != nil {
			t.Fatal(err)
		}
		res, m, err := cluster.Diagnose(points, r, prior, cluster.Fitted, o)
		if err != nil {
			t.Fatal(err)
		}
		m.Reduce = space
		return points, res.Diagnoses.Slice(), m
	}
	_, plain, _ := judge(rec.windows, shipped)
	points, said, fitted := judge(first, shipped)
	well := make([]bool, len(said))
	for i := range said {
		well[i] = said[i].Verdict == cluster.Healthy
	}
	for f, feature := range features.Features {
		moved := math.Abs(fitted.Reduce.Centre[f]-shipped.Reduce.Centre[f]) / shipped.Reduce.Scale[f]
		wider := fitted.Reduce.Scale[f] / shipped.Reduce.Scale[f]
		if moved > 0.2 || wider > 1.1 {
			t.Errorf("%s: a sick night moves the centre by %.2f scales, the scale by %.2f times", feature.Name, moved, wider)
		}
	}
	fitted.Reduce = fitted.Reduce.Remembering(reduce.NewHistory(reduce.Learn(points, well)))
	_, with, _ := judge(rec.windows, fitted)
	before, alarms := score(plain, rec.truth)
	after, later := score(with, rec.truth)
	t.Logf("macroF1 %.3f and falseAlarm %.3f, after a sick night %.3f and %.3f", before, alarms, after, later)
	if after < before-0.015 || later > alarms+0.01 {
		t.Errorf("macroF1 %.3f and falseAlarm %.3f, after a sick night %.3f and %.3f", before, alarms, after, later)
	}
}
