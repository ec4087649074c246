package reports

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"hash/adler32"
	"sync"
)

// deflated packs planes of bytes into one zlib stream (RFC 1950). Each plane is
// packed by itself, all at the same time, and its last block ends at a byte (as
// pigz does it), so that the pieces joined are a stream; the same planes give
// the same bytes.
func deflated(planes ...[]byte) []byte {
	pieces := make([][]byte, len(planes))
	var all sync.WaitGroup
	for i, p := range planes {
		all.Go(func() { pieces[i] = piece(p) })
	}
	sum := adler32.New()
	for _, p := range planes {
		sum.Write(p)
	}
	all.Wait()
	out := []byte{0x78, 0x9c}
	for _, p := range pieces {
		out = append(out, p...)
	}
	out = append(out, 3, 0) // an empty block of fixed codes, the last one
	return binary.BigEndian.AppendUint32(out, sum.Sum32())
}

// piece packs a plane for speed: by matches, and where these gain little, as
// in the low bytes of what was measured, by the bytes' frequencies alone.
func piece(plane []byte) []byte {
	out := packedAt(flate.BestSpeed, plane)
	if len(out) > len(plane)/16 {
		if other := packedAt(flate.HuffmanOnly, plane); len(other) < len(out) {
			out = other
		}
	}
	return out
}

func packedAt(level int, plane []byte) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, level)
	if err == nil {
		if _, err = w.Write(plane); err == nil {
			err = w.Flush()
		}
	}
	if err != nil {
		panic("reports: " + err.Error()) // a buffer takes all, and the levels are flate's own
	}
	return b.Bytes()
}

// packed writes a zlib stream as a data block.
func (s *sink) packed(id string, stream []byte) {
	s.text(`<script type="text/plain" id="`, id, `">`)
	if s.err == nil {
		e := base64.NewEncoder(base64.StdEncoding, s.w)
		if _, s.err = e.Write(stream); s.err == nil {
			s.err = e.Close()
		}
	}
	s.text("</script>\n")
}
