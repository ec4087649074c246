package formats

import "bytes"

// monthWords are the beginnings of months' names as the C library's locales have them
// beside English, short and long, in small letters.
var monthWords = [12][]string{
	{"jan", "ene", "gen", "sty", "oca", "янв", "jän"},
	{"feb", "fév", "fev", "lut", "şub", "фев"},
	{"mar", "mär", "mrt", "maa", "мар"},
	{"apr", "avr", "abr", "kwi", "nis", "апр"},
	{"may", "mai", "mei", "maj", "mag", "май", "мая"},
	{"jun", "juin", "giu", "cze", "haz", "июн"},
	{"jul", "juil", "lug", "lip", "tem", "июл"},
	{"aug", "aoû", "ago", "sie", "ağu", "авг"},
	{"sep", "set", "wrz", "eyl", "сен"},
	{"oct", "okt", "ott", "out", "paź", "eki", "окт"},
	{"nov", "lis", "kas", "ноя"},
	{"dec", "dez", "déc", "dic", "gru", "ara", "дек"},
}

// monthWord is the month that a word of such a locale means, or a number with the sign
// for months of East Asia; 0 if none.
func monthWord(t []byte) int {
	n, end := scanDigits(t, 0)
	if end > 0 {
		if sign := string(t[end:]); n >= 1 && n <= 12 && (sign == "月" || sign == "월") {
			return int(n)
		}
		return 0
	}
	if len(t) < 3 || len(t) > 24 {
		return 0
	}
	low := bytes.ToLower(t)
	for m, words := range monthWords {
		for _, w := range words {
			if len(low) >= len(w) && string(low[:len(w)]) == w {
				return m + 1
			}
		}
	}
	return 0
}

// dayWord tells a weekday's short name in any language: a few letters, perhaps with a
// point.
func dayWord(t []byte) bool {
	n := 0
	for _, r := range string(bytes.TrimRight(t, ".,")) {
		if r < 'A' || r > 'Z' && r < 'a' || r > 'z' && r < 0x80 {
			return false
		}
		n++
	}
	return n > 0 && n <= 4
}
