package analysis

import (
	"math"
	"testing"

	"github.com/iopathy/iopathy/features"
)

// A backup that begins with the episode beside a database that goes on as before:
// shares by hand.
func TestCulprits(t *testing.T) {
	db, backup := features.Actor{Name: "db"}, features.Actor{Name: "backup"}
	db.Phase[features.Before] = features.ActorPhase{Requests: 100, Bytes: 900, QueueNS: 10, Flushes: 5}
	db.Phase[features.During] = features.ActorPhase{Requests: 100, Bytes: 900, QueueNS: 900, Flushes: 5, DelayNS: 1e9}
	backup.Phase[features.Before] = features.ActorPhase{Requests: 1, Bytes: 100}
	backup.Phase[features.During] = features.ActorPhase{Requests: 50, Bytes: 8100, QueueNS: 100, DelayNS: 41e9}
	all := Culprits("comm", "", []features.Actor{db, backup})
	if len(all) != 2 || all[0].Name != "backup" || !all[0].Rises || all[1].Rises {
		t.Fatalf("got %+v, want backup first, whose share alone rose", all)
	}
	if got, want := all[0].Words(), "comm backup: 90 % of the bytes during, 10 % before; 10 % of the queue time during, 0 % before; it held up others for 41 s"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if s := all[1].Of[features.During]; s.Flushes != 1 || s.Bytes != 0.1 || s.Queue != 0.9 {
		t.Errorf("db during: %+v", s)
	}
	if s := all[0].Of[features.After]; !math.IsNaN(s.Bytes) {
		t.Errorf("nothing happened after it, and yet %+v", s)
	}
	check := func(what string, before, during int64, want bool) {
		t.Helper()
		a, b := features.Actor{Name: "a"}, features.Actor{Name: "b"}
		a.Phase[features.Before].Bytes, a.Phase[features.During].Bytes = before, during
		b.Phase[features.Before].Bytes, b.Phase[features.During].Bytes = 100-before, 100-during
		for _, x := range []*features.Actor{&a, &b} {
			x.Phase[features.Before].Requests, x.Phase[features.During].Requests = 1, 1
		}
		got := false
		for _, c := range Culprits("cgroup", "io.stat", []features.Actor{a, b}) {
			got = got || c.Name == "a" && c.Rises
		}
		if got != want {
			t.Errorf("%s: rises %v, want %v", what, got, want)
		}
	}
	check("from 5 to 70 %", 5, 70, true)
	check("70 % all the time", 70, 70, false)
	check("from 60 to 75 %", 60, 75, false)
	check("from 0 to 25 %", 0, 25, false)
	alone := features.Actor{Name: "fio"}
	alone.Phase[features.During] = features.ActorPhase{Requests: 5, Bytes: 5}
	if c := Culprits("comm", "", []features.Actor{alone}); len(c) != 1 || c[0].Rises {
		t.Errorf("the only command: %+v, want no culprit among one", c)
	}
	if c := Culprits("file", "", nil); c != nil {
		t.Errorf("nobody has a name: %+v", c)
	}
}
