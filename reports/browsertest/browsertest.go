// Package browsertest opens pages in headless Chromium, for tests alone. A
// test that asks for one is skipped with -short, and where there is none.
package browsertest

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
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
)

// Page is a browser's tab; it keeps what pages complained of and asked for.
type Page struct {
	T   *testing.T
	Ctx context.Context

	mu       sync.Mutex
	trouble  []string
	requests []string
}

// names are those of the browser on the systems that have it.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// Open starts a browser with an empty tab of 1280 x 900; it ends with the test,
// or after a minute.
func Open(t *testing.T) *Page {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes some seconds")
	}
	path := ""
	for _, name := range names {
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
		chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("force-device-scale-factor", "1"), chromedp.WindowSize(1280, 900))...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	ctx, expire := context.WithTimeout(ctx, 60*time.Second)
	t.Cleanup(expire)
	p := &Page{T: t, Ctx: ctx}
	p.Must(chromedp.Listen(ctx, p.hear))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	p.Must(err)
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	p.Must(err)
	return p
}

func (p *Page) hear(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(ev.Request.URL, "data:") {
			p.requests = append(p.requests, ev.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		p.trouble = append(p.trouble, fmt.Sprintf("exception: %+v", ev.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		p.trouble = append(p.trouble, fmt.Sprintf("console %s: %d arguments", ev.Type, len(ev.Args)))
		for _, a := range ev.Args {
			p.trouble = append(p.trouble, fmt.Sprintf("console %s: %s", ev.Type, a.Value))
		}
	case *log.EventEntryAdded:
		p.trouble = append(p.trouble, "log: "+ev.Entry.Text+" "+ev.Entry.URL)
	case *page.EventJavascriptDialogOpening:
		p.trouble = append(p.trouble, "dialog: "+ev.Message)
	}
}

// Offline takes the network away.
func (p *Page) Offline() {
	p.T.Helper()
	_, err := chromedp.Call(p.Ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Offline: true}},
	})
	p.Must(err)
}

// Trouble is what pages complained of: exceptions, the console, the log.
func (p *Page) Trouble() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.trouble)
}

// Requests are the addresses that were asked for, data: left out.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Must ends the test if something went wrong.
func (p *Page) Must(err error) {
	p.T.Helper()
	if err != nil {
		p.T.Fatalf("%v; the page said %q", err, p.Trouble())
	}
}

// Do takes steps in the tab.
func (p *Page) Do(actions ...chromedp.Action[chromedp.Void]) {
	p.T.Helper()
	p.Must(chromedp.Do(p.Ctx, actions...))
}

// Wait lets the page draw.
func (p *Page) Wait(ms int) {
	p.T.Helper()
	p.Do(chromedp.Sleep(time.Duration(ms) * time.Millisecond))
}

// Script runs a statement in the page.
func (p *Page) Script(expression string) {
	p.T.Helper()
	p.Do(chromedp.Evaluate[chromedp.Void](expression))
}

// Value runs an expression in the page and decodes what it gives.
func Value[T any](p *Page, expression string) T {
	p.T.Helper()
	v, err := chromedp.Run(p.Ctx, chromedp.Evaluate[T](expression))
	p.Must(err)
	return v
}
