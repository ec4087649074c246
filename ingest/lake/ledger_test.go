package lake

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// A ledger says at any time what reading all manifests says, and reads none twice; the
// next run's place in the sequence is behind all of them.
func TestLedger(t *testing.T) {
	dir := t.TempDir()
	l, err := NewLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var ledger Ledger
	var last []Manifest
	check := func(what string) {
		t.Helper()
		want, err := Manifests(dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ledger.Manifests(dir)
		if err != nil || !reflect.DeepEqual(want, got) {
			t.Fatalf("%s: %d manifests, %v; want %d, or others", what, len(got), err, len(want))
		}
		for i := range want {
			if n, err := sequenceOf(dir, want[i].Run); err != nil || n != want[i].Sequence {
				t.Errorf("%s: run %s has place %d, want %d; %v", what, want[i].Run, n, want[i].Sequence, err)
			}
		}
		next := int64(1)
		if len(want) > 0 {
			next = want[len(want)-1].Sequence + 1
		}
		if n, err := sequenceOf(dir, "another"); err != nil || n != next {
			t.Errorf("%s: the next run has place %d, want %d; %v", what, n, next, err)
		}
		last = got
	}
	check("an empty lake")
	all := history(rand.New(rand.NewPCG(3, 4)), 12, 2, 3)
	for _, m := range all {
		if err := l.WriteManifest(m); err != nil {
			t.Fatal(err)
		}
		check("a run more")
	}
	again := all[3]
	again.Version += ", again" // in the place of its first
	if err := l.WriteManifest(again); err != nil {
		t.Fatal(err)
	}
	was := last
	check("a run again")
	for i := range was {
		if len(was[i].Inputs) == 0 || was[i].Run == again.Run {
			continue
		}
		if &was[i].Inputs[0] != &last[i].Inputs[0] {
			t.Errorf("the manifest of %s was read again", was[i].Run)
		}
	}
	shadowed, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(RunPath(all[0].Run))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Fold(len(all)-1, 5, "v"); err != nil {
		t.Fatal(err)
	}
	check("folded")
	// A fold that was killed leaves what it stands for: such a run's name is free again.
	if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(RunPath(all[0].Run))), shadowed, 0o666); err != nil {
		t.Fatal(err)
	}
	check("a folded run is still there")
	if n, err := sequenceOf(dir, all[0].Run); err != nil || n != last[len(last)-1].Sequence+1 {
		t.Errorf("a run that was folded has place %d, want the next; %v", n, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "runs", "broken.json"), []byte(`{"schema": "x"`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Manifests(dir); err == nil {
		t.Error("a broken manifest is taken")
	}
	if _, err := sequenceOf(dir, "another"); err == nil {
		t.Error("a broken manifest has a place in the sequence")
	}
}
