package reports

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reports/browsertest"
)

// manyNights are nights of years: every third without a sick device, the others with
// up to three pathologies, the 40th the worst of all.
func manyNights(n int) (nights []Night) {
	c := madeCatalogue().Pathologies
	day := time.Date(2023, 11, 14, 0, 0, 0, 0, time.UTC)
	for i := range n {
		night := Night{Date: day.AddDate(0, 0, i).Format(time.DateOnly), Windows: 8640, Devices: 1000, SickSeconds: map[string]float64{}}
		if i%3 > 0 {
			night.SickDevices, night.Worst = 1+i%5, float64(1+i%9)
			for k := range i % 4 {
				night.SickSeconds[c[(i+k)%len(c)].Slug] = float64(600 * (1 + (i+7*k)%11))
			}
		}
		if i == 39 {
			night.SickDevices, night.SickSeconds = 9, map[string]float64{c[0].Slug: 30_000, c[1].Slug: 15_000}
		}
		nights = append(nights, night)
	}
	return nights
}

// TestBrowserNights opens the index over the nights: calendar, trend, devices by
// recurrence say what they were made of; it asks for nothing and fits a phone.
func TestBrowserNights(t *testing.T) {
	c := madeCatalogue()
	const n = 90
	nights := manyNights(n)
	devices := []Recurrence{{Key: hostileNames[0], Nights: 55, Last: nights[88].Date, SickSeconds: 123_456, Pathology: c.Pathologies[2].Slug},
		{Key: features.Key{Host: "db7", Device: "sdc"}, Nights: 3, Last: nights[40].Date, SickSeconds: 1800, Pathology: c.Pathologies[0].Slug}}
	var page bytes.Buffer
	if err := NightsIndex(&page, nights, devices, c, "test"); err != nil {
		t.Fatal(err)
	}
	b := openStatic(t, page.Bytes())
	if got := browsertest.Value[int](b.Page, `document.querySelectorAll(".calendar a.night").length`); got != n {
		t.Errorf("the calendar has %d nights of %d", got, n)
	}
	column := func(date string) int {
		return browsertest.Value[int](b.Page, fmt.Sprintf(`document.querySelector('.calendar a.night[title="%s"]').closest("td").cellIndex`, date))
	}
	if tue, mon := column("2023-11-14"), column("2023-12-11"); tue != 2 || mon != 1 { // by the calendar of the year
		t.Errorf("a Tuesday stands in column %d, a Monday in %d", tue, mon)
	}
	href := browsertest.Value[string](b.Page, `document.querySelector('.calendar a.night[title="2023-11-20"]').getAttribute("href")`)
	if href != "nights/2023-11-20/report.html" {
		t.Errorf("a night leads to %q", href)
	}
	colour := func(date string) string {
		return browsertest.Value[string](b.Page, fmt.Sprintf(`getComputedStyle(document.querySelector('.calendar a.night[title="%s"]')).backgroundColor`, date))
	}
	worst, none := colour(nights[39].Date), colour(nights[0].Date)
	if worst == none || colour(nights[3].Date) != none || colour(nights[38].Date) == worst {
		t.Errorf("the worst night has the colour %s, others %s, %s", worst, none, colour(nights[38].Date))
	}
	// Of the worst night the trend has two parts, 2 to 1, which fill its height.
	part := browsertest.Value[[]float64](b.Page, `(() => { const r = [...document.querySelectorAll("svg.incident rect")].map(e => ({x: +e.getAttribute("x"), h: +e.getAttribute("height")}));
		const x = r.find(e => Math.abs(e.h - 89.3) < 0.1).x; return r.filter(e => e.x == x).map(e => e.h) })()`)
	if len(part) != 2 || part[0]+part[1] < 133.8 || part[0]+part[1] > 134.2 || part[0] < 1.99*part[1] || part[0] > 2.01*part[1] {
		t.Errorf("the parts of the worst night are %v high, of 134", part)
	}
	rects, bars := browsertest.Value[int](b.Page, `document.querySelectorAll("svg.incident rect").length`), 0
	for i := range nights {
		bars += len(nights[i].SickSeconds)
	}
	if rects != bars {
		t.Errorf("the trend has %d parts, of %d", rects, bars)
	}
	if words := browsertest.Value[string](b.Page, `document.querySelector("svg.incident").textContent`); !strings.Contains(words, "2023-11-14") || !strings.Contains(words, nights[n-1].Date) || !strings.Contains(words, "highest: 12.5 h") { // 45,000 s
		t.Errorf("the trend says %q", words)
	}
	if got := browsertest.Value[[]string](b.Page, `[...document.querySelectorAll("#h-dev ~ .scroll tbody tr")].map(r => r.cells[0].textContent + "|" + r.cells[1].textContent + "|" + r.cells[2].textContent)`); len(got) != 2 ||
		got[0] != deviceLabel(hostileNames[0])+"|55|"+nights[88].Date || got[1] != "db7/sdc|3|"+nights[40].Date {
		t.Errorf("devices by recurrence: %q", got)
	}
	picture := func(name string) {
		t.Helper()
		dir := os.Getenv("IOPATHY_PICTURES") // for a person
		if dir == "" {
			return
		}
		var raw bytes.Buffer
		if err := png.Encode(&raw, b.picture()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), raw.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	picture("nights.png")
	b.Do(chromedp.EmulateViewport(390, 800))
	if wide := browsertest.Value[int](b.Page, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("it is %d px wide on a phone of 390: %q", wide, browsertest.Value[[]string](b.Page, `[...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll") && e.getBoundingClientRect().right > 391).map(e => e.tagName + "." + e.className)`))
	}
	picture("nights-phone.png")
	b.quiet()
}

// BenchmarkNightsIndex is the index after three years without retention of reports.
func BenchmarkNightsIndex(b *testing.B) {
	c := madeCatalogue()
	nights := manyNights(1100)
	var devices []Recurrence
	for i := range 5000 {
		devices = append(devices, Recurrence{Key: features.Key{Host: fmt.Sprintf("h%03d", i/10), Device: fmt.Sprintf("sd%d", i%10)}, Nights: 1100 - i/5, Last: nights[i%1100].Date, SickSeconds: 1e6, Pathology: c.Pathologies[i%8].Slug})
	}
	var page bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		page.Reset()
		if err := NightsIndex(&page, nights, devices, c, "test"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(page.Len())/1e3, "kB")
}
