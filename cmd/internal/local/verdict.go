package local

import (
	"fmt"
	"strings"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reports"
)

// Outcome is the verdict in numbers.
type Outcome struct {
	Model       string         `json:"model"`
	Devices     int            `json:"devices"` // but for those of applications on disks that were recorded too
	SickDevices int            `json:"sick_devices"`
	Windows     int            `json:"windows"`
	Verdicts    map[string]int `json:"verdicts"`
	Pathologies map[string]int `json:"pathologies"` // sick windows by slug
	Episodes    int            `json:"episodes"`
	Worst       float64        `json:"worst_severity"`

	Applications    int `json:"application_devices"`
	SickApplication int `json:"sick_application_devices"`
}

// Summarise counts what was said.
func Summarise(d *Diagnosed) Outcome {
	o := Outcome{Model: d.Result.Model, Verdicts: map[string]int{}, Pathologies: map[string]int{}, Episodes: len(d.Result.Episodes)}
	var above map[features.Key]bool
	if d.digest != nil {
		above = d.digest.ApplicationsAbove()
	} else {
		above = reports.ApplicationsAbove(d.Windows)
	}
	devices, sick, apps := map[features.Key]bool{}, map[features.Key]bool{}, map[features.Key]bool{}
	for i := range d.Result.Diagnoses.Len() {
		g := d.cell(i)
		if above[g.Key] {
			apps[g.Key] = apps[g.Key] || g.Verdict == cluster.Sick
			continue
		}
		devices[g.Key] = true
		o.Windows++
		o.Verdicts[string(g.Verdict)]++
		if g.Verdict == cluster.Sick {
			o.Pathologies[g.Pathology]++
			sick[g.Key] = true
		}
	}
	o.Devices, o.SickDevices, o.Applications = len(devices), len(sick), len(apps)
	for _, ill := range apps {
		if ill {
			o.SickApplication++
		}
	}
	for _, e := range d.Result.Episodes {
		o.Worst = max(o.Worst, e.Severity)
	}
	return o
}

// have says that n of so many devices, of some kind, have something.
func have(n, of int, kind string) string {
	verb := "have"
	if n == 1 || of == 1 {
		verb = "has"
	}
	return fmt.Sprintf("%d of %s%s %s", n, cluster.Counted(of, "device"), kind, verb)
}

// Verdict says in a few lines what was found: the devices, then the worst
// episodes, at most so many.
func Verdict(d *Diagnosed, most int) []string {
	o := Summarise(d)
	lines := []string{fmt.Sprintf("%s sick windows: %d of %s, %s (%s model)",
		have(o.SickDevices, o.Devices, ""), o.Verdicts[string(cluster.Sick)], cluster.Counted(o.Windows, "window"), cluster.Counted(o.Episodes, "episode"), o.Model)}
	if o.Applications > 0 {
		lines = append(lines, fmt.Sprintf("beside them %s sick windows", have(o.SickApplication, o.Applications, " that applications saw on these disks")))
	}
	for i, e := range d.Result.Episodes {
		if i == most {
			lines = append(lines, fmt.Sprintf("  and %d more in the report", len(d.Result.Episodes)-most))
			break
		}
		cause := ""
		if len(e.Causes) > 0 && e.Causes[0].Votes > 0 {
			cause = ", likely " + e.Causes[0].Name
		}
		if len(e.Outside) > 0 {
			cause += "; but look elsewhere first: " + e.Outside[0].Words()
		}
		lines = append(lines, fmt.Sprintf("  %s/%s: %s since %s for %s, severity %.1f, confidence %.0f %%%s",
			Printable(e.Host), Printable(e.Device), e.Pathology, Stamp(e.FromNS), time.Duration(e.ToNS-e.FromNS).Round(time.Second), e.Severity, 100*e.Confidence, cause))
	}
	for i, f := range d.Result.Findings {
		if i == most {
			lines = append(lines, fmt.Sprintf("  and %d more findings of other logs in the report", len(d.Result.Findings)-most))
			break
		}
		said := fmt.Sprintf("%s by what other logs say%s (its I/O was not recorded)", f.Pathology, when(f.FromNS))
		if f.Recorded {
			said = fmt.Sprintf("other logs tell%s what no episode of its I/O shows", when(f.FromNS))
		}
		lines = append(lines, fmt.Sprintf("  %s/%s: %s: %s; %s", Printable(f.Host), unnamed(Printable(f.Device)), said, f.Name, grounds(f.Readings)), "    next: "+f.Advice)
	}
	return lines
}

// relativeBefore is the time before which stamps are those of a relative
// clock: no recording is from before 1980.
const relativeBefore = int64(10 * 365 * 24 * time.Hour)

// Stamp writes a time for people: UTC, or seconds of a relative clock.
func Stamp(ns int64) string {
	if ns < relativeBefore {
		return fmt.Sprintf("+%.1f s", float64(ns)/1e9)
	}
	return time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05")
}

// Printable keeps control characters of a log's names off the terminal.
func Printable(s string) string { return printable(s, 80) }

// PrintableNote is Printable for a sentence that may list names: up to 1,000 signs.
func PrintableNote(s string) string { return printable(s, 1000) }

func printable(s string, most int) string {
	r := []rune(s)
	for i, c := range r {
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069 {
			r[i] = '�'
		}
	}
	if len(r) > most {
		r = append(r[:most-1], '…')
	}
	return string(r)
}

// unnamed stands for a device that a log doesn't name.
func unnamed(device string) string {
	if device == "" {
		return "a device that they don't name"
	}
	return device
}

// when is the time of a finding, if its source tells one.
func when(ns int64) string {
	if ns == 0 {
		return ", at a time that they don't tell"
	}
	return " at " + Stamp(ns)
}

// grounds are the rows that a finding rests on: how many, and the first.
func grounds(readings []cluster.Reading) string {
	var s []string
	for _, r := range readings {
		text := fmt.Sprintf("%s = %.6g", r.Query, r.Value)
		if r.Text != "" {
			text += ": " + Printable(r.Text)
		}
		s = append(s, text)
	}
	return strings.Join(s, "; ")
}
