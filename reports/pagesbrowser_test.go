package reports

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/iopathy/iopathy/reports/browsertest"
)

// TestBrowserPagesBesideTheReport opens the pages that go about as files: they
// ask for nothing, complain of nothing, fit a phone and print.
func TestBrowserPagesBesideTheReport(t *testing.T) {
	in := made(12, 60, 5, 9)
	hostile(in)
	name := hostileNames[0].Host
	all := pages(t, in, name, "/data/"+name, "a raw line that is rather long, "+name)
	for _, which := range []string{"postmortem", "comparison", "matrix"} {
		b := openStatic(t, []byte(all[which]))
		b.Do(chromedp.EmulateViewport(390, 800))
		if wide := browsertest.Value[int](b.Page, `document.documentElement.scrollWidth`); wide > 390 {
			t.Errorf("%s is %d px wide on a phone of 390: %q", which, wide, browsertest.Value[[]string](b.Page, `[...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll") && e.getBoundingClientRect().right > 391).map(e => e.tagName + "." + e.className + " " + e.textContent.slice(0, 30))`))
		}
		if n := browsertest.Value[int](b.Page, `[...document.querySelectorAll("h2,h3")].filter(h => h.getBoundingClientRect().right > 390).length`); n > 0 {
			t.Errorf("%s: %d headings leave a phone", which, n)
		}
		pdf, err := chromedp.Run(b.Ctx, chromedp.PrintToPDF())
		b.Must(err)
		if !bytes.HasPrefix(pdf, []byte("%PDF")) || len(pdf) < 5000 {
			t.Errorf("%s prints to %d bytes", which, len(pdf))
		}
		if dir := os.Getenv("IOPATHY_PICTURES"); dir != "" { // for a person
			var raw bytes.Buffer
			if err := png.Encode(&raw, b.picture()); err != nil {
				t.Fatal(err)
			}
			for file, data := range map[string][]byte{which + ".pdf": pdf, which + "-phone.png": raw.Bytes()} {
				if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		b.quiet()
	}
}
