package cluster

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
)

var testFamily = Family{Kind: "q2c", TickNS: 100e6, WindowNS: 10e9}

// along is a class in the plane of two features, turned by degrees.
func along(id int, a, b int, degrees float64) Class {
	c := Class{ID: id, Pathology: Unrecognised, Members: 10}
	c.Prototype[a] = math.Cos(degrees * math.Pi / 180)
	c.Prototype[b] = math.Sin(degrees * math.Pi / 180)
	return c
}

// told is a log in words.
func told(log []RegistryEvent) string {
	var s []string
	for _, e := range log {
		w := fmt.Sprintf("%s %d", e.Event, e.ID)
		if e.Other > 0 {
			w += fmt.Sprintf(" of %d", e.Other)
		}
		s = append(s, w)
	}
	return strings.Join(s, ", ")
}

// What the nights of a class are called.
func TestRegistryTellsWhatHappened(t *testing.T) {
	var g Registry
	check := func(what string, endNS int64, classes []Class, wantIDs []int, want string) {
		t.Helper()
		next, ids, log := g.Match(testFamily, Fitted, classes, endNS)
		for i, c := range classes {
			if ids[c.ID] != wantIDs[i] {
				t.Errorf("%s: class %d has id %d, want %d", what, c.ID, ids[c.ID], wantIDs[i])
			}
		}
		if told(log) != want {
			t.Errorf("%s: %q, want %q", what, told(log), want)
		}
		again, same, log := next.Match(testFamily, Fitted, classes, endNS)
		if len(log) > 0 || !reflect.DeepEqual(again, next) || !reflect.DeepEqual(same, ids) {
			t.Errorf("%s: the same night again gives %v, %q", what, same, told(log))
		}
		g = next
	}
	check("first night", 1, []Class{along(1, 0, 1, 0), along(2, 2, 3, 0)}, []int{1, 2}, "birth 1, birth 2")
	check("in another order", 2, []Class{along(1, 2, 3, 1), along(2, 0, 1, 1)}, []int{2, 1}, "")
	check("one is gone", 3, []Class{along(1, 0, 1, 0)}, []int{1}, "death 2")
	check("still gone", 4, []Class{along(1, 0, 1, 0)}, []int{1}, "")
	check("back, beside a new one", 5, []Class{along(1, 4, 5, 0), along(2, 2, 3, 2), along(3, 0, 1, 0)}, []int{3, 2, 1}, "birth 3, return 2")
	check("one becomes two", 6, []Class{along(1, 0, 1, 20), along(2, 0, 1, -2), along(3, 2, 3, 0), along(4, 4, 5, 0)}, []int{4, 1, 2, 3}, "split 4 of 1")
	check("two become one", 7, []Class{along(1, 0, 1, 3), along(2, 2, 3, 0), along(3, 4, 5, 0)}, []int{1, 2, 3}, "merge 4 of 1")
	check("the part and the whole are both gone", 7, []Class{along(1, 2, 3, 0), along(2, 4, 5, 0)}, []int{2, 3}, "death 1")
	check("the whole is back, nearer to the part", 7, []Class{along(1, 0, 1, 15), along(2, 2, 3, 0), along(3, 4, 5, 0)}, []int{1, 2, 3}, "return 1")
	check("turns, night by night", 8, []Class{along(1, 0, 1, 15), along(2, 2, 3, 12), along(3, 4, 5, 0)}, []int{1, 2, 3}, "")
	check("and has drifted", 9, []Class{along(1, 0, 1, 15), along(2, 2, 3, 24), along(3, 4, 5, 0)}, []int{1, 2, 3}, "drift 2")
	check("older data", 6, []Class{along(1, 2, 3, 12), along(2, 6, 7, 0)}, []int{2, 5}, "birth 5")
	if k := g.Classes[1]; k.LastNS != 9 || k.Matches != 7 || k.BornNS != 1 || k.Direction != along(1, 2, 3, 24).Prototype {
		t.Errorf("class 2 is %+v", k)
	}
	other := testFamily
	other.Kind = "app"
	if _, ids, _ := g.Match(other, Fitted, []Class{along(1, 0, 1, 0)}, 9); ids[1] != 6 {
		t.Errorf("a class of another latency kind has id %d, want 6", ids[1])
	}
}

