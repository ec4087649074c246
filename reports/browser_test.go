package reports

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/iopathy/iopathy/heatmap"
	"github.com/iopathy/iopathy/reports/browsertest"
)

// browser is a page in headless Chromium with the network off.
type browser struct{ *browsertest.Page }

// openPage writes the report of in and opens it from its file.
func openPage(t *testing.T, in *Input) *browser {
	t.Helper()
	var html bytes.Buffer
	if err := HTML(&html, in); err != nil {
		t.Fatal(err)
	}
	return openHTML(t, html.Bytes())
}

func openHTML(t *testing.T, html []byte) *browser {
	t.Helper()
	b := openStatic(t, html)
	_, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](`document.documentElement.dataset.complete !== undefined`))
	b.Must(err)
	b.Wait(200)
	return b
}

// openStatic opens a page that has no script.
func openStatic(t *testing.T, html []byte) *browser {
	t.Helper()
	b := &browser{browsertest.Open(t)}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, html, 0o644); err != nil {
		t.Fatal(err)
	}
	b.Offline()
	b.Do(chromedp.Navigate("file://" + (&url.URL{Path: file}).EscapedPath()))
	return b
}

// click presses the button that a selector finds.
func (b *browser) click(selector string) {
	b.T.Helper()
	b.Script(fmt.Sprintf("document.querySelector(%q).click()", selector))
	b.Wait(120)
}

// hover moves the mouse over a cell and gives the tooltip's text.
func (b *browser) hover(id string, col, row int) string {
	b.T.Helper()
	x, y := b.cell(id, col, row)
	b.Do(chromedp.MouseEvent(chromedp.MouseMoved, x, y))
	b.Wait(60)
	return b.tip(id)
}

func (b *browser) tip(id string) string {
	b.T.Helper()
	return browsertest.Value[string](b.Page, fmt.Sprintf("document.querySelector('[data-chart=%s] .tip').innerText", id))
}

func (b *browser) decode(raw []byte, err error) image.Image {
	b.T.Helper()
	b.Must(err)
	img, err := png.Decode(bytes.NewReader(raw))
	b.Must(err)
	return img
}

// picture is the whole page as pixels.
func (b *browser) picture() image.Image {
	b.T.Helper()
	return b.decode(chromedp.Run(b.Ctx, chromedp.FullScreenshot(100)))
}

// cell is where a cell of a map is in the viewport.
func (b *browser) cell(id string, col, row int) (x, y float64) {
	b.T.Helper()
	at := browsertest.Value[[]float64](b.Page, fmt.Sprintf("(() => { const p = iopathy.cell(%q, %d, %d); return [p[0] - scrollX, p[1] - scrollY] })()", id, col, row))
	return at[0], at[1]
}

// show scrolls a chart to the middle.
func (b *browser) show(id string) {
	b.T.Helper()
	b.Script(fmt.Sprintf("document.getElementById(%q).scrollIntoView({block: 'center', behavior: 'instant'})", id))
	b.Wait(80)
}

// color probes the middle of a cell in a picture of the viewport.
func (b *browser) color(id string, col, row int) heatmap.RGB {
	b.T.Helper()
	b.show(id)
	img := b.decode(chromedp.Run(b.Ctx, chromedp.CaptureScreenshot()))
	x, y := b.cell(id, col, row)
	r, g, bl, _ := img.At(int(x), int(y)).RGBA()
	return heatmap.RGB{uint8(r >> 8), uint8(g >> 8), uint8(bl >> 8)}
}

// near allows the step of the packed codes.
func near(a, b heatmap.RGB) bool {
	for k := range 3 {
		if d := int(a[k]) - int(b[k]); d < -2 || d > 2 {
			return false
		}
	}
	return true
}

// quiet fails if the page complained or asked for anything but itself.
func (b *browser) quiet() {
	b.T.Helper()
	if trouble := b.Trouble(); len(trouble) > 0 {
		b.T.Errorf("the page complained: %q", trouble)
	}
	if requests := b.Requests(); len(requests) != 1 || !strings.HasPrefix(requests[0], "file://") {
		b.T.Errorf("requests = %q, want the file alone", requests)
	}
}
