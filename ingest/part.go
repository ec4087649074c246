package ingest

import (
	"fmt"
	"io"
	"strings"
)

// part is one stream of bytes of an input, opened, with its head: an ordinary
// input has one, a group has one for each member.
type part struct {
	in   Input
	file io.Closer
	flow *inflow
	mem  *[IdentityBytes]byte
	head []byte // the first decompressed bytes
}

// openPart opens a stream and reads its head, n bytes at most.
func openPart(in Input, o Options, n int) (*part, error) {
	file, err := in.Open()
	if err != nil {
		return nil, err
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

// partsIdentity is the identity of the streams of an input and the bytes that
// it was taken from: of several, the identity of the list of theirs.
func partsIdentity(parts []*part) (id string, bytes int) {
	if len(parts) == 1 {
		return Identity(parts[0].head), len(parts[0].head)
	}
	var list strings.Builder
	for _, p := range parts {
		list.WriteString(Identity(p.head))
		bytes += len(p.head)
	}
	return Identity([]byte(list.String())), bytes
}
