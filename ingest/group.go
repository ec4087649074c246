package ingest

import (
	"cmp"
	"io"
	"slices"
	"strings"
)

// grouped joins the inputs that one format reads as one source: those to whose
// paths its Group gives one key and whose content it claims. Empty ones
// belong to it, too: a CPU may have had nothing to tell.
func grouped(inputs []Input, o Options) []Input {
	type key struct{ format, host, group string }
	for _, f := range Formats() {
		if f.Group == nil || o.Format != "" && o.Format != f.Name {
			continue
		}
		groups := make(map[key][]int)
		for i := range inputs {
			if g := f.Group(inputs[i].Path); g != "" && inputs[i].Members == nil {
				k := key{f.Name, inputs[i].Host, g}
				groups[k] = append(groups[k], i)
			}
		}
		taken := make([]bool, len(inputs))
		var joined []Input
		for k, all := range groups {
			if len(all) < 2 {
				continue
			}
			members := slices.DeleteFunc(all, func(i int) bool { return !belongs(f, inputs[i], o) })
			if len(members) < 2 {
				continue
			}
			var list []Input
			for _, i := range members {
				taken[i] = true
				list = append(list, inputs[i])
			}
			joined = append(joined, groupOf(k.group, list))
		}
		if len(joined) == 0 {
			continue
		}
		kept := joined
		for i, in := range inputs {
			if !taken[i] {
				kept = append(kept, in)
			}
		}
		inputs = kept
	}
	return inputs
}

// groupOf makes one input of several, in the order of the numbers in their names.
func groupOf(path string, members []Input) Input {
	slices.SortFunc(members, func(a, b Input) int {
		return cmp.Or(cmp.Compare(len(a.Path), len(b.Path)), strings.Compare(a.Path, b.Path))
	})
	g := Input{Path: path, Host: members[0].Host, Members: members}
	for _, m := range members {
		g.Size += m.Size
		g.ChangedNS = max(g.ChangedNS, m.ChangedNS)
	}
	g.Open = func() (io.ReadCloser, error) { return &chain{rest: members}, nil }
	return g
}

// belongs says whether a format claims an input, or it is empty.
func belongs(f Format, in Input, o Options) bool {
	p, err := openPart(in, o, SniffBytes)
	if err != nil {
		return false
	}
	defer p.close()
	return len(p.head) == 0 && p.flow.torn == "" || o.Format == f.Name || f.Sniff(p.head, in.Path) > 0
}

// chain is the bytes of several inputs one after the other.
type chain struct {
	rest []Input
	r    io.ReadCloser
}

func (c *chain) Read(p []byte) (int, error) {
	for {
		if c.r == nil {
			if len(c.rest) == 0 {
				return 0, io.EOF
			}
			r, err := c.rest[0].Open()
			if err != nil {
				return 0, err
			}
			c.r, c.rest = r, c.rest[1:]
		}
		n, err := c.r.Read(p)
		if err == io.EOF {
			if err = c.Close(); err == nil && n == 0 {
				continue
			}
		}
		return n, err
	}
}

func (c *chain) Close() error {
	if c.r == nil {
		return nil
	}
	r := c.r
	c.r = nil
	return r.Close()
}
