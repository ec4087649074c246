package lake

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
)

// Known finds inputs again that earlier runs have read: repeated, renamed,
// recompressed or grown. An input is known by what its head was when it was
// first seen and by what it was last; one that never gave a part is not known,
// since a file of a header alone begins like many others.
type Known struct {
	byID  map[string]Input  // the latest record with parts
	heads map[headKey]Input // by ID and HeadBytes
	seen  map[headKey]string
	sizes []int // the HeadBytes there are, ascending
}

type headKey struct {
	bytes int
	id    string
}

// NewKnown indexes the inputs of manifests in their sequence.
func NewKnown(all []Manifest) *Known {
	k := &Known{byID: make(map[string]Input), heads: make(map[headKey]Input), seen: make(map[headKey]string)}
	for _, m := range all {
		for _, in := range m.Inputs {
			if in.Gave() {
				k.byID[in.ID] = in
			}
		}
	}
	for _, m := range all {
		for _, in := range m.Inputs {
			if _, ok := k.byID[in.ID]; !ok {
				continue
			}
			if in.Gave() {
				k.seen[headKey{in.HeadBytes, in.ID}] = in.ID
			}
			if in.SeenID != "" {
				k.seen[headKey{in.SeenBytes, in.SeenID}] = in.ID
			}
		}
	}
	sizes := make(map[int]bool)
	for _, in := range k.byID {
		k.heads[headKey{in.HeadBytes, in.ID}] = in
		sizes[in.HeadBytes] = true
	}
	k.sizes = slices.Sorted(maps.Keys(sizes))
	return k
}

// Input gives the latest record with parts of an input.
func (k *Known) Input(id string) (in Input, ok bool) {
	in, ok = k.byID[id]
	return in, ok
}

// Exactly finds the input whose head, as some run saw it, has an identity: it
// is the same, or an older copy of it, or longer beyond its head.
func (k *Known) Exactly(bytes int, id string) (in Input, ok bool) {
	if bytes == 0 {
		return in, false
	}
	in, ok = k.byID[k.seen[headKey{bytes, id}]]
	return in, ok
}

// Find finds the input that begins with head, the first bytes of an input as
// it is now: exactly, or else the longest head that head begins with, if all
// that was last seen of it is there still. An input that was shorter than a
// whole head is so known again when it has grown. One that begins otherwise
// is not known.
func (k *Known) Find(head []byte) (found Input, ok bool) {
	if found, ok = k.Exactly(len(head), headID(head)); ok {
		return found, true
	}
	h := sha256.New() // of all prefixes in one pass
	at := 0
	var sum [sha256.Size]byte
	for _, n := range k.sizes {
		if n > len(head) {
			break
		}
		h.Write(head[at:n])
		at = n
		in, here := k.heads[headKey{n, hex.EncodeToString(h.Sum(sum[:0])[:16])}]
		if !here || in.SeenID != "" && (in.SeenBytes > len(head) || headID(head[:in.SeenBytes]) != in.SeenID) {
			continue
		}
		found, ok = in, true
	}
	return found, ok
}

// headID is the identity of a head, as FORMAT.md has it.
func headID(head []byte) string {
	sum := sha256.Sum256(head)
	return hex.EncodeToString(sum[:16])
}
