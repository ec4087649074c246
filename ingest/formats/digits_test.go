package formats

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestScanDigits compares with math/big, at every distance from the end of the
// slice, since that decides how the bytes are loaded.
func TestScanDigits(t *testing.T) {
	check := func(text string, at int) {
		t.Helper()
		b := []byte(text)
		digits := 0
		for at+digits < len(b) && b[at+digits] >= '0' && b[at+digits] <= '9' {
			digits++
		}
		want := int64(0)
		if n, ok := new(big.Int).SetString(text[at:at+digits], 10); ok {
			if want = -1; n.IsInt64() {
				want = n.Int64()
			}
		}
		if v, end := scanDigits(b, at); v != want || end != at+digits {
			t.Errorf("scanDigits(%q, %d) = %d, %d; want %d, %d", text, at, v, end, want, at+digits)
		}
	}
	numbers := []string{"", "0", "7", "00000000", "12345678", "123456789", "9223372036854775807", "9223372036854775808",
		"9999999999999999999", "18446744073709551615", "18446744073709551616", "00000000000000000000000000000012",
		"10000000000000000000000", "92233720368547758070"}
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		var s strings.Builder
		for range r.IntN(25) {
			s.WriteByte(byte('0' + r.IntN(10)))
		}
		numbers = append(numbers, s.String())
	}
	for _, n := range numbers {
		for before := range 10 {
			for _, after := range []string{"", ",", "/", ":", "\xff", "\x00", "\xb0\xb9", ",12345678", ",123456789012"} {
				check(strings.Repeat("9", min(before, 1))+strings.Repeat(",", before)+n+after, min(before, 1)+before)
			}
		}
	}
}
