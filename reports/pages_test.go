package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// incident makes a postmortem of a made report: its two worst devices, with
// actors, files and lines of these names.
func incident(in *Input, who, file, raw string) *Postmortem {
	pm := &Postmortem{Version: "v0.1.0-test", Windows: in.Windows, Diagnoses: in.Result.Diagnoses, Catalogue: in.Catalogue, Model: "made"}
	e := in.Result.Episodes[0]
	pm.FromNS, pm.ToNS, pm.MarginNS = e.FromNS, e.ToNS, 600e9
	for _, e := range in.Result.Episodes[:min(2, len(in.Result.Episodes))] {
		pm.Episodes = append(pm.Episodes, e)
		var names ingest.Names
		fold := features.NewIncident(pm.FromNS, pm.ToNS, pm.MarginNS, ingest.KindQ2C, &names)
		ev := ingest.NewEvent()
		ev.TimeNS, ev.LatencyNS, ev.QueueNS, ev.OffsetBytes, ev.SizeBytes = pm.FromNS+5e9, 3e9, 1e9, 4096, 8192
		ev.Kind, ev.Op, ev.Comm, ev.File = ingest.KindQ2C, ingest.OpWrite, names.InternString(who), names.InternString(file)
		fold.Add(&ev, "input")
		d := IncidentDevice{Key: e.Key, Phases: fold.Phases(), Actors: map[string][]features.Actor{"comm": fold.Actors(features.ByComm), "file": fold.Actors(features.ByFile)}, Group: who}
		for i := range in.Windows {
			if in.Windows[i].Key == e.Key && in.Result.Diagnoses[i].Verdict == cluster.Sick {
				d.Worst = i
			}
		}
		for _, s := range fold.Slowest() {
			d.Slowest = append(d.Slowest, SlowLine{SlowIO: s, Source: file, Raw: raw})
		}
		pm.Devices = append(pm.Devices, d)
	}
	pm.Elsewhere = []Elsewhere{{Key: features.Key{Host: who, Device: file}, Pathology: "sudden-stall", Severity: 3, FromNS: pm.FromNS, ToNS: pm.ToNS}}
	return pm
}

// pages renders every page beside the report.
func pages(t *testing.T, in *Input, who, file, raw string) map[string]string {
	t.Helper()
	out := map[string]string{}
	page := func(name string, make func(*bytes.Buffer) error) {
		t.Helper()
		var b bytes.Buffer
		if err := make(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = b.String()
	}
	pm := incident(in, who, file, raw)
	page("postmortem", func(b *bytes.Buffer) error { return PostmortemHTML(b, pm) })
	page("json", func(b *bytes.Buffer) error { return PostmortemJSON(b, pm) })
	key := features.Key{Host: who, Device: file}
	page("nights", func(b *bytes.Buffer) error {
		return NightsPage(b, []Night{{Date: "2026-11-28", Windows: 10, Devices: 2, SickDevices: 1, SickSeconds: map[string]float64{"sudden-stall": 60, who: 5}, Worst: 3}, {Date: "2026-11-30", Windows: 10, Devices: 2, SickSeconds: map[string]float64{}}},
			[]Recurrence{{Key: key, Nights: 1, Last: "2026-11-28", SickSeconds: 60, Pathology: "sudden-stall"}}, in.Catalogue, "v")
	})
	d := &WindowDetail{Window: in.Windows[0], Diagnosis: in.Result.Diagnoses[0], Catalogue: in.Catalogue, Events: pm.Devices[0].Slowest, More: 3, Twins: []TwinRow{{Diagnosis: cluster.Diagnosis{Key: key, RootCause: who}, Distance: 0.5}}}
	page("window", func(b *bytes.Buffer) error { return WindowPage(b, d) })
	page("device", func(b *bytes.Buffer) error {
		return DevicePage(b, key, []cluster.Diagnosis{{Key: key, Verdict: cluster.Sick, Pathology: "sudden-stall", StartNS: 1700000000e9, EndNS: 1700000010e9}}, in.Catalogue, "v")
	})
	return out
}

func TestPagesSayWhatTheyAreGiven(t *testing.T) {
	got := pages(t, made(12, 60, 5, 9), "backup", "/data/x", "a raw line")
	for name, words := range map[string][]string{
		"postmortem": {"Content-Security-Policy", "<bdi>backup</bdi>", "/data/x, byte -1", "a raw line", "queue (Q2D)", "1,000", "Sick elsewhere at the same time", "What to check next"},
		"json":       {`"kind": "postmortem"`, `"name": "backup"`, `"raw": "a raw line"`},
		"nights":     {`href="/night/2026-11-28"`, "backup//data/x", "Sudden stall", "--heat:100%"},
		"window":     {"3 more events", "3,000 ms", `href="/window?`},
		"device":     {"1 sick window", "2023-11-14 22:13:20"},
	} {
		for _, w := range words {
			if !strings.Contains(got[name], w) && !(w == "/data/x, byte -1" && strings.Contains(got[name], "/data/x, byte 0")) {
				t.Errorf("%s lacks %q", name, w)
			}
		}
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(got["json"]), &doc); err != nil {
		t.Error(err)
	}
	if again := pages(t, made(12, 60, 5, 9), "backup", "/data/x", "a raw line"); fmt.Sprint(again) != fmt.Sprint(got) {
		t.Error("the pages differ when made again")
	}
}

func TestPagesHostileNamesStayText(t *testing.T) {
	plain := pages(t, made(12, 60, 5, 9), "backup", "file", "line")
	in := made(12, 60, 5, 9)
	hostile(in)
	for _, k := range hostileNames {
		for name, page := range pages(t, in, k.Host, k.Device, k.Host+k.Device) {
			if name == "json" {
				continue // no markup; its strings are JSON's
			}
			if got, want := fmt.Sprint(markup(page)), fmt.Sprint(markup(plain[name])); got != want {
				t.Errorf("%s, %.30q: elements %s, want %s", name, k.Host, got, want)
			}
			for _, bad := range []string{"\u202e", "\x00", "\u2028", strings.Repeat("long ", 100)} {
				if strings.Contains(page, bad) {
					t.Errorf("%s holds %.20q", name, bad)
				}
			}
		}
	}
	if _, err := json.Marshal(plain); err != nil {
		t.Error(err)
	}
}
