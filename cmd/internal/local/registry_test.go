package local

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/ingest/lake"
)

// Of two runs that read one registry, the second to write is told to begin
// again, unless it says the same.
func TestRegistryIsNotOverwritten(t *testing.T) {
	j := &Job{Lake: t.TempDir()}
	class := func(axis int) []cluster.Class {
		c := cluster.Class{ID: 1, Members: 1}
		c.Prototype[axis] = 1
		return []cluster.Class{c}
	}
	named := func(axis int) *naming {
		n, err := j.newNaming(&Windows{})
		if err != nil {
			t.Fatal(err)
		}
		n.registry, _, _ = n.registry.Match(cluster.Family{Kind: "q2c"}, cluster.Fitted, class(axis), 1)
		return n
	}
	store := func(n *naming) error {
		lock, err := lake.NewLock(j.Lake)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		return n.store(lock)
	}
	first, other, same := named(0), named(1), named(0)
	for range 2 {
		if err := store(first); err != nil {
			t.Fatal(err)
		}
	}
	if err := store(same); err != nil {
		t.Errorf("the same registry: %v", err)
	}
	if err := store(other); err == nil || !strings.Contains(err.Error(), "run again") {
		t.Errorf("another registry: %v", err)
	}
	if err := store(named(1)); err != nil {
		t.Error(err)
	}
	if n := named(0); n.registry.Next != 3 || len(n.registry.Classes) != 2 {
		t.Errorf("the lake knows %+v", n.registry)
	}
	if err := os.WriteFile(registryFile(j.Lake), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := j.newNaming(&Windows{}); err == nil || !strings.Contains(err.Error(), "registry.json") {
		t.Errorf("a torn registry: %v", err)
	}
}

func TestShiftsKeepClassesApart(t *testing.T) {
	check := func(want []int, ids ...[]int) {
		t.Helper()
		var models []KindModel
		for _, list := range ids {
			m := &cluster.Model{}
			for _, id := range list {
				m.Classes = append(m.Classes, cluster.Prototype{ID: id})
			}
			models = append(models, KindModel{Cluster: m})
		}
		if got := shifts(models); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", ids, got, want)
		}
	}
	check([]int{0, 0}, []int{1, 2}, []int{3, 9})
	check([]int{0, 0}, []int{7, 2}, []int{1, 9})
	check([]int{0, 2, 4}, []int{1, 2}, []int{1, 2}, []int{1, 2, 3})
	check([]int{0, 0, 0}, []int{1}, nil, []int{2})
}
