package ingest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// xzWindow bounds the dictionary, and so the memory, of an xz block: that of
// xz -9 is 64 MiB.
const xzWindow = 128 << 20

var (
	errXZWindow = errors.New("xz: dictionary too large")
	errXZ       = errors.New("xz: corrupt")
)

// xzReader reads .xz files (tukaani.org/xz/xz-file-format.txt, version 1.2.1):
// streams of blocks, each with a check. The decoder of LZMA2 is a library's;
// the frame is read here so that a block's header can't ask for any memory it
// likes. Filters other than LZMA2 are for programs, not for logs, and not read.
type xzReader struct {
	r     *bufio.Reader
	n     int64 // bytes of the block's data so far, packed
	lzma  io.Reader
	check hash.Hash // of the block in hand; nil if it has none that is known
	sized int       // bytes of the check
	kind  byte
	open  bool // within a stream
	began bool // a stream was read
	err   error
}

// Read gives the next decompressed bytes.
func (x *xzReader) Read(p []byte) (int, error) {
	for x.err == nil {
		if x.lzma == nil {
			x.err = x.next()
			continue
		}
		n, err := x.lzma.Read(p)
		if x.check != nil {
			x.check.Write(p[:n])
		}
		if err == io.EOF {
			x.lzma = nil
			err = x.endBlock()
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		x.err = err
		if n > 0 {
			return n, nil
		}
	}
	return 0, x.err
}

// next reads up to the data of the next block; io.EOF at the end of the file.
func (x *xzReader) next() error {
	if !x.open {
		if err := x.stream(); err != nil {
			return err
		}
	}
	size, err := x.r.ReadByte()
	if err != nil {
		return torn(err)
	}
	if size == 0 {
		x.open = false
		return torn(x.index())
	}
	return torn(x.block(size))
}

func torn(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// stream reads a stream's header, and the padding before it.
func (x *xzReader) stream() error {
	head := make([]byte, 12)
	for {
		if _, err := io.ReadFull(x.r, head[:4]); err != nil {
			if err == io.EOF && !x.began {
				return io.ErrUnexpectedEOF
			}
			return err
		}
		if !x.began || [4]byte(head) != [4]byte{} {
			break
		}
	}
	if _, err := io.ReadFull(x.r, head[4:]); err != nil {
		return torn(err)
	}
	if string(head[:6]) != "\xfd7zXZ\x00" || head[6] != 0 || head[7] > 15 || crc32.ChecksumIEEE(head[6:8]) != binary.LittleEndian.Uint32(head[8:]) {
		return fmt.Errorf("%w stream header", errXZ)
	}
	x.kind, x.open, x.began = head[7], true, true
	x.sized = [...]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}[x.kind]
	switch x.kind {
	case 1:
		x.check = crc32.NewIEEE()
	case 4:
		x.check = crc64.New(crc64.MakeTable(crc64.ECMA))
	case 10:
		x.check = sha256.New()
	default:
		x.check = nil
	}
	return nil
}

// block reads a block's header, whose first byte tells its size.
func (x *xzReader) block(size byte) error {
	head := make([]byte, (int(size)+1)*4)
	head[0] = size
	if _, err := io.ReadFull(x.r, head[1:]); err != nil {
		return err
	}
	body := head[:len(head)-4]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(head[len(body):]) {
		return fmt.Errorf("%w block header", errXZ)
	}
	flags := body[1]
	rest := bytes.NewReader(body[2:])
	for _, f := range []byte{0x40, 0x80} {
		if flags&f != 0 {
			if _, err := binary.ReadUvarint(rest); err != nil {
				return fmt.Errorf("%w block header", errXZ)
			}
		}
	}
	filter, err1 := binary.ReadUvarint(rest)
	props, err2 := binary.ReadUvarint(rest)
	code, err3 := rest.ReadByte()
	if flags&0x3f != 0 || filter != 0x21 || props != 1 || err1 != nil || err2 != nil || err3 != nil {
		return fmt.Errorf("%w: a filter that is not LZMA2", errXZ)
	}
	window, err := lzma.DecodeDictCap(code)
	if err != nil {
		return fmt.Errorf("%w: %w", errXZ, err)
	}
	if window > xzWindow {
		return errXZWindow
	}
	x.n = 0
	if x.check != nil {
		x.check.Reset()
	}
	x.lzma, err = lzma.Reader2Config{DictCap: int(max(window, lzma.MinDictCap))}.NewReader2(xzData{x})
	return err
}

// xzData is the packed bytes of a block, counted.
type xzData struct{ x *xzReader }

func (d xzData) Read(p []byte) (int, error) {
	n, err := d.x.r.Read(p)
	d.x.n += int64(n)
	return n, err
}

func (d xzData) ReadByte() (byte, error) {
	b, err := d.x.r.ReadByte()
	if err == nil {
		d.x.n++
	}
	return b, err
}

// endBlock reads the padding and the check behind a block's data.
func (x *xzReader) endBlock() error {
	pad := int(-x.n & 3)
	tail := make([]byte, pad+x.sized)
	if _, err := io.ReadFull(x.r, tail); err != nil {
		return err
	}
	if x.check == nil {
		return nil
	}
	sum := x.check.Sum(nil)
	if x.kind != 10 { // the CRCs stand in little endian
		for i, j := 0, len(sum)-1; i < j; i, j = i+1, j-1 {
			sum[i], sum[j] = sum[j], sum[i]
		}
	}
	if !bytes.Equal(sum, tail[pad:]) {
		return fmt.Errorf("%w: the check of a block", errXZ)
	}
	return nil
}

// index passes over the index of a stream, whose first byte is read, and its
// footer.
func (x *xzReader) index() error {
	c := &byteCounter{r: x.r, n: 1}
	records, err := binary.ReadUvarint(c)
	for i := uint64(0); err == nil && i < 2*records; i++ {
		_, err = binary.ReadUvarint(c)
	}
	if err != nil {
		return err
	}
	tail := make([]byte, int(-c.n&3)+4+12)
	if _, err := io.ReadFull(x.r, tail); err != nil {
		return err
	}
	if foot := tail[len(tail)-12:]; string(foot[10:]) != "YZ" || crc32.ChecksumIEEE(foot[4:10]) != binary.LittleEndian.Uint32(foot) {
		return fmt.Errorf("%w footer", errXZ)
	}
	return nil
}

type byteCounter struct {
	r *bufio.Reader
	n int64
}

func (c *byteCounter) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}
