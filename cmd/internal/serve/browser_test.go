package serve_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/iopathy/iopathy/cmd/internal/serve"
	"github.com/iopathy/iopathy/reports/browsertest"
)

// visitor is a browser at a served lake.
type visitor struct{ *browsertest.Page }

// await asks until an expression holds; while the browser goes from page to
// page it can't be asked.
func (v *visitor) await(expression string) {
	v.T.Helper()
	for range 400 {
		if ok, err := chromedp.Run(v.Ctx, chromedp.Evaluate[bool](expression)); err == nil && ok {
			return
		}
		v.Do(chromedp.Sleep(50 * time.Millisecond))
	}
	v.Must(fmt.Errorf("%s never held", expression))
}

// arrive waits for the page that holds all of the words, and for its scripts.
func (v *visitor) arrive(path string, words ...string) {
	v.T.Helper()
	v.await(fmt.Sprintf(`location.pathname.startsWith(%q) && document.readyState === "complete"`, path))
	text := browsertest.Value[string](v.Page, `document.body.innerText`)
	for _, w := range words {
		if !strings.Contains(text, w) {
			v.T.Errorf("%s lacks %q: %.300q", path, w, text)
		}
	}
	if n := browsertest.Value[int](v.Page, `document.querySelectorAll("img, main b b, iframe, [onerror]").length`); n != 0 {
		v.T.Errorf("%s: names of the log became %d elements", path, n)
	}
}

// press moves the mouse to the middle of an element and clicks.
func (v *visitor) press(element string) {
	v.T.Helper()
	at := browsertest.Value[[]float64](v.Page, `(() => { const e = `+element+`; e.scrollIntoView({block: "center", behavior: "instant"}); const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2] })()`)
	v.clickAt(at[0], at[1])
}

func (v *visitor) clickAt(x, y float64) {
	v.T.Helper()
	v.Do(chromedp.MouseEvent(chromedp.MouseMoved, x, y), chromedp.MouseClickXY(x, y))
}

// A stranger's way from the calendar to the raw lines, by the mouse alone, in a
// lake whose host and device are named to break pages.
func TestBrowserFromTheCalendarToTheLines(t *testing.T) {
	v := &visitor{browsertest.Open(t)}
	const host, device = "h<img src=x onerror=alert(1)>&?#'%2e", "</script><b onmouseover=alert(2)>sdb"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	s := serve.New(lakeNamed(t, host, device), l.Addr().String(), nil)
	go func() { ended <- s.Run(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	origin := "http://" + l.Addr().String()
	v.Do(chromedp.Navigate(origin + "/"))
	v.arrive("/", "Calendar", "2023-11-14", "Sudden stall", host+"/"+device)

	// The night, its map, and the cell of the stall.
	v.press(`document.querySelector("a.night")`)
	v.arrive("/night/2023-11-14")
	v.await(`document.documentElement.dataset.complete !== undefined`)
	v.arrive("/night/2023-11-14", "Sudden stall", host+"/"+device)
	at := browsertest.Value[[]float64](v.Page, `(() => {
		document.getElementById("fleet").scrollIntoView({block: "center", behavior: "instant"});
		const p = iopathy.cell("fleet", 6, 0); // the worst device is the first row; the stall is in its seventh window
		return [p[0] - scrollX, p[1] - scrollY];
	})()`)
	v.clickAt(at[0], at[1])
	v.arrive("/window", "Sudden stall", host+"/"+device, "Its events", "events.csv, byte", "<b>app</b>", "1700000064010")
	if q := browsertest.Value[string](v.Page, `new URLSearchParams(location.search).get("host") + "|" + new URLSearchParams(location.search).get("device")`); q != host+"|"+device {
		t.Errorf("the map leads to %q", q)
	}
	rows := browsertest.Value[int](v.Page, `document.querySelectorAll("[aria-labelledby=h-events] tbody tr").length`)
	if rows < 100 {
		t.Errorf("the window shows %d events", rows) // 10 s of 20 reads a second
	}

	// On to the window before, its night, the calendar, the device's page.
	v.press(`[...document.querySelectorAll("nav a")].find(a => a.innerText === "Window before")`)
	v.await(`location.search.includes("at=1700000050000000000") && document.readyState === "complete"`)
	v.arrive("/window", "healthy")
	v.press(`[...document.querySelectorAll("nav a")].find(a => a.innerText === "Nights")`)
	v.arrive("/", "Calendar")
	v.press(`document.querySelector("[aria-labelledby=h-dev] a")`)
	v.arrive("/device", "1 sick window", host+"/"+device)
	v.press(`document.querySelector("main td a")`)
	v.arrive("/window", "Sudden stall")

	if trouble := v.Trouble(); len(trouble) > 0 {
		t.Errorf("the pages complained: %q", trouble)
	}
	for _, r := range v.Requests() {
		if !strings.HasPrefix(r, origin+"/") {
			t.Errorf("a page asked for %s", r)
		}
	}
}
