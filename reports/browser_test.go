package reports

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/iopathy/iopathy/heatmap"
)

// browser is a page in headless Chromium with the network off; it keeps what
// the page complained of and asked for.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	trouble  []string
	requests []string
}

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
	_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](`document.documentElement.dataset.complete !== undefined`))
	b.must(err)
	b.wait(200)
	return b
}

// openStatic opens a page that has no script.
func openStatic(t *testing.T, html []byte) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes some seconds")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no chromium on this machine")
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, html, 0o644); err != nil {
		t.Fatal(err)
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("force-device-scale-factor", "1"), chromedp.WindowSize(1280, 900))...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	ctx, expire := context.WithTimeout(ctx, 60*time.Second)
	t.Cleanup(expire)
	b := &browser{t: t, ctx: ctx}
	err := chromedp.Listen(ctx, func(ev any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch ev := ev.(type) {
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(ev.Request.URL, "data:") {
				b.requests = append(b.requests, ev.Request.URL)
			}
		case *runtime.EventExceptionThrown:
			b.trouble = append(b.trouble, fmt.Sprintf("exception: %+v", ev.ExceptionDetails))
		case *runtime.EventConsoleAPICalled:
			for _, a := range ev.Args {
				b.trouble = append(b.trouble, fmt.Sprintf("console %s: %s", ev.Type, a.Value))
			}
		case *log.EventEntryAdded:
			b.trouble = append(b.trouble, "log: "+ev.Entry.Text)
		case *page.EventJavascriptDialogOpening:
			b.trouble = append(b.trouble, "dialog: "+ev.Message)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	b.must(err)
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	b.must(err)
	_, err = chromedp.Call(ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Offline: true}},
	})
	b.must(err)
	b.do(chromedp.Navigate("file://" + (&url.URL{Path: file}).EscapedPath()))
	return b
}

func (b *browser) must(err error) {
	b.t.Helper()
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.t.Fatalf("%v; the page said %q", err, b.trouble)
	}
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	b.must(chromedp.Do(b.ctx, actions...))
}

// wait lets the page draw.
func (b *browser) wait(ms int) { b.do(chromedp.Sleep(time.Duration(ms) * time.Millisecond)) }

// script runs a statement in the page.
func (b *browser) script(expression string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](expression))
}

// value runs an expression in the page and decodes what it gives.
func value[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	b.must(err)
	return v
}

// click presses the button that a selector finds.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.script(fmt.Sprintf("document.querySelector(%q).click()", selector))
	b.wait(120)
}

// hover moves the mouse over a cell and gives the tooltip's text.
func (b *browser) hover(id string, col, row int) string {
	b.t.Helper()
	x, y := b.cell(id, col, row)
	b.do(chromedp.MouseEvent(chromedp.MouseMoved, x, y))
	b.wait(60)
	return b.tip(id)
}

func (b *browser) tip(id string) string {
	b.t.Helper()
	return value[string](b, fmt.Sprintf("document.querySelector('[data-chart=%s] .tip').innerText", id))
}

func (b *browser) decode(raw []byte, err error) image.Image {
	b.t.Helper()
	b.must(err)
	img, err := png.Decode(bytes.NewReader(raw))
	b.must(err)
	return img
}

// picture is the whole page as pixels.
func (b *browser) picture() image.Image {
	b.t.Helper()
	return b.decode(chromedp.Run(b.ctx, chromedp.FullScreenshot(100)))
}

// cell is where a cell of a map is in the viewport.
func (b *browser) cell(id string, col, row int) (x, y float64) {
	b.t.Helper()
	at := value[[]float64](b, fmt.Sprintf("(() => { const p = iopathy.cell(%q, %d, %d); return [p[0] - scrollX, p[1] - scrollY] })()", id, col, row))
	return at[0], at[1]
}

// show scrolls a chart to the middle.
func (b *browser) show(id string) {
	b.t.Helper()
	b.script(fmt.Sprintf("document.getElementById(%q).scrollIntoView({block: 'center', behavior: 'instant'})", id))
	b.wait(80)
}

// color probes the middle of a cell in a picture of the viewport.
func (b *browser) color(id string, col, row int) heatmap.RGB {
	b.t.Helper()
	b.show(id)
	img := b.decode(chromedp.Run(b.ctx, chromedp.CaptureScreenshot()))
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
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.trouble) > 0 {
		b.t.Errorf("the page complained: %q", b.trouble)
	}
	if len(b.requests) != 1 || !strings.HasPrefix(b.requests[0], "file://") {
		b.t.Errorf("requests = %q, want the file alone", b.requests)
	}
}

