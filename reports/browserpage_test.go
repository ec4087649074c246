package reports

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/iopathy/iopathy/heatmap"
	"github.com/iopathy/iopathy/reports/browsertest"
)

func TestBrowserMapShowsTheRightColours(t *testing.T) {
	in := made(80, 40, 14, 3)
	b := openPage(t, in)
	f := gathered(t, in)
	fleet := heatmap.NewFleet(f.all, f.scale, f.fleetOptions())
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
	byName := heatmap.NewFleet(f.all, f.scale, heatmap.FleetOptions{Order: heatmap.ByName})
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

	joint := heatmap.NewJoint(f.all, f.scale)
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
	f := gathered(t, in)
	fleet := heatmap.NewFleet(f.all, f.scale, f.fleetOptions())
	b.show("fleet")
	tip := b.hover("fleet", 30, 0)
	w := in.Windows.At(int(fleet.Window[30]))
	for _, part := range []string{deviceLabel(w.Key), f.time.full(w.StartNS), f.pathologyName(in.Result.Episodes[0].Pathology), " IOPS", "latency ", "depth "} {
		if !strings.Contains(tip, part) {
			t.Errorf("tooltip %q lacks %q", tip, part)
		}
	}
	b.Script(`document.querySelector('[data-chart="fleet"]').focus()`)
	b.Do(chromedp.KeyEvent(kb.ArrowDown))
	b.Wait(60)
	if tip = b.tip("fleet"); !strings.Contains(tip, deviceLabel(fleet.Devices[1].Key)) {
		t.Errorf("after an arrow key the tip says %q, want %s", tip, deviceLabel(fleet.Devices[1].Key))
	}
	b.Do(chromedp.KeyEvent(kb.Enter))
	b.Wait(60)
	hash := browsertest.Value[string](b.Page, `location.hash`)
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
	found := browsertest.Value[elements](b.Page, `({Images: document.querySelectorAll("img").length, Scripts: document.querySelectorAll("main script").length})`)
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
	if tip := browsertest.Value[string](b.Page, `iopathy.stackTip([{name: "<img src=x>", value: 1, seriesName: "0"}])`); strings.Contains(tip, "<img") {
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
		return browsertest.Value[state](b.Page, fmt.Sprintf(`(() => { const d = document.getElementById("device-%d"); return {Packed: document.querySelectorAll("details.device[data-part]").length, Inside: d.querySelectorAll(".evidence").length, Text: d.innerText} })()`, n))
	}
	if s := look(30); s.Packed != 40-plainSections || s.Inside != 0 {
		t.Fatalf("%d cards are packed, that in question holds %d", s.Packed, s.Inside)
	}
	b.click("#device-30 > summary")
	if s := look(30); s.Packed != 39-plainSections || s.Inside == 0 || !strings.Contains(s.Text, "The 12 features of that window") {
		t.Errorf("opened, %d cards are left and it says %q", s.Packed, s.Text)
	}
	b.Script(`document.querySelector("#device-31 > summary").focus()`)
	b.Do(chromedp.KeyEvent(kb.Enter))
	b.Wait(60)
	if s := look(31); s.Inside == 0 {
		t.Error("Enter opens an empty card")
	}
	b.Script(`location.hash = "device-40"`)
	b.Wait(60)
	if s := look(40); s.Inside == 0 {
		t.Error("a link opens an empty card")
	}
	b.Script(`document.querySelectorAll("details[data-part]").forEach((d) => { iopathy.fill(d); d.open = true })`)
	if n := browsertest.Value[int](b.Page, `[...document.querySelectorAll("#devices > details:last-of-type tbody tr")].length`); n != 130 {
		t.Errorf("the table of all devices has %d rows", n)
	}
	type elements struct{ Images, Scripts int }
	if found := browsertest.Value[elements](b.Page, `({Images: document.querySelectorAll("img").length, Scripts: document.querySelectorAll("main script").length})`); found != (elements{}) {
		t.Errorf("log text became markup: %+v", found)
	}
	b.quiet()
}

// The page prints: all cards open, no toolbar, and the browser makes a PDF of it.
func TestBrowserPrints(t *testing.T) {
	in := made(30, 40, plainSections+6, 3)
	carded(in)
	b := openPage(t, in)
	shut := browsertest.Value[int](b.Page, `document.querySelectorAll("details.device:not([open])").length`)
	pdf, err := chromedp.Call(b.Ctx, page.PrintToPDF, page.PrintToPDFParams{})
	b.Must(err)
	raw := pdf.Data
	if shut == 0 || !bytes.HasPrefix(raw, []byte("%PDF-")) || len(raw) < 50_000 {
		t.Errorf("%d cards were shut before; the PDF has %d bytes and begins with %.8q", shut, len(raw), raw)
	}
	if left := browsertest.Value[int](b.Page, `document.querySelectorAll("details.device:not([open])").length`); left > 0 {
		t.Errorf("%d of %d shut cards were printed shut", left, shut)
	}
	if empty := browsertest.Value[int](b.Page, `[...document.querySelectorAll("details.device")].filter((d) => !d.querySelector(".evidence")).length`); empty > 0 {
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

// The page of many windows opens, is ready and shows the right cells. Of
// IOPATHY_SOAK_CELLS windows, such as a million; a small one without it.
func TestBrowserManyCells(t *testing.T) {
	cells := 20_000
	if n := os.Getenv("IOPATHY_SOAK_CELLS"); n != "" {
		var err error
		if cells, err = strconv.Atoi(n); err != nil {
			t.Fatal(err)
		}
	}
	devices := max(cells/1440, 20)
	in := made(devices, cells/devices, min(60, devices/2), 3)
	windows := in.Windows.Len()
	var page bytes.Buffer
	if err := HTML(&page, in); err != nil {
		t.Fatal(err)
	}
	b := openHTML(t, page.Bytes())
	f := gathered(t, in)
	fleet := heatmap.NewFleet(f.all, f.scale, f.fleetOptions())
	t.Logf("%d windows of %d devices, %d cells: %.2f MB, ready in %d ms", windows, devices, fleet.Cols*fleet.Rows, float64(page.Len())/1e6,
		browsertest.Value[int](b.Page, `Number(document.documentElement.dataset.ready)`))
	if fleet.Merged != 1 {
		t.Errorf("a cell is %d windows", fleet.Merged)
	}
	if page.Len() > 10_000_000 {
		t.Errorf("the page has %d bytes", page.Len())
	}
	b.show("fleet")
	for range 3 { // the map is drawn smaller than its cells: it is zoomed to where they can be told apart
		b.click(`[data-zoom="in"]`)
	}
	tip := b.hover("fleet", fleet.Cols/2, fleet.Rows/2)
	w := in.Windows.At(int(fleet.Window[fleet.Rows/2*fleet.Cols+fleet.Cols/2]))
	if !strings.Contains(tip, deviceLabel(w.Key)) && windows < 100_000 {
		t.Errorf("the tip of the cell in the middle says %q, want %s", tip, deviceLabel(w.Key))
	}
	if !strings.Contains(tip, " IOPS") {
		t.Errorf("the tip of the cell in the middle says %q", tip)
	}
	b.quiet()
}
