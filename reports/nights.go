package reports

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// Night is what the labels say of one date.
type Night struct {
	Date        string // 2006-01-02
	Windows     int
	Devices     int
	SickDevices int
	SickSeconds map[string]float64 // by pathology
	Worst       float64
}

// Sick is the sick device-seconds of all pathologies.
func (n *Night) Sick() float64 {
	var all []string
	for p := range n.SickSeconds {
		all = append(all, p)
	}
	slices.Sort(all) // floats are added in one order
	sum := 0.0
	for _, p := range all {
		sum += n.SickSeconds[p]
	}
	return sum
}

// Recurrence is a device and the nights on which it was sick.
type Recurrence struct {
	features.Key
	Nights      int
	Last        string // date
	SickSeconds float64
	Pathology   string // the one with most time
}

type nightsView struct {
	Style            template.CSS
	Weeks            []weekView
	Nights           []nightView
	Devices          []recurrenceView
	Legend           []legendView
	Trend            template.HTML
	First, Last, All string
	Version          string
	Home             string
}

type weekView struct {
	Name string
	Days [7]dayView
}

type dayView struct {
	Date, Text, Link string
	Style            template.CSS
}

type nightView struct {
	Date, Link, Windows, Devices, Sick, Hours, Worst, Most string
	Colour                                                 template.CSS
}

type recurrenceView struct {
	Device, Link, Nights, Last, Hours, Name string
	Colour                                  template.CSS
}

// weeksShown bounds the calendar.
const weeksShown = 60

// NightsPage writes the index over the nights: calendar, trend, table, devices
// by recurrence. The nights come by date.
func NightsPage(w io.Writer, nights []Night, devices []Recurrence, catalogue cluster.Catalogue, version string) error {
	return nightsPage(w, nights, devices, catalogue, version, false)
}

// NightsIndex is NightsPage as a file: a night leads to nights/DATE/report.html
// beside it, a device to nowhere.
func NightsIndex(w io.Writer, nights []Night, devices []Recurrence, catalogue cluster.Catalogue, version string) error {
	return nightsPage(w, nights, devices, catalogue, version, true)
}

func nightsPage(w io.Writer, nights []Night, devices []Recurrence, catalogue cluster.Catalogue, version string, file bool) error {
	t, err := template.ParseFS(templates, "templates/*.html")
	if err != nil {
		return fmt.Errorf("nights: %w", err)
	}
	f := &facts{in: &Input{Catalogue: catalogue}}
	v := nightsView{Style: template.CSS(asset("style.css")), Version: version, All: plural(len(nights), "night")}
	if len(nights) > 0 {
		v.First, v.Last = nights[0].Date, nights[len(nights)-1].Date
	}
	link := func(date string) string { return "/night/" + date }
	v.Home = "/"
	if file {
		link = func(date string) string { return "nights/" + date + "/report.html" }
		v.Home = "index.html"
	}
	v.Weeks = calendar(nights, link)
	for i := len(nights) - 1; i >= 0; i-- {
		n := &nights[i]
		row := nightView{Date: n.Date, Link: link(n.Date), Windows: count(int64(n.Windows)), Devices: count(int64(n.Devices)), Sick: count(int64(n.SickDevices)), Hours: hours(n.Sick()), Worst: fmt.Sprintf("%.1f", n.Worst), Most: "–", Colour: "transparent"}
		if p := most(n.SickSeconds); p != "" {
			row.Most, row.Colour = f.pathologyName(p), f.css(p)
		}
		v.Nights = append(v.Nights, row)
	}
	for i, d := range devices {
		if i == maxDeviceRows {
			break
		}
		q := url.Values{"host": {d.Host}, "device": {d.Device}}
		to := "/device?" + q.Encode()
		if file {
			to = ""
		}
		v.Devices = append(v.Devices, recurrenceView{deviceLabel(d.Key), to, count(int64(d.Nights)), d.Last, hours(d.SickSeconds), f.pathologyName(d.Pathology), f.css(d.Pathology)})
	}
	v.Trend, v.Legend = f.trend(nights)
	out := &sink{w: w}
	out.template(t, "nights.html", v)
	return out.err
}

// most is the pathology with the most time.
func most(seconds map[string]float64) string {
	best := ""
	for p, s := range seconds {
		if best == "" || s > seconds[best] || s == seconds[best] && p < best {
			best = p
		}
	}
	return best
}

