package reports

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"html/template"
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

// parts is the markup of what is folded up in the page: it stands packed, some
// devices together, until the page's script sets it in. All of it comes from
// the template, which has escaped the texts from logs.
type parts struct {
	t      *template.Template
	blocks [][]byte // items that are parted by NUL, which no markup holds
	items  int      // of the last block
	err    error
}

// partBytes is the size from which a block is full: one is unpacked in some
// milliseconds, and like markup packs well together.
const partBytes = 200_000

// add gives the place of the markup that a template makes of data.
func (p *parts) add(name string, data any) string {
	if n := len(p.blocks); n == 0 || len(p.blocks[n-1]) >= partBytes {
		p.blocks, p.items = append(p.blocks, nil), 0
	}
	last := len(p.blocks) - 1
	b := bytes.NewBuffer(p.blocks[last])
	if p.items > 0 {
		b.WriteByte(0)
	}
	if err := p.t.ExecuteTemplate(b, name, data); err != nil && p.err == nil {
		p.err = err
	}
	p.blocks[last] = b.Bytes()
	p.items++
	return fmt.Sprintf("%d.%d", last, p.items-1)
}

// fold packs of a long page what nobody sees at first.
func (p *parts) fold(v *pageView) {
	for i := range v.Sections {
		if s := &v.Sections[i]; i >= plainSections {
			s.Part = p.add("card", s)
		}
	}
	if len(v.Devices) > plainRows {
		v.DevicesPart = p.add("alldevices", v)
	}
	if len(v.Episodes) > plainRows {
		v.EpisodesPart = p.add("moreepisodes", v)
	}
}

// plainRows is the length to which a folded table stands in the page itself.
const plainRows = 100

// parts writes the blocks, each a stream by itself.
func (s *sink) parts(p *parts) {
	if p.err != nil && s.err == nil {
		s.err = p.err
	}
	if len(p.blocks) == 0 {
		return
	}
	streams := make([][]byte, len(p.blocks))
	var all sync.WaitGroup
	for i, b := range p.blocks {
		all.Go(func() {
			var z bytes.Buffer
			w := zlib.NewWriter(&z)
			w.Write(b) // to a buffer: neither fails
			w.Close()
			streams[i] = z.Bytes()
		})
	}
	all.Wait()
	s.text(`<script type="text/plain" id="parts-bytes">`)
	for i, b := range streams {
		if i > 0 {
			s.text(" ")
		}
		s.text(base64.StdEncoding.EncodeToString(b))
	}
	s.text("</script>\n")
}
