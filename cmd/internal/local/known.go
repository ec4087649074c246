package local

import (
	"cmp"
	"context"
	"hash/maphash"
	"maps"
	"math/bits"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// claim is what an input is found to be before it is read.
type claim struct {
	seen  string     // identity of its head; "" if that can't be told
	bytes int        // of its head
	group bool       // of files: its head is the list of theirs
	marks [17]uint64 // hashes of the first 1, 2, 4, ... bytes of the head
	old   lake.Input // the record of an earlier run that it is, or continues
	known bool

	id        string      // identity under which it stands in the lake
	headBytes int         // that this identity was taken from
	grown     bool        // it continues old: its parts take the place of those
	host      string      // that it was found to be of; "" if that was told, or is not known
	names     deviceNames // of its devices, as other logs tell
	same      bool        // it is old, to the last byte: it need not be read
}

// recognise finds what the inputs are: copies of one another or of what the
// lake holds (marked as duplicates), continuations of what it holds, or new.
// What is kept of an input is its longest copy.
func (j *Job) recognise(ctx context.Context, inputs []ingest.Input, known *lake.Known) ([]claim, error) {
	claims := make([]claim, len(inputs))
	seed := maphash.MakeSeed()
	err := j.each(ctx, len(inputs), func(i int) {
		claims[i] = j.look(inputs[i], known, seed)
	})
	if err != nil {
		return nil, err
	}
	alike := map[string][]int{}
	var order []string
	for i := range claims {
		c := &claims[i]
		if c.seen == "" || c.bytes == 0 {
			continue
		}
		root := c.seen
		if c.known {
			root = c.old.ID
		}
		if alike[root] == nil {
			order = append(order, root)
		}
		alike[root] = append(alike[root], i)
	}
	for _, root := range order {
		j.settle(inputs, claims, alike[root])
	}
	if err := j.prefixes(ctx, inputs, claims); err != nil {
		return nil, err
	}
	for i := range claims {
		if claims[i].id != claims[i].seen {
			inputs[i].ID = claims[i].id
		}
	}
	return claims, nil
}

// each calls fn for 0 to n-1, with the workers.
func (j *Job) each(ctx context.Context, n int, fn func(int)) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(j.workers())
	for i := range n {
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			fn(i)
			return nil
		})
	}
	return g.Wait()
}

// look reads the head of an input. A head that can't be read is left to
// ingest.Read, which says so in its report.
func (j *Job) look(in ingest.Input, known *lake.Known, seed maphash.Seed) (c claim) {
	head, err := ingest.Head(in, j.Config.Ingest)
	if err != nil {
		return c
	}
	c.seen, c.bytes, c.group = ingest.Identity(head), len(head), len(in.Members) > 0
	for k := 0; k < len(c.marks) && 1<<k <= len(head); k++ {
		c.marks[k] = maphash.Bytes(seed, head[:1<<k])
	}
	c.old, c.known = known.Find(head)
	c.id, c.headBytes = c.seen, c.bytes
	return c
}

// small says that the head is all of the input.
func (c *claim) small() bool { return !c.group && c.bytes < ingest.IdentityBytes }

