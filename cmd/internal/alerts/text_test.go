package alerts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/features"
)

// night is a diagnosis with episodes of the severities.
func night(severities ...float64) *local.Diagnosed {
	d := &local.Diagnosed{}
	var windows []features.Window
	var said []cluster.Diagnosis
	for i, s := range severities {
		k := features.Key{Host: "h1", Device: "sd" + string(rune('a'+i))}
		d.Result.Episodes = append(d.Result.Episodes, cluster.Episode{Key: k, FromNS: 1_700_000_000e9, ToNS: 1_700_000_060e9, Pathology: "queue-saturation", ClassID: 1,
			Severity: s, Level: "bad", Confidence: 0.9})
		windows = append(windows, features.Window{Key: k})
		said = append(said, cluster.Diagnosis{Key: k, Verdict: cluster.Sick, Pathology: "queue-saturation"})
	}
	d.Windows, d.Result.Diagnoses = features.List(windows), features.List(said)
	return d
}

func shipped(t *testing.T) cluster.Catalogue {
	t.Helper()
	c, err := configs.LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMessage(t *testing.T) {
	c := shipped(t)
	m, err := messageOf("2023-11-14", night(9, 5, 2), c, 4)
	if err != nil || len(m.Episodes) != 2 || m.SickDevices != 3 || m.Episodes[0].Advice == "" || m.Episodes[0].From != "2023-11-14T22:13:20Z" {
		t.Fatalf("%+v, %v", m, err)
	}
	if again, _ := messageOf("2023-11-14", night(9, 5, 2), c, 4); again.ID != m.ID {
		t.Error("the same night has another id")
	}
	if other, _ := messageOf("2023-11-15", night(9, 5, 2), c, 4); other.ID == m.ID {
		t.Error("another night has the same id")
	}
	if none, err := messageOf("2023-11-14", night(3), c, 4); none != nil || err != nil {
		t.Errorf("told of a severity below the threshold: %v, %v", none, err)
	}
	many, err := messageOf("2023-11-14", night(make([]float64, 80)...), c, 0)
	if err != nil || len(many.Episodes) != toldEpisodes || many.More != 30 {
		t.Errorf("%d episodes and %d more", len(many.Episodes), many.More)
	}
}

// What a log calls a host or a device stays a name in the words, and is whole
// in the JSON.
func TestHostileNames(t *testing.T) {
	hostile := []string{"a\nb", "a\r\nSubject: x", "\x1b[2J", "\u202egnp.exe", "<!channel>", "@everyone", "[x](http://evil)", "`rm`", "a\u2028b", "\xff\xfe", "{{.Text}}", strings.Repeat("n", 5000), "a\u200bb"}
	tmpl, err := Template("")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range hostile {
		d := night(9)
		d.Result.Episodes[0].Host, d.Result.Episodes[0].Device = name, name
		m, err := messageOf("2023-11-14", d, shipped(t), 4)
		if err != nil {
			t.Fatal(err)
		}
		text, err := words(tmpl, m)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(text, "\n"); lines != 3 {
			t.Errorf("%q: %d lines, want 3:\n%s", name, lines, text)
		}
		for _, r := range text {
			if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) || strings.ContainsRune("<>@`[]", r) {
				t.Errorf("%q: the text has %q", name, r)
			}
		}
		if strings.Contains(text, "http://") || len(text) > 2000 {
			t.Errorf("%q: %s", name, text)
		}
		b, err := jsonLine(m)
		var back Message
		if err != nil || json.Unmarshal(b, &back) != nil || back.Episodes[0].Device != strings.ToValidUTF8(name, "\uFFFD") {
			t.Errorf("%q: JSON has %q", name, back.Episodes[0].Device)
		}
	}
}

func TestTemplates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	check := func(text, want string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		got := ""
		tmpl, err := Template(path)
		if err == nil {
			got, err = words(tmpl, &Message{Date: "2026-11-29", Episodes: []Episode{{Device: "sda"}}})
		}
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q says %q, want %q", text, got, want)
		}
	}
	check("{{.Date}} {{range .Episodes}}{{.Device}}{{end}}", "2026-11-29 sda")
	check("{{.Dote}}", "error")
	check("{{range .Episodes}}{{.Serial}}{{end}}", "error")
	check("{{", "error")
	check("{{printf \"%20000s\" .Date}}", strings.Repeat(" ", longestText))
}