// calendar lays the nights out by weeks, Monday first, the latest week first;
// the colour is the sick device-hours on a scale to the worst night.
func calendar(nights []Night, link func(date string) string) []weekView {
	worst := 0.0
	byWeek := map[time.Time]*weekView{}
	var order []time.Time
	for i := range nights {
		worst = max(worst, nights[i].Sick())
	}
	for i := range nights {
		n := &nights[i]
		day, err := time.Parse("2006-01-02", n.Date)
		if err != nil {
			continue
		}
		at := (int(day.Weekday()) + 6) % 7
		monday := day.AddDate(0, 0, -at)
		week := byWeek[monday]
		if week == nil {
			week = &weekView{Name: monday.Format("2006-01-02")}
			byWeek[monday] = week
			order = append(order, monday)
		}
		share := 0.0
		if worst > 0 {
			share = math.Sqrt(n.Sick() / worst)
		}
		week.Days[at] = dayView{Date: n.Date, Link: link(n.Date), Text: fmt.Sprintf("%d", day.Day()),
			Style: template.CSS("--heat:" + strconv.FormatFloat(math.Round(share*100), 'f', -1, 64) + "%")}
	}
	slices.SortFunc(order, func(a, b time.Time) int { return b.Compare(a) })
	var out []weekView
	for _, m := range order[:min(len(order), weeksShown)] {
		out = append(out, *byWeek[m])
	}
	return out
}