func TestBrowserMapShowsTheRightColours(t *testing.T) {
	in := made(80, 40, 14, 3)
	b := openPage(t, in)
	f := gather(in)
	fleet := heatmap.NewFleet(in.Windows, in.Result.Diagnoses, f.scale, heatmap.DefaultFleetOptions())
	cells := [][2]int{{3, 0}, {30, 0}, {20, 9}, {35, 12}, {10, 40}, {38, 60}}
	for _, c := range cells {
		want, state := fleet.At(c[0], c[1])
		if state != heatmap.Shown {
			t.Fatalf("cell %v is in state %d", c, state)
		}
		if got := b.color("fleet", c[0], c[1]); !near(got, want) {
			t.Errorf("cell %v is %s, want %s", c, got.Hex(), want.Hex())
		}
	}
	b.click(`[data-view="r"]`)
	for _, c := range cells {
		want, _ := fleet.At(c[0], c[1])
		if got := b.color("fleet", c[0], c[1]); !near(got, heatmap.RGB{want[0], 0, 0}) {
			t.Errorf("throughput alone: cell %v is %s, want the red of %s", c, got.Hex(), want.Hex())
		}
	}
	b.click(`[data-view="class"]`)
	if got := b.color("fleet", 30, 0).Hex(); got != f.colour(in.Result.Episodes[0].Pathology) {
		t.Errorf("pathology of the worst device is drawn %s", got)
	}
	b.click(`[data-view="all"]`)
	b.click(`[data-order="name"]`)
	byName := heatmap.NewFleet(in.Windows, in.Result.Diagnoses, f.scale, heatmap.FleetOptions{Order: heatmap.ByName})
	want, _ := byName.At(7, 5)
	if got := b.color("fleet", 7, 5); !near(got, want) {
		t.Errorf("by name: cell is %s, want %s", got.Hex(), want.Hex())
	}
	b.click(`[data-order="severity"]`)

	b.click(`[data-zoom="in"]`)
	want, _ = fleet.At(20, 40)
	if got := b.color("fleet", 20, 40); !near(got, want) {
		t.Errorf("zoomed: cell is %s, want %s", got.Hex(), want.Hex())
	}
	b.click(`[data-zoom="reset"]`)

	joint := heatmap.NewJoint(in.Windows, f.scale)
	top := 0
	for i, n := range joint.Count {
		if n > joint.Count[top] {
			top = i
		}
	}
	want, _ = joint.At(top%joint.Cols, top/joint.Cols) // the fullest cell is opaque
	if got := b.color("joint", top%joint.Cols, top/joint.Cols); !near(got, want) {
		t.Errorf("fullest joint cell is %s, want %s", got.Hex(), want.Hex())
	}
	b.quiet()
}

