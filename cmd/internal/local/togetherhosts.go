package local

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// join makes one host of the logs that name none and saw the same I/Os: the one that the
// content of some of them names, else the one that the least identity stands for.
func (g *group) join(inputs []ingest.Input, claims []claim) (warnings []string) {
	if !g.unnamed {
		return nil
	}
	var tops []*groupLog
	of := map[*groupLog][]*groupLog{}
	for _, l := range slices.Concat(g.logs, g.samples) {
		top := l.top()
		if of[top] == nil {
			tops = append(tops, top)
		}
		of[top] = append(of[top], l)
	}
	for _, top := range tops {
		hosts := map[string]bool{}
		least := ""
		var names []string
		for _, l := range of[top] {
			if l.host != "" {
				hosts[l.host] = true
			} else if !l.many {
				if least == "" || l.id < least {
					least = l.id
				}
				names = append(names, Printable(l.name))
			}
		}
		if len(of[top]) < 2 || len(names) == 0 || len(hosts) > 1 {
			continue
		}
		host := ingest.StandIn(least)
		for h := range hosts {
			host = h
		}
		for _, l := range of[top] {
			if l.host == "" && !l.many {
				inputs[l.at].Host, claims[l.at].host = host, host
			}
		}
		warnings = append(warnings, fmt.Sprintf("%s: named no host, and saw the I/Os of one: taken for %s (--host NAME names it)", few(names), Printable(host)))
	}
	return warnings
}

// standsIn notes which host stands in for that of an input, by the paths of its parts.
func standsIn(byHost map[string][]string, input string, parts []string) {
	seen := map[string]bool{}
	for _, path := range parts {
		name, err := lake.ParsePart(path)
		if err == nil && (name.Table == lake.Events || name.Table == lake.Samples) && ingest.NamesNoHost(name.Host) && !seen[name.Host] {
			seen[name.Host] = true
			byHost[name.Host] = append(byHost[name.Host], Printable(filepath.Base(input)))
		}
	}
}

// nameless tells of inputs that name no host, by the host that stands in for theirs:
// each is one of its own.
func nameless(byHost map[string][]string) []string {
	var names []string
	for _, host := range sortedKeys(byHost) {
		names = append(names, byHost[host]...)
	}
	if len(byHost) < 2 {
		return nil
	}
	return []string{fmt.Sprintf("%d inputs name no host, and count as %d hosts: %s; if they are of one machine say --host NAME, if of several put each one's logs into a folder host=NAME", len(names), len(byHost), few(names))}
}
