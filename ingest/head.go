package ingest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// Head gives what the identity of an input is taken from: its first decompressed
// bytes, at most IdentityBytes; of a group the list of its members' identities.
func Head(in Input, o Options) ([]byte, error) {
	parts, err := openParts(in, o.filled(), IdentityBytes)
	if err != nil {
		return nil, fmt.Errorf("ingest: reading %s: %w", in.Path, err)
	}
	defer closeParts(parts)
	return bytes.Clone(partsHead(parts)), nil
}

// Measure gives the size of an input in decompressed bytes, without decoding
// any. What is damaged ends at the damage.
func Measure(in Input, o Options) (int64, error) {
	parts, err := openParts(in, o.filled(), magicBytes)
	if err != nil {
		return 0, fmt.Errorf("ingest: reading %s: %w", in.Path, err)
	}
	defer closeParts(parts)
	var n int64
	for _, p := range parts {
		if s, ok := p.file.(io.Seeker); ok && p.flow.compression == Plain {
			end, err := s.Seek(0, io.SeekEnd)
			if err != nil {
				return 0, fmt.Errorf("ingest: reading %s: %w", in.Path, err)
			}
			n += end
			continue
		}
		if _, err := io.Copy(io.Discard, struct{ io.Reader }{p.flow}); err != nil {
			return 0, fmt.Errorf("ingest: reading %s: %w", in.Path, err)
		}
		n += p.flow.expanded
	}
	return n, nil
}

// PrefixIdentities gives the identities of the first sizes[i] bytes of a head,
// in one pass; the sizes ascend and are at most its length.
func PrefixIdentities(head []byte, sizes []int) []string {
	ids := make([]string, len(sizes))
	h := sha256.New()
	at := 0
	for i, n := range sizes {
		h.Write(head[at:n])
		at = n
		ids[i] = hex.EncodeToString(h.Sum(nil)[:16])
	}
	return ids
}