// settle decides among inputs of one identity: the longest is read, if the
// lake does not hold as much of it, and the others are its copies. An input
// that only began like it is one of its own.
func (j *Job) settle(inputs []ingest.Input, claims []claim, members []int) {
	first := &claims[members[0]]
	if len(members) == 1 && !first.known {
		return
	}
	old, known := first.old, first.known
	sizes := make(map[int]int64, len(members))
	for _, m := range members {
		sizes[m] = j.size(inputs[m], &claims[m])
	}
	slices.SortStableFunc(members, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
	lead := members[0]
	id, headBytes := claims[lead].seen, claims[lead].bytes
	if known {
		id, headBytes = old.ID, old.HeadBytes
	}
	copyOf := func(m int) {
		inputs[m].Duplicate = true
		claims[m].id, claims[m].headBytes = id, headBytes
		claims[m].same = known && sizes[m] == old.Bytes
	}
	claims[lead].id, claims[lead].headBytes = id, headBytes
	if known && sizes[lead] >= 0 && sizes[lead] <= old.Bytes {
		copyOf(lead)
	} else {
		claims[lead].grown = known
	}
	others := map[string][]int{}
	for _, m := range members[1:] {
		c := &claims[m]
		if known && sizes[m] <= old.Bytes || c.seen == claims[lead].seen || c.small() && j.begins(inputs[lead], c) {
			copyOf(m)
			continue
		}
		c.known = false
		others[c.seen] = append(others[c.seen], m)
	}
	for _, seen := range slices.Sorted(maps.Keys(others)) {
		j.settle(inputs, claims, others[seen])
	}
}

// begins says whether an input begins with the head of a claim.
func (j *Job) begins(in ingest.Input, c *claim) bool {
	id, n, err := ingest.Identify(in, j.Config.Ingest, c.bytes)
	return err == nil && n == c.bytes && id == c.seen
}

// size is the decompressed size of an input, -1 if it can't be told yet.
func (j *Job) size(in ingest.Input, c *claim) int64 {
	switch {
	case c.small():
		return int64(c.bytes)
	case once(in):
		return -1
	case c.known && in.Size == c.old.CompressedBytes:
		return c.old.Bytes
	}
	n, err := ingest.Measure(in, j.Config.Ingest)
	if err != nil {
		return -1
	}
	return n
}

// prefixes finds the small inputs that are the beginning of another one of
// this run, older copies of it, and marks them as its duplicates.
func (j *Job) prefixes(ctx context.Context, inputs []ingest.Input, claims []claim) error {
	type mark struct {
		k    int
		hash uint64
	}
	type prefix struct {
		bytes int
		id    string
	}
	sizes := map[mark]map[int]bool{}
	small := map[prefix]int{}
	for i := range claims {
		c := &claims[i]
		if c.bytes > 0 && c.small() && !inputs[i].Duplicate && !c.known {
			k := bits.Len(uint(c.bytes)) - 1
			m := mark{k, c.marks[k]}
			if sizes[m] == nil {
				sizes[m] = map[int]bool{}
			}
			sizes[m][c.bytes] = true
			small[prefix{c.bytes, c.seen}] = i
		}
	}
	wholes := make([][]int, len(inputs)) // by input: the small ones that it begins with
	err := j.each(ctx, len(inputs), func(i int) {
		c := &claims[i]
		var ask []int
		for k := 0; !c.group && k < len(c.marks) && 1<<k <= c.bytes; k++ {
			for n := range sizes[mark{k, c.marks[k]}] {
				if n < c.bytes {
					ask = append(ask, n)
				}
			}
		}
		if len(ask) == 0 {
			return
		}
		head, err := ingest.Head(inputs[i], j.Config.Ingest)
		if err != nil || len(head) < c.bytes {
			return
		}
		slices.Sort(ask)
		for n, id := range ingest.PrefixIdentities(head, ask) {
			if s, ok := small[prefix{ask[n], id}]; ok {
				wholes[i] = append(wholes[i], s)
			}
		}
	})
	if err != nil {
		return err
	}
	whole := map[int]int{} // the longest, of equals the first
	for i, list := range wholes {
		for _, s := range list {
			if w, ok := whole[s]; !ok || claims[i].bytes > claims[w].bytes {
				whole[s] = i
			}
		}
	}
	parts := slices.Collect(maps.Keys(whole))
	slices.SortFunc(parts, func(a, b int) int {
		return cmp.Or(cmp.Compare(claims[b].bytes, claims[a].bytes), cmp.Compare(a, b))
	})
	for _, s := range parts { // the longer ones first: what they are is settled
		inputs[s].Duplicate = true
		claims[s].id, claims[s].headBytes = claims[whole[s]].id, claims[whole[s]].headBytes
	}
	return nil
}
