package formats

import (
	"bytes"
	"fmt"

	"github.com/iopathy/iopathy/ingest"
)

// Numastat reads numastat's table of allocation counters, once or again and again:
// numa_hit, numa_miss, numa_foreign, interleave_hit, local_node, other_node in pages,
// a fact for each node, which is the text (node0). What -n prints, in MB, is
// numa_hit_bytes.
var Numastat = ingest.Register(ingest.Format{
	Name:  "numastat",
	Doc:   "numastat: allocation counters of the NUMA nodes",
	Kind:  ingest.KindNone,
	Needs: "a time before each table (# EPOCH, date, zzz ***), else start_ns and interval; without either the counters stand without a time",
	Lacks: "host, devices, I/O; which node a device is at; the tables of -m and -p are notes",
	Sniff: func(head []byte, _ string) int {
		nodes := false
		for line := range bytes.Lines(head) {
			switch tok := bytes.Fields(line); {
			case len(tok) > 0 && string(tok[0]) == "node0", len(tok) > 1 && string(tok[0]) == "Node" && string(tok[1]) == "0":
				nodes = true
			case nodes && len(tok) > 1 && numaName(tok[0]) != "":
				return 2
			}
		}
		return 0
	},
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		clock, err := newSeriesClock(src)
		if err != nil {
			return nil, fmt.Errorf("numastat: %w", err)
		}
		return &numastat{clock: clock, host: src.Host}, nil
	},
})

func numaName(b []byte) string {
	var mem [16]byte
	if len(b) > len(mem) {
		return ""
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		mem[i] = c
	}
	switch string(mem[:len(b)]) {
	case "numa_hit":
		return "numa_hit"
	case "numa_miss":
		return "numa_miss"
	case "numa_foreign":
		return "numa_foreign"
	case "interleave_hit":
		return "interleave_hit"
	case "local_node":
		return "local_node"
	case "other_node":
		return "other_node"
	}
	return ""
}

type numastat struct {
	clock seriesClock
	host  string
	nodes []string // "" for the column of totals
	mega  bool
	fresh bool // no table has followed the last time
	begun bool
	space [maxIOTokens][]byte
	name  []byte
}

func (d *numastat) Line(line []byte, out *ingest.Out) {
	if d.clock.glued(line, d, out) {
		return
	}
	tok := cutFields(line, d.space[:0])
	switch {
	case len(tok) == 0:
		out.Note()
	case numaName(tok[0]) != "":
		d.row(line, tok, out)
	case bytes.HasPrefix(tok[0], []byte("node")) && len(tok[0]) > 4 && isDecimal(tok[0][4]):
		d.table(false)
		for _, t := range tok {
			d.column("", t)
		}
		out.Note()
	case string(tok[0]) == "Node":
		d.table(true)
		for i := 0; i < len(tok); i++ {
			if string(tok[i]) == "Node" && i+1 < len(tok) {
				i++
				d.column("node", tok[i])
			} else {
				d.column("", nil)
			}
		}
		out.Note()
	default:
		d.fresh = d.clock.mark(line) || d.fresh
		out.Note()
	}
}

// column adds one, whose name is mostly that of the table before.
func (d *numastat) column(word string, node []byte) {
	n := len(d.nodes)
	if n < cap(d.nodes) {
		if old := d.nodes[:n+1][n]; len(old) == len(word)+len(node) && old[:len(word)] == word && old[len(word):] == string(node) {
			d.nodes = d.nodes[:n+1]
			return
		}
	}
	d.nodes = append(d.nodes, word+string(node))
}

// table begins one.
func (d *numastat) table(mega bool) {
	if d.begun && !d.fresh {
		d.clock.next()
	}
	d.nodes, d.mega, d.begun, d.fresh = d.nodes[:0], mega, true, false
}

func (d *numastat) row(line []byte, tok [][]byte, out *ingest.Out) {
	if len(tok) != len(d.nodes)+1 {
		out.Reject(line, "columns")
		return
	}
	var values [maxIOTokens]float64
	for i := range d.nodes {
		x, ok := counterNumber(tok[i+1], true)
		if !ok || x < 0 {
			out.Reject(line, "bad-value")
			return
		}
		values[i] = x
	}
	e := ingest.Evidence{Host: out.Names.InternString(d.host)}
	unit := 1.0
	d.name = append(d.name[:0], numaName(tok[0])...)
	if d.mega {
		d.name, unit = append(d.name, "_bytes"...), 1<<20
	}
	e.Name = out.Names.Intern(d.name)
	if d.clock.timed {
		e.TimeNS = d.clock.timeNS
	}
	for i, node := range d.nodes {
		if node != "" {
			e.Text, e.Value = out.Names.InternString(node), values[i]*unit
			out.Fact(e)
		}
	}
	out.Count(ingest.FateEvent, "", 1)
}

func (d *numastat) End(*ingest.Out) {}
