package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// Head gives the first decompressed bytes of an input, at most IdentityBytes:
// those that Identity is taken from.
func Head(in Input, o Options) ([]byte, error) {
	head := make([]byte, IdentityBytes)
	o = o.filled()
	n := 0
	err := inflate(in, o, func(flow *inflow, _ io.Reader) (err error) {
		n, err = flow.fill(head, o.ReadBytes)
		return err
	})
	return head[:n], err
}

// Measure gives the size of an input in decompressed bytes, without decoding
// any. What is damaged ends at the damage.
func Measure(in Input, o Options) (int64, error) {
	o = o.filled()
	var n int64
	err := inflate(in, o, func(flow *inflow, file io.Reader) error {
		if s, ok := file.(io.Seeker); ok && flow.compression == Plain {
			end, err := s.Seek(0, io.SeekEnd)
			n = end
			return err
		}
		_, err := io.Copy(io.Discard, struct{ io.Reader }{flow})
		n = flow.expanded
		return err
	})
	return n, err
}

// inflate opens an input and hands on its decompressed bytes.
func inflate(in Input, o Options, read func(flow *inflow, file io.Reader) error) error {
	file, err := in.Open()
	if err != nil {
		return fmt.Errorf("ingest: opening %s: %w", in.Path, err)
	}
	defer file.Close()
	flow, err := newInflow(file, o)
	if err != nil {
		return fmt.Errorf("ingest: reading %s: %w", in.Path, err)
	}
	defer flow.close()
	if err := read(flow, file); err != nil && err != io.EOF {
		return fmt.Errorf("ingest: reading %s: %w", in.Path, err)
	}
	return nil
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
