package ingest

import (
	"cmp"
	"fmt"
	"io"
)

// part is one stream of bytes of an input, opened, with its head: an ordinary
// input has one, a group has one for each member.
type part struct {
	in   Input
	file io.Closer
	flow *inflow
	mem  *[IdentityBytes]byte
	head []byte // the first decompressed bytes; once it is read, what is left of them
	edge []byte // the last bytes before head, where the reading goes on amid the input
}

// openPart opens a stream and reads its head, n bytes at most.
func openPart(in Input, o Options, n int) (*part, error) {
	file, err := in.Open()
	if err != nil {
		return nil, errOpen{err}
	}
	p := &part{in: in, file: file}
	if p.flow, err = newInflow(file, o); err != nil {
		file.Close()
		return nil, err
	}
	if p.flow.torn == "" {
		p.flow.torn = in.torn
	}
	p.mem = headPool.Get().(*[IdentityBytes]byte)
	got, err := p.flow.fill(p.mem[:n], o.ReadBytes)
	if err != nil && err != io.EOF {
		p.close()
		return nil, err
	}
	p.head = p.mem[:got]
	return p, nil
}

func (p *part) close() {
	p.flow.close()
	p.file.Close()
	headPool.Put(p.mem)
}

// behind passes over the first pos bytes and gives the last n of them, or what
// there is.
func (p *part) behind(pos, n int64, size int) ([]byte, error) {
	from := pos - n
	if over := from - int64(len(p.head)); over > 0 {
		p.head = nil
		if err := p.flow.skip(from, over); err != nil {
			return nil, err
		}
	} else {
		p.head = p.head[from:]
	}
	edge := make([]byte, n)
	got := copy(edge, p.head)
	p.head = p.head[got:]
	more, err := p.flow.fill(edge[got:], size)
	if err == io.EOF {
		err = nil
	}
	return edge[:got+more], err
}

// openParts opens all streams of an input.
func openParts(in Input, o Options, n int) ([]*part, error) {
	if len(in.Members) == 0 {
		p, err := openPart(in, o, n)
		if err != nil {
			return nil, err
		}
		return []*part{p}, nil
	}
	parts := make([]*part, 0, len(in.Members))
	for _, m := range in.Members {
		p, err := openPart(m, o, n)
		if err != nil {
			closeParts(parts)
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func closeParts(parts []*part) {
	for _, p := range parts {
		p.close()
	}
}

// partsHead is what the identity of an input is taken from: its head, or, of a
// group, the list of its members' identities, so that members that grow beyond
// memberBytes leave it as it is.
func partsHead(parts []*part) []byte {
	if len(parts) == 1 {
		return parts[0].head
	}
	var list []byte
	for _, p := range parts {
		list = append(list, Identity(p.head[:min(len(p.head), memberBytes)])...)
	}
	return list
}

// memberBytes is the most of a member that its identity within a group is
// taken from; it is small, since a CPU may have little to tell.
const memberBytes = SniffBytes

// accountParts tells of the streams that were read: sums, and the first damage.
func (r *reader) accountParts(parts []*part) {
	for i, p := range parts {
		r.rep.CompressedBytes += p.flow.from.n
		r.rep.Bytes += p.flow.expanded
		r.rep.Torn = cmp.Or(r.rep.Torn, p.flow.torn)
		switch kind := p.flow.compression; {
		case i == 0:
			r.rep.Compression = kind
		case kind != r.rep.Compression && p.flow.expanded > 0:
			r.rep.Compression = "mixed"
		}
	}
	switch {
	case r.in.Duplicate:
	case r.from != nil:
		r.rep.NewBytes = r.rep.Bytes - r.from.Pos
	default:
		r.rep.NewBytes = r.rep.Bytes
	}
}

// together says why streams can't be read as one source by a format, "" if
// they can.
func together(f Format, parts []*part, forced bool) string {
	if len(parts) == 1 {
		return ""
	}
	if f.Records == nil {
		return "files of format " + f.Name + " are not read together"
	}
	for _, p := range parts {
		if len(p.head) > 0 && !forced && f.Sniff(p.head[:min(len(p.head), SniffBytes)], p.in.Path) == 0 {
			return p.in.Path + " is not of format " + f.Name
		}
	}
	return ""
}
