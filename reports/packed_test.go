package reports

import (
	"bytes"
	"compress/zlib"
	"io"
	"math/rand/v2"
	"testing"
)

// The oracle is compress/zlib, which also holds the checksum against the bytes.
func TestDeflatedIsOneStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	noise, still := make([]byte, 300_000), make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(rng.Uint32() % 128)
	}
	for _, planes := range [][][]byte{{}, {nil}, {still}, {noise}, {still, noise, {1}, nil, noise[:70_001], still[:65_536]}} {
		packed := deflated(planes...)
		r, err := zlib.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if want := bytes.Join(planes, nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d planes: %d bytes come back of %d, %v", len(planes), len(got), len(want), err)
		}
		if !bytes.Equal(packed, deflated(planes...)) {
			t.Error("the same planes give other bytes")
		}
	}
	if n := len(deflated(noise)); n > 265_000 {
		t.Errorf("noise of 7 bits a byte takes %d of %d bytes", n, len(noise))
	}
	if n := len(deflated(still)); n > 3000 {
		t.Errorf("%d bytes for %d zeros", n, len(still))
	}
}
