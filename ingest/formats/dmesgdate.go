package formats

import "bytes"

// dated is the time of a date as date(1) prints it.
func (d *dmesg) dated(b []byte) (int64, bool) {
	if bytes.Equal(b, d.stamp) {
		return d.stampNS, true
	}
	ns, ok := dateTime(b, d.zone)
	if ok {
		d.stamp, d.stampNS = append(d.stamp[:0], b...), ns
	}
	return ns, ok
}

// date takes a date at the start of a line: ISO 8601, syslog's, seconds since the
// epoch. plain says that the message follows, without a host and a program.
func (d *dmesg) date(b []byte) (rest []byte, plain, ok bool) {
	if len(b) < 16 {
		return nil, false, false
	}
	var ns int64
	end := bytes.IndexByte(b, ' ')
	switch {
	case b[0] >= '0' && b[0] <= '9':
		if end < 0 {
			return nil, false, false
		}
		if len(b) > 10 && b[4] == '-' && b[10] == ' ' { // a blank in place of the T
			if next := bytes.IndexByte(b[11:], ' '); next > 0 {
				end = 11 + next
			}
		}
		if ns, ok = isoTime(b[:end], d.zone); ok {
			plain = end > 19 && b[10] == 'T' && b[19] == ','
		} else if ns, ok = epochTime(b[:end]); ok && end < 12 {
			ok = false // a bare number
		}
	case isLetter(b[0]) && b[3] == ' ' && b[6] == ' ' && b[9] == ':':
		if end = 15; b[end] != ' ' && b[end] != '.' {
			return nil, false, false
		}
		if b[end] == '.' {
			if end = bytes.IndexByte(b[15:], ' ') + 15; end < 16 {
				return nil, false, false
			}
		}
		if ns, ok = d.syslog(b[:15]); ok && d.year == 0 {
			return b[end+1:], false, true
		}
	}
	if !ok {
		return nil, false, false
	}
	d.now.wallNS, d.now.walled = ns, true
	return b[end+1:], plain, true
}

// syslog reads "Apr 16 07:07:38", which has no year: that of the options, and the
// next one when December is over.
func (d *dmesg) syslog(b []byte) (int64, bool) {
	if bytes.Equal(b, d.stamp) {
		return d.stampNS, true
	}
	month := monthNamed(b[:3])
	day, end := scanDigits(trimBlanks(b[4:6]), 0)
	h, m, s, _, ok := clockTime(b[7:15])
	if month == 0 || end == 0 || !ok {
		return 0, false
	}
	year := d.year
	if year > 0 && month < 3 && d.month > 10 {
		year++
	}
	if year == 0 {
		year = 2000
	}
	ns, ok := civil([6]int{year, month, int(day), h, m, s}, 0, d.zone)
	if ok {
		if d.year > 0 {
			d.year = year
		}
		d.month = month
		d.stamp, d.stampNS = append(d.stamp[:0], b...), ns
	}
	return ns, ok
}

// program takes "HOST kernel: "; false if another program wrote the line.
func (d *dmesg) program(b []byte) ([]byte, bool) {
	for range 2 {
		end := bytes.IndexByte(b, ' ')
		if end < 0 {
			end = len(b)
		}
		if bytes.HasPrefix(b, []byte("last message repeated ")) {
			return b, true
		}
		word := b[:end]
		b = b[min(end+1, len(b)):]
		if string(word) == "kernel:" || bytes.HasPrefix(word, []byte("kernel[")) && word[len(word)-1] == ':' {
			return b, true
		}
		d.named = append(d.named[:0], word...)
	}
	return nil, false
}
