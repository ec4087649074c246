package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// Note is something to be said of a host whose devices are well: that what
// looks like waiting for I/O is none. It never makes a window sick.
type Note struct {
	ID     string `yaml:"id" json:"id"`
	When   string `yaml:"when" json:"when"` // expr-lang/expr, boolean
	Says   string `yaml:"says" json:"says"` // in words
	Advice string `yaml:"advice" json:"advice"`
	At     string `yaml:"-" json:"-"` // file:line, for errors
}

// moment is a window's time on a host.
type moment struct {
	host string
	features.Span
}

// heardOf is what was heard of a note at a moment: it must hold for every
// device of the host that can tell, since one device may be the ground for
// what all together show.
type heardOf struct {
	told, fails bool
}

// notes lists what is to be said of each host: a note that holds in at least
// half of the windows that can tell.
func (r *Rules) notes(points []reduce.Point, d []Diagnosis, w *Witness) []string {
	var out []string
	for i := range r.remarks {
		n := &r.remarks[i]
		heard := map[moment]heardOf{}
		readings := map[string][]Reading{}
		for k := range points {
			if d[k].Verdict == Artefact {
				continue
			}
			at := moment{points[k].Window.Host, features.Span{StartNS: points[k].Window.StartNS, EndNS: points[k].Window.EndNS}}
			h := heard[at]
			w.look(&points[k])
			yes, told := w.holds(&n.expression)
			h.told = h.told || told
			h.fails = h.fails || told && !yes || d[k].Verdict == Sick
			heard[at] = h
			if yes {
				for _, x := range w.asked(nil, &n.expression, &points[k]) {
					readings[at.host] = gatherReading(readings[at.host], x)
				}
			}
		}
		holds, of := map[string]int{}, map[string]int{}
		for at, h := range heard {
			if h.told {
				of[at.host]++
				if !h.fails {
					holds[at.host]++
				}
			}
		}
		for _, host := range slices.Sorted(maps.Keys(holds)) {
			if 2*holds[host] < of[host] {
				continue
			}
			var values []string
			slices.SortFunc(readings[host], func(a, b Reading) int { return cmp.Compare(a.Query, b.Query) })
			for _, x := range readings[host] {
				values = append(values, fmt.Sprintf("%s up to %.3g", x.Query, x.Value))
			}
			out = append(out, fmt.Sprintf("host %s: %s, in %d of %d windows (%s): %s", strings.Map(visible, host), n.Says, holds[host], of[host], strings.Join(values, ", "), n.Advice))
		}
	}
	return out
}

// visible keeps what can't be seen in a log's name out of a sentence.
func visible(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return unicode.ReplacementChar
}
