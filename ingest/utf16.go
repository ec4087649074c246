package ingest

import (
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// UTF16 is a text of two bytes a sign, as shells of Windows write what they redirect.
// It is read as UTF-8, of which all places are.
const UTF16 = "utf-16"

// utf16Order tells by the first four bytes that a text is in UTF-16: its mark, and a
// sign of ASCII.
func utf16Order(head []byte) binary.ByteOrder {
	if len(head) < 4 {
		return nil
	}
	ascii := func(high, low byte) bool { return high == 0 && low >= '\t' && low < 0x7f }
	switch {
	case head[0] == 0xff && head[1] == 0xfe && ascii(head[3], head[2]):
		return binary.LittleEndian
	case head[0] == 0xfe && head[1] == 0xff && ascii(head[2], head[3]):
		return binary.BigEndian
	}
	return nil
}

// utf16Reader gives the UTF-8 of a text in UTF-16, without its mark. Half a pair, and a
// byte that is left at the end, are the sign for what is unreadable.
type utf16Reader struct {
	r     io.Reader
	order binary.ByteOrder
	raw   [8 << 10]byte
	n     int // bytes in raw
	text  []byte
	at    int // of text, what is not read yet
	began bool
	err   error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for u.at == len(u.text) {
		if u.err != nil {
			return 0, u.err
		}
		n, err := u.r.Read(u.raw[u.n:])
		u.n += n
		u.err = err
		u.convert()
		if n == 0 && err == nil {
			return 0, nil
		}
	}
	n := copy(p, u.text[u.at:])
	u.at += n
	return n, nil
}

// convert makes text of the whole signs in raw.
func (u *utf16Reader) convert() {
	u.text, u.at = u.text[:0], 0
	i := 0
	for ; i+2 <= u.n; i += 2 {
		sign := rune(u.order.Uint16(u.raw[i:]))
		if !u.began {
			if u.began = true; sign == 0xfeff {
				continue
			}
		}
		if utf16.IsSurrogate(sign) {
			if i+4 > u.n && u.err == nil {
				break // its other half is to come
			}
			if i+4 <= u.n {
				if whole := utf16.DecodeRune(sign, rune(u.order.Uint16(u.raw[i+2:]))); whole != utf8.RuneError {
					sign, i = whole, i+2
				}
			}
		}
		u.text = utf8.AppendRune(u.text, sign)
	}
	if u.err != nil && i < u.n {
		u.text = utf8.AppendRune(u.text, utf8.RuneError)
		i = u.n
	}
	u.n = copy(u.raw[:], u.raw[i:u.n])
}

// readable puts a reader of UTF-8 before one of UTF-16.
func (f *inflow) readable() {
	if f.r == nil {
		return
	}
	if f.compression == Plain {
		head, _ := f.buffered.Peek(4)
		if order := utf16Order(head); order != nil {
			f.r, f.compression = &utf16Reader{r: f.buffered, order: order}, UTF16
		}
		return
	}
	begun := &begunReader{r: f.r}
	for begun.n < len(begun.head) && begun.err == nil {
		var n int
		n, begun.err = f.r.Read(begun.head[begun.n:])
		begun.n += n
	}
	f.r = begun
	if order := utf16Order(begun.head[:begun.n]); order != nil {
		f.r = &utf16Reader{r: begun, order: order}
	}
}

// begunReader gives what was read of a stream to look at it, with the error that came
// then (an unpacker that is asked again may name another), and then the stream.
type begunReader struct {
	head  [4]byte
	n, at int
	err   error
	r     io.Reader
}

func (b *begunReader) Read(p []byte) (int, error) {
	switch {
	case b.at < b.n:
		n := copy(p, b.head[b.at:b.n])
		b.at += n
		return n, nil
	case b.err != nil:
		return 0, b.err
	}
	return b.r.Read(p)
}
