package serve_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
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

	"github.com/iopathy/iopathy/cmd/internal/serve"
)

// visitor is a browser at a served lake; it keeps what the pages complained of
// and asked for.
type visitor struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	trouble  []string
	requests []string
}

func visit(t *testing.T) *visitor {
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
	alloc, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("force-device-scale-factor", "1"), chromedp.WindowSize(1280, 900))...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	ctx, expire := context.WithTimeout(ctx, 60*time.Second)
	t.Cleanup(expire)
	v := &visitor{t: t, ctx: ctx}
	v.must(chromedp.Listen(ctx, func(ev any) {
		v.mu.Lock()
		defer v.mu.Unlock()
		switch ev := ev.(type) {
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(ev.Request.URL, "data:") {
				v.requests = append(v.requests, ev.Request.URL)
			}
		case *runtime.EventExceptionThrown:
			v.trouble = append(v.trouble, fmt.Sprintf("exception: %+v", ev.ExceptionDetails))
		case *runtime.EventConsoleAPICalled:
			v.trouble = append(v.trouble, fmt.Sprintf("console %s: %d arguments", ev.Type, len(ev.Args)))
		case *log.EventEntryAdded:
			v.trouble = append(v.trouble, "log: "+ev.Entry.Text+" "+ev.Entry.URL)
		case *page.EventJavascriptDialogOpening:
			v.trouble = append(v.trouble, "dialog: "+ev.Message)
		}
	}))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	v.must(err)
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	v.must(err)
	return v
}

func (v *visitor) must(err error) {
	v.t.Helper()
	if err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.t.Fatalf("%v; the pages said %q", err, v.trouble)
	}
}

func (v *visitor) do(actions ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	v.must(chromedp.Do(v.ctx, actions...))
}

func look[T any](v *visitor, expression string) T {
	v.t.Helper()
	x, err := chromedp.Run(v.ctx, chromedp.Evaluate[T](expression))
	v.must(err)
	return x
}

// await asks until an expression holds; while the browser goes from page to
// page it can't be asked.
func (v *visitor) await(expression string) {
	v.t.Helper()
	for range 400 {
		if ok, err := chromedp.Run(v.ctx, chromedp.Evaluate[bool](expression)); err == nil && ok {
			return
		}
		v.do(chromedp.Sleep(50 * time.Millisecond))
	}
	v.must(fmt.Errorf("%s never held", expression))
}

// arrive waits for the page that holds all of the words, and for its scripts.
func (v *visitor) arrive(path string, words ...string) {
	v.t.Helper()
	v.await(fmt.Sprintf(`location.pathname.startsWith(%q) && document.readyState === "complete"`, path))
	text := look[string](v, `document.body.innerText`)
	for _, w := range words {
		if !strings.Contains(text, w) {
			v.t.Errorf("%s lacks %q: %.300q", path, w, text)
		}
	}
	if n := look[int](v, `document.querySelectorAll("img, main b b, iframe, [onerror]").length`); n != 0 {
		v.t.Errorf("%s: names of the log became %d elements", path, n)
	}
}

// press moves the mouse to the middle of an element and clicks.
func (v *visitor) press(element string) {
	v.t.Helper()
	at := look[[]float64](v, `(() => { const e = `+element+`; e.scrollIntoView({block: "center", behavior: "instant"}); const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2] })()`)
	v.clickAt(at[0], at[1])
}

func (v *visitor) clickAt(x, y float64) {
	v.t.Helper()
	v.do(chromedp.MouseEvent(chromedp.MouseMoved, x, y), chromedp.MouseClickXY(x, y))
}

// A stranger's way from the calendar to the raw lines, by the mouse alone, in a
// lake whose host and device are named to break pages.
func TestBrowserFromTheCalendarToTheLines(t *testing.T) {
	v := visit(t)
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
	v.do(chromedp.Navigate(origin + "/"))
	v.arrive("/", "Calendar", "2023-11-14", "Sudden stall", host+"/"+device)

	// The night, its map, and the cell of the stall.
	v.press(`document.querySelector("a.night")`)
	v.arrive("/night/2023-11-14")
	v.await(`document.documentElement.dataset.complete !== undefined`)
	v.arrive("/night/2023-11-14", "Sudden stall", host+"/"+device)
	at := look[[]float64](v, `(() => {
		document.getElementById("fleet").scrollIntoView({block: "center", behavior: "instant"});
		const p = iopathy.cell("fleet", 6, 0); // the worst device is the first row; the stall is in its seventh window
		return [p[0] - scrollX, p[1] - scrollY];
	})()`)
	v.clickAt(at[0], at[1])
	v.arrive("/window", "Sudden stall", host+"/"+device, "Its events", "events.csv, byte", "<b>app</b>", "1700000064010")
	if q := look[string](v, `new URLSearchParams(location.search).get("host") + "|" + new URLSearchParams(location.search).get("device")`); q != host+"|"+device {
		t.Errorf("the map leads to %q", q)
	}
	rows := look[int](v, `document.querySelectorAll("[aria-labelledby=h-events] tbody tr").length`)
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

	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.trouble) > 0 {
		t.Errorf("the pages complained: %q", v.trouble)
	}
	for _, r := range v.requests {
		if !strings.HasPrefix(r, origin+"/") {
			t.Errorf("a page asked for %s", r)
		}
	}
}