func TestBrowserTooltipAndKeys(t *testing.T) {
	in := made(20, 40, 6, 3)
	b := openPage(t, in)
	f := gather(in)
	fleet := heatmap.NewFleet(in.Windows, in.Result.Diagnoses, f.scale, heatmap.DefaultFleetOptions())
	b.show("fleet")
	tip := b.hover("fleet", 30, 0)
	w := in.Windows.At(int(fleet.Window[30]))
	for _, part := range []string{deviceLabel(w.Key), f.time.full(w.StartNS), f.pathologyName(in.Result.Episodes[0].Pathology), " IOPS", "latency ", "depth "} {
		if !strings.Contains(tip, part) {
			t.Errorf("tooltip %q lacks %q", tip, part)
		}
	}
	b.script(`document.querySelector('[data-chart="fleet"]').focus()`)
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	b.wait(60)
	if tip = b.tip("fleet"); !strings.Contains(tip, deviceLabel(fleet.Devices[1].Key)) {
		t.Errorf("after an arrow key the tip says %q, want %s", tip, deviceLabel(fleet.Devices[1].Key))
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.wait(60)
	hash := value[string](b, `location.hash`)
	if hash != "#device-2" {
		t.Errorf("Enter leads to %q", hash)
	}
	b.quiet()
}

func TestBrowserHostileNamesStayText(t *testing.T) {
	in := made(12, 30, 5, 9)
	hostile(in)
	carded(in) // comm, file and source names
	b := openPage(t, in)
	type elements struct{ Images, Scripts int }
	found := value[elements](b, `({Images: document.querySelectorAll("img").length, Scripts: document.querySelectorAll("main script").length})`)
	if found != (elements{}) {
		t.Errorf("log text became markup: %+v", found)
	}
	b.show("fleet")
	seen := ""
	for row := range 6 {
		seen += b.hover("fleet", 20, row) + "\n"
	}
	if !strings.Contains(seen, "<img onerror=alert(1)>") {
		t.Errorf("no tooltip shows the hostile name as text: %q", seen)
	}
	if tip := value[string](b, `iopathy.stackTip([{name: "<img src=x>", value: 1, seriesName: "0"}])`); strings.Contains(tip, "<img") {
		t.Errorf("tooltip of the course holds markup: %q", tip)
	}
	b.quiet()
}

// Cards beyond the first are packed: they are set in when they are opened, by
// keys as by a click, and hostile names in them stay text.
func TestBrowserOpensPackedCards(t *testing.T) {
	in := made(130, 30, 40, 9)
	hostile(in)
	b := openPage(t, in)
	type state struct {
		Packed, Inside int
		Text           string
	}
	look := func(n int) state {
		t.Helper()
		return value[state](b, fmt.Sprintf(`(() => { const d = document.getElementById("device-%d"); return {Packed: document.querySelectorAll("details.device[data-part]").length, Inside: d.querySelectorAll(".evidence").length, Text: d.innerText} })()`, n))
	}
	if s := look(30); s.Packed != 40-plainSections || s.Inside != 0 {
		t.Fatalf("%d cards are packed, that in question holds %d", s.Packed, s.Inside)
	}
	b.click("#device-30 > summary")
	if s := look(30); s.Packed != 39-plainSections || s.Inside == 0 || !strings.Contains(s.Text, "The 12 features of that window") {
		t.Errorf("opened, %d cards are left and it says %q", s.Packed, s.Text)
	}
	b.script(`document.querySelector("#device-31 > summary").focus()`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.wait(60)
	if s := look(31); s.Inside == 0 {
		t.Error("Enter opens an empty card")
	}
	b.script(`location.hash = "device-40"`)
	b.wait(60)
	if s := look(40); s.Inside == 0 {
		t.Error("a link opens an empty card")
	}
	b.script(`document.querySelectorAll("details[data-part]").forEach((d) => { iopathy.fill(d); d.open = true })`)
	if n := value[int](b, `[...document.querySelectorAll("#devices > details:last-of-type tbody tr")].length`); n != 130 {
		t.Errorf("the table of all devices has %d rows", n)
	}
	type elements struct{ Images, Scripts int }
	if found := value[elements](b, `({Images: document.querySelectorAll("img").length, Scripts: document.querySelectorAll("main script").length})`); found != (elements{}) {
		t.Errorf("log text became markup: %+v", found)
	}
	b.quiet()
}

// The page prints: all cards open, no toolbar, and the browser makes a PDF of it.
func TestBrowserPrints(t *testing.T) {
	in := made(30, 40, plainSections+6, 3)
	carded(in)
	b := openPage(t, in)
	shut := value[int](b, `document.querySelectorAll("details.device:not([open])").length`)
	pdf, err := chromedp.Call(b.ctx, page.PrintToPDF, page.PrintToPDFParams{})
	b.must(err)
	raw := pdf.Data
	if shut == 0 || !bytes.HasPrefix(raw, []byte("%PDF-")) || len(raw) < 50_000 {
		t.Errorf("%d cards were shut before; the PDF has %d bytes and begins with %.8q", shut, len(raw), raw)
	}
	if left := value[int](b, `document.querySelectorAll("details.device:not([open])").length`); left > 0 {
		t.Errorf("%d of %d shut cards were printed shut", left, shut)
	}
	if empty := value[int](b, `[...document.querySelectorAll("details.device")].filter((d) => !d.querySelector(".evidence")).length`); empty > 0 {
		t.Errorf("%d cards were printed empty", empty)
	}
	b.quiet()
}

// TestBrowserPictures writes pictures for a person to judge when
// IOPATHY_PICTURES names a folder.
func TestBrowserPictures(t *testing.T) {
	dir := os.Getenv("IOPATHY_PICTURES")
	if dir == "" {
		t.Skip("IOPATHY_PICTURES names no folder")
	}
	b := openPage(t, made(80, 40, 14, 3))
	save := func(name string) {
		var raw bytes.Buffer
		if err := png.Encode(&raw, b.picture()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".png"), raw.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	save("all")
	for _, view := range []string{"r", "g", "b", "change", "severity", "class"} {
		b.click(`[data-view="` + view + `"]`)
		save(view)
	}
	b.click(`[data-view="all"]`)
	b.click(`#safe`)
	save("safe")
	b.quiet()
}
