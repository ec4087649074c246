package cluster

import (
	"cmp"
	"fmt"
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

// heardOf is what was heard of a note at a time: it must hold for every
// device of the host that can tell, since one device may be the ground for
// what all together show.
type heardOf struct {
	told, fails bool
}

// noted is what is heard of the notes on a host, and said of the hosts before.
// Hosts come one after another.
type noted struct {
	w     *Witness
	host  string
	heard []map[features.Span]heardOf // by note
	found [][]Reading                 // by note
	lines [][]string                  // by note
}

func newNoted(w *Witness) *noted {
	n := len(w.r.remarks)
	return &noted{w: w, heard: make([]map[features.Span]heardOf, n), found: make([][]Reading, n), lines: make([][]string, n)}
}

// add takes the next window.
func (n *noted) add(p *reduce.Point, verdict Verdict) {
	if len(n.heard) == 0 || verdict == Artefact {
		return
	}
	if p.Window.Host != n.host {
		n.end()
		n.host = p.Window.Host
	}
	n.w.look(p)
	at := features.Span{StartNS: p.Window.StartNS, EndNS: p.Window.EndNS}
	for i := range n.w.r.remarks {
		remark := &n.w.r.remarks[i]
		if n.heard[i] == nil {
			n.heard[i] = map[features.Span]heardOf{}
		}
		h := n.heard[i][at]
		yes, told := n.w.holds(&remark.expression)
		h.told = h.told || told
		h.fails = h.fails || told && !yes || verdict == Sick
		n.heard[i][at] = h
		if yes {
			for _, x := range n.w.asked(nil, &remark.expression, p) {
				n.found[i] = gatherReading(n.found[i], x)
			}
		}
	}
}

// end says what is to be said of the host: a note that holds in at least half
// of the times that can tell.
func (n *noted) end() {
	for i := range n.heard {
		holds, of := 0, 0
		for _, h := range n.heard[i] {
			if h.told {
				of++
				if !h.fails {
					holds++
				}
			}
		}
		if holds > 0 && 2*holds >= of {
			var values []string
			slices.SortFunc(n.found[i], func(a, b Reading) int { return cmp.Compare(a.Query, b.Query) })
			for _, x := range n.found[i] {
				values = append(values, fmt.Sprintf("%s up to %.3g", x.Query, x.Value))
			}
			says := &n.w.r.remarks[i]
			n.lines[i] = append(n.lines[i], fmt.Sprintf("host %s: %s, in %d of %s (%s): %s", strings.Map(visible, n.host), says.Says, holds, Counted(of, "window"), strings.Join(values, ", "), says.Advice))
		}
		n.heard[i], n.found[i] = nil, nil
	}
}

// visible keeps what can't be seen in a log's name out of a sentence.
func visible(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return unicode.ReplacementChar
}
