package reports

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"io"
	"math/rand/v2"
	"strings"
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

// Every sick device has its card, in the page or packed, and a long page packs
// the same bytes each time.
func TestPackedCards(t *testing.T) {
	in := made(130, 30, 40, 9)
	page := render(t, in)
	if page != render(t, made(130, 30, 40, 9)) {
		t.Error("the same input gave other bytes")
	}
	f := gathered(t, in)
	sick := f.sickDevices
	if n := strings.Count(page, `<details class="device"`); n != sick || sick < 40 {
		t.Errorf("%d cards for %d sick devices", n, sick)
	}
	_, rest, _ := strings.Cut(page, `id="parts-bytes">`)
	block, _, _ := strings.Cut(rest, "<")
	var items []string
	for _, b := range strings.Fields(block) {
		r, err := zlib.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(b)))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, strings.Split(string(raw), "\x00")...)
	}
	if want := sick - plainSections + 1; len(items) != want { // and the table of devices
		t.Fatalf("%d packed items, want %d", len(items), want)
	}
	for i, item := range items[:len(items)-1] {
		if !strings.Contains(item, "The 12 features of that window") || !strings.Contains(item, `class="spark"`) {
			t.Errorf("packed card %d is %.200q", i, item)
		}
	}
	if n := strings.Count(items[len(items)-1], "<tr>"); n != 131 {
		t.Errorf("%d rows in the packed table of devices", n)
	}
}

// Pictures stop where they fill their budget; the cards go on, and the page
// says so.
func TestPictureBudget(t *testing.T) {
	in := made(20, 40, 6, 3)
	f := gathered(t, in)
	f.pictureBytes = pictureBudget
	p := &pageView{}
	f.sections(p)
	if len(p.Sections) != 6 || p.Sections[0].Spark != "" || p.Sections[0].Card.Plane != "" || len(p.Sections[0].Features) == 0 {
		t.Errorf("%d cards, the first with pictures of %d bytes", len(p.Sections), len(p.Sections[0].Spark))
	}
	if !strings.Contains(p.PictureRule, "have no pictures") {
		t.Errorf("the page says %q", p.PictureRule)
	}
	f, p = gathered(t, in), &pageView{}
	if f.sections(p); p.PictureRule != "" {
		t.Errorf("all pictures are drawn, and the page says %q", p.PictureRule)
	}
}
