package local

import (
	"strings"
	"testing"

	"github.com/iopathy/iopathy/configs"
)

// The report tells what differs from the defaults, and nothing of the machine.
func TestSettings(t *testing.T) {
	check := func(what string, change func(*configs.Config), more string) {
		t.Helper()
		c := configs.Default()
		change(&c)
		before, after := (&Job{Config: configs.Default()}).settings(), (&Job{Config: c}).settings()
		var added []string
		for line := range strings.Lines(after) {
			if !strings.Contains(before, line) {
				added = append(added, strings.TrimSpace(line))
			}
		}
		if got := strings.Join(added, "; "); got != more {
			t.Errorf("%s: %q is told, want %q", what, got, more)
		}
	}
	check("nothing", func(*configs.Config) {}, "")
	check("a threshold", func(c *configs.Config) { c.Cluster.MinScore = 0.5 }, "cluster.min_score: 0.5")
	check("the seed", func(c *configs.Config) { c.Seed = 7 }, "seed: 7")
	check("an inventory", func(c *configs.Config) { c.Inventory = "/etc/inventory.csv" }, "inventory: true")
	check("the machine", func(c *configs.Config) {
		c.Sources, c.Lake, c.Out, c.Workers, c.Ingest.ReadBytes = []string{"/var/log"}, "/lake", "/out", 8, 17
		c.Report.EchartsJS, c.Catalogue, c.Model, c.Output, c.FailOn = "/e.js", "/c.yaml", "/m.json", "json", 4
	}, "")
}
