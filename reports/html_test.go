package reports

import (
	"bytes"
	"os"
	"testing"
)

func TestHTMLIsTheSameEachTime(t *testing.T) {
	var a, b bytes.Buffer
	if err := HTML(&a, made(80, 40, 14, 3)); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&b, made(80, 40, 14, 3)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the same input gave other bytes")
	}
	if to := os.Getenv("IOPATHY_REPORT_TO"); to != "" {
		if err := os.WriteFile(to, a.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