// Shipped classes are in the registry like others, but move no prototype, and
// only what has members was seen.
func TestRegistryOfShippedClasses(t *testing.T) {
	empty := along(2, 2, 3, 0)
	empty.Members = 0
	g, ids, _ := Registry{}.Match(testFamily, Shipped, []Class{along(1, 0, 1, 0), empty}, 1)
	if ids[1] != 1 || ids[2] != 2 || g.Classes[1].LastNS != 0 || !g.Classes[1].Absent {
		t.Fatalf("ids %v, %+v", ids, g.Classes)
	}
	g, ids, log := g.Match(testFamily, Fitted, []Class{along(1, 2, 3, 5), along(2, 0, 1, 5)}, 2)
	if ids[1] != 2 || ids[2] != 1 || len(log) > 0 {
		t.Fatalf("ids %v, %q", ids, told(log))
	}
	found := g.Classes[0].Direction
	g, ids, log = g.Match(testFamily, Shipped, []Class{along(1, 0, 1, 0), empty}, 3)
	if ids[1] != 1 || ids[2] != 2 || g.Classes[0].Direction != found || told(log) != "death 2" {
		t.Errorf("ids %v, %q", ids, told(log))
	}
}

// The oracle tries every way to pair.
func TestAssignmentIsOptimal(t *testing.T) {
	var best func(gain [][]float64, used int) float64
	best = func(gain [][]float64, used int) float64 {
		if len(gain) == 0 {
			return 0
		}
		most := best(gain[1:], used)
		for c, g := range gain[0] {
			if used>>c&1 == 0 && g > 0 {
				most = max(most, g+best(gain[1:], used|1<<c))
			}
		}
		return most
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for range 2000 {
		gain := make([][]float64, rng.IntN(6))
		cols := rng.IntN(7)
		for r := range gain {
			gain[r] = make([]float64, cols)
			for c := range gain[r] {
				gain[r][c] = math.Round(20*(rng.Float64()-0.4)) / 8 // ties, and pairs that gain nothing
			}
		}
		sum, used := 0.0, map[int]bool{}
		for r, c := range assignment(gain) {
			if c < 0 {
				continue
			}
			if used[c] || gain[r][c] <= 0 {
				t.Fatalf("%v: column %d twice, or for nothing", gain, c)
			}
			used[c] = true
			sum += gain[r][c]
		}
		if want := best(gain, 0); math.Abs(sum-want) > 1e-12 {
			t.Fatalf("%v: pairs gain %v, the best %v", gain, sum, want)
		}
	}
}

// nightsFleet is the windows of one night: four devices of each pathology that
// is present, of which a random 70 % are seen, with noise of the device (which
// lasts) and of the window.
func nightsFleet(t *testing.T, r *Rules, night int, present func(slug string) bool) []features.Window {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(night), 11))
	var ws []features.Window
	add := func(w features.Window) {
		w.StartNS += int64(night) * 86400e9
		w.EndNS += int64(night) * 86400e9
		ws = append(ws, w)
	}
	for d := range 12 {
		if rng.Float64() < 0.7 {
			for at := range 20 {
				add(healthyWindow("well-"+string(rune('a'+d)), at))
			}
		}
	}
	for n, slug := range r.Slugs() {
		if !present(slug) {
			continue
		}
		f := readFixture(t, slug)
		for d := range 5 {
			if rng.Float64() >= 0.7 {
				continue
			}
			own := rand.New(rand.NewPCG(uint64(n), uint64(d)))
			var lasting features.Vector
			for i := range lasting {
				lasting[i] = 1 + 0.05*own.NormFloat64()
			}
			device := slug + "-" + string(rune('a'+d))
			for at := range 10 {
				add(healthyWindow(device, at))
			}
			for at := 10; at < 20; at++ {
				w := f.windowOf(t, "h", device, at)
				for i := range w.Vector {
					w.Vector[i] *= lasting[i] * (1 + 0.03*rng.NormFloat64())
				}
				add(w)
			}
		}
	}
	return ws
}

