package formats

import "bytes"

// blkCustom says whether a head looks as if blkparse -f had printed it: lines that
// hold a time with decimals, the letter of an action, that of an operation behind it
// and numbers, in columns that are not the default ones. What the columns are is told
// by the option alone: sectors or bytes, padded nanoseconds or not.
func blkCustom(head []byte) bool {
	begun, ended, others := 0, 0, 0
	for n := 0; n < 64; n++ {
		line, rest, whole := bytes.Cut(head, []byte{'\n'})
		if !whole {
			break
		}
		head = rest
		switch blkCustomAction(line) {
		case 'Q', 'D', 'I', 'G':
			begun++
		case 'C':
			ended++
		case 0:
			if !blkAside(line) {
				others++
			}
		}
	}
	return begun > 0 && ended > 0 && begun+ended > 4*others
}

// blkCustomAction is the letter of a line's action; 0 if it is no record.
func blkCustomAction(line []byte) byte {
	if len(line) > 512 {
		return 0
	}
	var action byte
	timed, op, numbers := false, false, 0
	for _, w := range bytes.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' || r == ';' || r == '|' || r == '\r' }) {
		whole, frac, point := bytes.Cut(w, []byte{'.'})
		switch {
		case point && len(frac) >= 3 && allDigits(whole) && allDigits(frac):
			timed = true
		case allDigits(w):
			numbers++
		case action == 0 && len(w) == 1 && (blkLetter(w) != blkNone || w[0] == 'P' || w[0] == 'U'):
			action = w[0]
		case action != 0 && !op:
			if _, _, ok := blkRWBS(w, false); !ok {
				return 0
			}
			op = true
		}
	}
	if !timed || !op || numbers < 2 {
		return 0
	}
	return action
}

func allDigits(b []byte) bool {
	for _, c := range b {
		if !isDigit(c) {
			return false
		}
	}
	return len(b) > 0
}
