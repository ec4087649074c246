package formats

import (
	"bytes"

	"github.com/iopathy/iopathy/ingest"
)

// fioRows reads the rows of a head, as long as the first: their numbers, and which
// were written as 0x....
func fioRows(head []byte) (rows [][fioMaxColumns]int64, hexes []uint8, columns int) {
	for line := range bytes.Lines(head) {
		whole := bytes.HasSuffix(line, []byte("\n"))
		var f [fioMaxColumns]int64
		n, hex, ok := fioSplit(bytes.TrimSpace(line), &f)
		if !ok || n < 4 || !whole && columns > 0 || columns != 0 && n != columns {
			continue
		}
		columns = n
		rows, hexes = append(rows, f), append(hexes, hex)
	}
	return rows, hexes, columns
}

// fioLayout is where the columns of a log stand.
type fioLayout struct {
	columns int
	ddir    int  // 2, or 3 behind a window's maximum
	offset  int  // 0: none
	prio    bool // a priority column: fio 3.17 or later
}

// fioLayoutOf settles the layout by the rows of a head. Columns behind bs are,
// in this order, an offset, a priority (0, 1 or hexadecimal), an issue time; one
// column alone is a priority if it never is anything but 0, 1 or hexadecimal,
// two are offset and priority if the second is.
func fioLayoutOf(rows [][fioMaxColumns]int64, hexes []uint8, columns int) fioLayout {
	l := fioLayout{columns: columns, ddir: 2}
	most := func(is func(i int) bool) bool { // a few damaged rows decide nothing
		n := 0
		for i := range rows {
			if is(i) {
				n++
			}
		}
		return 10*n >= 9*len(rows)
	}
	prioLike := func(c int) bool {
		return most(func(i int) bool { return hexes[i]>>c&1 == 1 || rows[i][c] <= 1 })
	}
	if columns > 5 && most(func(i int) bool { return rows[i][2] > fioMaxDdir && rows[i][3] <= fioMaxDdir }) {
		l.ddir = 3
	}
	tail := l.ddir + 2
	switch columns - tail {
	case 1:
		if prioLike(tail) {
			l.prio = true
		} else {
			l.offset = tail
		}
	case 2:
		l.prio = true
		if prioLike(tail + 1) {
			l.offset = tail
		}
	case 3:
		l.prio = true
		l.offset = tail
	}
	return l
}

// fioMaxDdir is the last of fio's data directions: read, write, trim, sync,
// datasync, sync_file_range.
const fioMaxDdir = 5

var fioOps = [fioMaxDdir + 1]ingest.Op{
	ingest.OpRead, ingest.OpWrite, ingest.OpDiscard, ingest.OpFlush, ingest.OpFlush, ingest.OpFlush,
}
