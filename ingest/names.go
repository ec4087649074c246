package ingest

// Names interns the strings of one Batch: hosts, devices, commands. The zero
// value is ready; Name 0 is the empty string. A string is copied once, when
// first seen. It belongs to its batch, so hostile logs with endless names
// can't fill the memory of a run.
type Names struct {
	index map[string]Name
	list  []string
	near  [256]Name // by slot: few names make most of a log's lines
	pairs [256]pair
}

// pair is what a decoder made of a text of up to seven bytes.
type pair struct {
	text uint64
	a, b Name
}

// pairOf gives the place of a text: the one that has it, else that of another.
func (n *Names) pairOf(text uint64) *pair {
	k := text * 0x9e3779b97f4a7c15 >> 56
	if p := &n.pairs[k]; p.text == text || p.text == 0 {
		return p
	}
	return &n.pairs[k^1]
}

// Pair gives the two names that a decoder kept for a text, such as those of host
// and device for the two cells of them. The text is up to seven bytes and
// their number, as one number that is not 0; ok is false if it is not kept.
func (n *Names) Pair(text uint64) (a, b Name, ok bool) {
	p := n.pairOf(text)
	return p.a, p.b, p.text == text
}

// KeepPair keeps the names of a text for Pair; others may push them out.
func (n *Names) KeepPair(text uint64, a, b Name) { *n.pairOf(text) = pair{text, a, b} }

// slot spreads names by a few of their bytes. It is quick, and no more than a
// hint: the map settles what it can't, and hostile names can't make that slow.
func slot[T string | []byte](b T) uint {
	n := len(b)
	return (uint(b[0]) + 7*uint(b[n/3]) + 3*uint(b[n/2]) + 5*uint(b[n-1]) + 11*uint(n)) % 256
}

// Intern gives the Name of b, which it copies if it is new.
func (n *Names) Intern(b []byte) Name {
	if len(b) == 0 {
		return 0
	}
	near := &n.near[slot(b)]
	if id := *near; id != 0 && n.list[id] == string(b) {
		return id
	}
	id, ok := n.index[string(b)]
	if !ok {
		id = n.add(string(b))
	}
	*near = id
	return id
}

// InternString is Intern for a string.
func (n *Names) InternString(s string) Name {
	if s == "" {
		return 0
	}
	near := &n.near[slot(s)]
	if id := *near; id != 0 && n.list[id] == s {
		return id
	}
	id, ok := n.index[s]
	if !ok {
		id = n.add(s)
	}
	*near = id
	return id
}

func (n *Names) add(s string) Name {
	if n.index == nil {
		n.index = make(map[string]Name)
		n.list = append(n.list[:0], "")
	}
	id := Name(len(n.list))
	n.list = append(n.list, s)
	n.index[s] = id
	return id
}

// String is the text of a Name; one that is not of this table is empty.
func (n *Names) String(id Name) string {
	if int(id) < len(n.list) {
		return n.list[id]
	}
	return ""
}

// Len is the number of names, the empty one included.
func (n *Names) Len() int { return max(len(n.list), 1) }

// List gives all names by number; the caller must not change it.
func (n *Names) List() []string {
	if len(n.list) == 0 {
		return []string{""}
	}
	return n.list
}

// Rename gives every name what to says; two may become one text and stay two
// numbers. Intern goes on finding a name by its old text.
func (n *Names) Rename(to func(old string) string) {
	for i := 1; i < len(n.list); i++ {
		n.list[i] = to(n.list[i])
	}
}