// nights fits ten nights anew, each on what is seen of the fleet, and gives the
// ids of each night by device, and those of its classes. One pathology is away
// in nights 4 to 6, another appears in night 5.
func nights(t *testing.T, keep bool) (byDevice []map[string]int, born map[int]int, g Registry) {
	t.Helper()
	r, o := shippedRules(t), DefaultOptions()
	slugs := r.Slugs()
	born = map[int]int{}
	for night := range 10 {
		ws := nightsFleet(t, r, night, func(slug string) bool {
			return !(slug == slugs[5] && night >= 4 && night <= 6) && !(slug == slugs[6] && night < 5)
		})
		points := placed(t, ws, nil, r)
		res, m, err := Diagnose(points, r, &Model{Kind: Shipped}, Fitted, o)
		if err != nil {
			t.Fatal(err)
		}
		if !keep {
			g = Registry{}
		}
		next, ids, log := g.Match(testFamily, m.Kind, res.Classes, int64(night+1)*86400e9)
		data, err := json.Marshal(next)
		if err != nil {
			t.Fatal(err)
		}
		g = Registry{}
		if err := json.Unmarshal(data, &g); err != nil || !reflect.DeepEqual(g, next) {
			t.Fatalf("night %d: the file gives another registry (%v)", night, err)
		}
		for _, e := range log {
			if e.Event == Birth || e.Event == Split {
				if at, ok := born[e.ID]; ok && keep {
					t.Errorf("night %d: id %d of night %d is given again", night, e.ID, at)
				}
				born[e.ID] = night
			}
		}
		t.Logf("night %d: %d classes; %s", night, len(res.Classes), told(log))
		votes := map[string]map[int]int{}
		for _, d := range m.Renumbered(ids).Label(points, r, o).Diagnoses.Slice() {
			if d.Verdict == Sick && d.ClassID > 0 {
				if votes[d.Device] == nil {
					votes[d.Device] = map[int]int{}
				}
				votes[d.Device][d.ClassID]++
			}
		}
		said := map[string]int{}
		for device, n := range votes {
			for id := range n {
				if n[id] > n[said[device]] || n[id] == n[said[device]] && id < said[device] {
					said[device] = id
				}
			}
		}
		byDevice = append(byDevice, said)
	}
	return byDevice, born, g
}

// kept is the share of devices, night by night, that have the class of the
// last night in which they were seen.
func kept(byDevice []map[string]int) (share float64, n int) {
	last := map[string]int{}
	same := 0
	for _, said := range byDevice {
		for device, id := range said {
			if before, ok := last[device]; ok {
				n++
				if before == id {
					same++
				}
			}
			last[device] = id
		}
	}
	return float64(same) / float64(max(n, 1)), n
}

// Ten nights, each fitted anew on a random 70 % of the devices with noise: what
// does not change keeps its class, a class that was away comes back with its
// id, no id is given twice; and it is the registry that does it.
func TestNamesLast(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it works side by side: not for the race detector")
	}
	with, born, g := nights(t, true)
	share, n := kept(with)
	t.Logf("with the registry %.1f %% of %d keep their class", 100*share, n)
	if n < 150 || share < 0.95 {
		t.Errorf("%.1f %% of %d devices keep their class, want 95 %%", 100*share, n)
	}
	slugs := shippedRules(t).Slugs()
	idOf := func(night int, slug string) (ids []int) {
		for device, id := range with[night] {
			if strings.HasPrefix(device, slug) && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		return ids
	}
	away, new := idOf(3, slugs[5]), idOf(9, slugs[6])
	if len(away) != 1 || len(idOf(5, slugs[5])) > 0 || !slices.Equal(idOf(7, slugs[5]), away) {
		t.Errorf("%s is %v, then %v, then %v", slugs[5], away, idOf(5, slugs[5]), idOf(7, slugs[5]))
	}
	if len(new) != 1 || born[new[0]] != 5 {
		t.Errorf("%s is %v, born in night %d, want 5", slugs[6], new, born[new[0]])
	}
	if !slices.ContainsFunc(g.Log, func(e RegistryEvent) bool { return e.Event == Return && e.ID == away[0] }) {
		t.Errorf("no return is logged: %s", told(g.Log))
	}
	without, _, _ := nights(t, false)
	share, n = kept(without)
	t.Logf("without it %.1f %% of %d", 100*share, n)
	if share > 0.5 {
		t.Errorf("without the registry %.1f %% keep their class: it isn't what holds them", 100*share)
	}
}

func TestRegistryFileIsChecked(t *testing.T) {
	check := func(file, words string) {
		t.Helper()
		var g Registry
		if err := json.Unmarshal([]byte(file), &g); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %q", file, err, words)
		}
	}
	one := `{"id":1,"direction":[1,0,0,0,0,0,0,0,0,0,0,0]}`
	check(`{"schema":2}`, "schema 2, want 1")
	check(`{"schema":1,"next_id":1,"classes":[`+one+`]}`, "not below the next one (1)")
	check(`{"schema":1,"next_id":5,"classes":[`+one+`,`+one+`]}`, "stands twice")
	check(`{"schema":1,"next_id":5,"classes":[{"id":-1}]}`, "class id -1")
	check(`{"schema":1,"next_id":5,"classes":[{"id":1}]}`, "no direction")
	check(`{"schema":1,"next_id":"x"}`, "registry")
}