// trend draws the sick device-hours of each night, stacked by pathology.
func (f *facts) trend(nights []Night) (template.HTML, []legendView) {
	if len(nights) == 0 {
		return "", nil
	}
	const wide, high = 1000, 140
	worst, seen := 0.0, map[string]bool{}
	for i := range nights {
		worst = max(worst, nights[i].Sick())
		for p := range nights[i].SickSeconds {
			seen[p] = true
		}
	}
	var order []string
	for i := range f.in.Catalogue.Pathologies {
		if p := f.in.Catalogue.Pathologies[i].Slug; seen[p] {
			order = append(order, p)
			delete(seen, p)
		}
	}
	var rest []string
	for p := range seen {
		rest = append(rest, p)
	}
	slices.Sort(rest)
	order = append(order, rest...)
	const below = 18 // of the axis, for its words
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg class="incident" viewBox="0 0 %d %d" role="img" aria-label="Sick device-hours a night, stacked by pathology; the table below holds them">`, wide, high+below)
	step := float64(wide) / float64(len(nights))
	for i := range nights {
		y := float64(high)
		for _, p := range order {
			h := 0.0
			if worst > 0 {
				h = nights[i].SickSeconds[p] / worst * (high - 6)
			}
			if h > 0 {
				fmt.Fprintf(&svg, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, float64(i)*step, y-h, math.Max(min(step-1, 40), 0.5), h, f.colour(p))
				y -= h
			}
		}
	}
	fmt.Fprintf(&svg, `<line class="grid" x1="0" x2="%d" y1="%d" y2="%d"/>`, wide, high, high)
	fmt.Fprintf(&svg, `<text x="0" y="%d">%s</text><text x="%d" y="%d" text-anchor="end">%s</text>`, high+14, nights[0].Date, wide, high+14, nights[len(nights)-1].Date)
	fmt.Fprintf(&svg, `<text x="%d" y="%d" text-anchor="middle">highest: %s h</text></svg>`, wide/2, high+14, hours(worst))
	var legend []legendView
	for _, p := range order {
		legend = append(legend, legendView{Name: f.pathologyName(p), Colour: f.css(p)})
	}
	return template.HTML(svg.String()), legend
}

// WindowDetail is one window with its raw events.
type WindowDetail struct {
	Window    features.Window
	Diagnosis cluster.Diagnosis
	Catalogue cluster.Catalogue
	Events    []SlowLine // by time of completion
	More      int        // events beyond those
	Twins     []TwinRow
	Before    string // links to the windows beside it; empty for none
	After     string
	Version   string
}

// TwinRow is a past window like another.
type TwinRow = cluster.Twin

type windowView struct {
	Style                                       template.CSS
	Device, When, Verdict, Before, After, Night string
	Colour                                      template.CSS
	Summary                                     string
	Evidence                                    []string
	Causes                                      []causeView
	Facts                                       []fact
	Events                                      []slowRow
	HasRaw                                      bool
	More                                        string
	Twins                                       []twinView
	Version                                     string
}

type twinView struct {
	Distance, Device, Link, When, Name, Severity, Cause string
	Colour                                              template.CSS
}

// WindowLink is the address of a window's page.
func WindowLink(host, device string, startNS int64) string {
	return "/window?" + url.Values{"host": {host}, "device": {device}, "at": {strconv.FormatInt(startNS, 10)}}.Encode()
}

// WindowPage writes the page of one window.
func WindowPage(w io.Writer, d *WindowDetail) error {
	t, err := template.ParseFS(templates, "templates/*.html")
	if err != nil {
		return fmt.Errorf("window: %w", err)
	}
	f := &facts{in: &Input{Catalogue: d.Catalogue}, time: newMoments(d.Window.StartNS, d.Window.EndNS)}
	r := &d.Diagnosis
	v := windowView{Style: template.CSS(asset("style.css")), Device: deviceLabel(d.Window.Key), When: f.time.full(d.Window.StartNS) + " to " + f.time.full(d.Window.EndNS),
		Verdict: f.verdictName(r), Colour: f.css(r.Pathology), Before: d.Before, After: d.After, Version: d.Version,
		Summary:  fmt.Sprintf("severity %.1f, confidence %s, coverage %s, %s", r.Severity, percent(r.Confidence), percent(d.Window.Coverage), plural(int(d.Window.Requests), "request")),
		Evidence: labels(r.Evidence, maxEvidence), Causes: causeViews(r.Causes), Facts: worstFacts(&d.Window)}
	if !f.time.relative {
		v.Night = time.Unix(0, d.Window.StartNS).UTC().Format("2006-01-02")
	} else {
		v.Night = "1970-01-01"
	}
	for i := range d.Events {
		row := slowView(f, &d.Events[i])
		row.Ended = fmt.Sprintf("%+.6f s", float64(d.Events[i].Event.TimeNS-d.Window.StartNS)/1e9)
		v.Events = append(v.Events, row)
		v.HasRaw = v.HasRaw || row.Raw != ""
	}
	if d.More > 0 {
		v.More = plural(d.More, "more event")
	}
	v.Twins = f.twins(d.Twins)
	out := &sink{w: w}
	out.template(t, "window.html", v)
	return out.err
}

// twins are the rows of past windows like another.
func (f *facts) twins(rows []TwinRow) []twinView {
	var out []twinView
	for i := range rows {
		tw := &rows[i]
		out = append(out, twinView{fmt.Sprintf("%.2f", tw.Distance), deviceLabel(tw.Key), WindowLink(tw.Host, tw.Device, tw.StartNS), newMoments(tw.StartNS, tw.EndNS).full(tw.StartNS),
			f.verdictName(&tw.Diagnosis), fmt.Sprintf("%.1f", tw.Severity), label(tw.RootCause), f.css(tw.Pathology)})
	}
	return out
}

// DevicePage writes the sick windows of one device over the nights.
func DevicePage(w io.Writer, k features.Key, sick []cluster.Diagnosis, catalogue cluster.Catalogue, version string) error {
	t, err := template.ParseFS(templates, "templates/*.html")
	if err != nil {
		return fmt.Errorf("device: %w", err)
	}
	f := &facts{in: &Input{Catalogue: catalogue}}
	slices.SortStableFunc(sick, func(a, b cluster.Diagnosis) int { return cmp.Compare(b.StartNS, a.StartNS) })
	v := windowView{Style: template.CSS(asset("style.css")), Device: deviceLabel(k), Summary: plural(len(sick), "sick window"), Version: version}
	for i := range sick {
		if i == maxDeviceRows {
			v.More = plural(len(sick)-i, "more window")
			break
		}
		s := &sick[i]
		full := newMoments(s.StartNS, s.EndNS)
		v.Twins = append(v.Twins, twinView{Device: deviceLabel(s.Key), Link: WindowLink(s.Host, s.Device, s.StartNS), When: full.full(s.StartNS), Name: f.verdictName(s), Severity: fmt.Sprintf("%.1f", s.Severity), Cause: label(s.RootCause), Colour: f.css(s.Pathology)})
	}
	out := &sink{w: w}
	out.template(t, "device.html", v)
	return out.err
}
