package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrOtherInput says that an input does not begin as the one that is asked for.
var ErrOtherInput = errors.New("another input lies there")

// Lines gives what stands at some decompressed bytes of an input, each to the
// end of its line and at most width bytes long. id and headBytes say which
// input it must be (see Identity): a log that was rotated or rewritten since is
// ErrOtherInput. A packed input is unpacked to the last of the places, and no
// further than most bytes: places behind that are left out, as are those
// behind its end.
func Lines(in Input, o Options, id string, headBytes int, at []int64, width int, most int64) (map[int64][]byte, error) {
	if len(in.Members) > 0 {
		return nil, fmt.Errorf("ingest: %s: a group of files has no lines of its own", in.Path)
	}
	p, err := openPart(in, o.filled(), IdentityBytes)
	if err != nil {
		return nil, fmt.Errorf("ingest: reading %s: %w", in.Path, err)
	}
	defer p.close()
	if headBytes > len(p.head) || Identity(p.head[:headBytes]) != id {
		return nil, fmt.Errorf("ingest: reading %s: %w", in.Path, ErrOtherInput)
	}
	places := slices.Clone(at)
	slices.Sort(places)
	places = slices.DeleteFunc(slices.Compact(places), func(v int64) bool { return v < 0 })
	out := map[int64][]byte{}
	if s, ok := p.file.(io.ReaderAt); ok && p.flow.compression == Plain {
		for _, place := range places {
			b := make([]byte, width)
			n, err := s.ReadAt(b, place)
			if err != nil && err != io.EOF {
				return nil, fmt.Errorf("ingest: reading %s: %w", in.Path, err)
			}
			if n > 0 {
				out[place] = firstLine(b[:n])
			}
		}
		return out, nil
	}
	r := io.LimitReader(io.MultiReader(bytes.NewReader(p.head), p.flow), most)
	var kept []byte // from the byte pos on
	pos := int64(0)
	for _, place := range places {
		if over := place - pos - int64(len(kept)); over > 0 {
			n, err := io.CopyN(io.Discard, r, over)
			if pos, kept = pos+int64(len(kept))+n, kept[:0]; err == io.EOF {
				return out, nil
			} else if err != nil {
				return nil, fmt.Errorf("ingest: reading %s: %w", in.Path, err)
			}
		} else {
			kept, pos = kept[place-pos:], place
		}
		if short := width - len(kept); short > 0 {
			more := make([]byte, short)
			n, err := io.ReadFull(r, more)
			if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
				return nil, fmt.Errorf("ingest: reading %s: %w", in.Path, err)
			}
			kept = append(slices.Clone(kept), more[:n]...)
		}
		if len(kept) > 0 {
			out[place] = firstLine(kept[:min(len(kept), width)])
		}
	}
	return out, nil
}

// firstLine is a copy of b to its first newline.
func firstLine(b []byte) []byte {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	return bytes.Clone(b)
}
