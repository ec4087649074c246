package cluster

import (
	"fmt"
	"strings"
)

// Counted is a number of things in words: "1 sick window", "2 sick windows".
// Of a thing of several words the last is put in the plural.
func Counted[N ~int | ~int32 | ~int64 | ~uint32 | ~uint64](n N, one string) string {
	return fmt.Sprintf("%d %s", n, Noun(n, one))
}

// Noun is the name of one thing as so many of it are called, without the number:
// for where the number is written otherwise. It knows the regular plurals.
func Noun[N ~int | ~int32 | ~int64 | ~uint32 | ~uint64](n N, one string) string {
	if n == 1 {
		return one
	}
	for _, hiss := range []string{"s", "x", "z", "ch", "sh"} {
		if strings.HasSuffix(one, hiss) {
			return one + "es"
		}
	}
	if stem, y := strings.CutSuffix(one, "y"); y && !strings.ContainsAny(stem[max(len(stem)-1, 0):], "aeiou") {
		return stem + "ies"
	}
	return one + "s"
}
