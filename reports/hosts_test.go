package reports

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
)

// The panel of hosts says which paused, for how long and when, and what else is
// true of them; no pause is told of a host that had none.
func TestHostsPanel(t *testing.T) {
	in := made(12, 20, 3, 5)
	pauses := []analysis.HostPause{
		{FromNS: in.Windows.At(0).StartNS + 1e9, ToNS: in.Windows.At(0).StartNS + 15e8, Devices: []string{"sda", "sdb"}},
		{FromNS: in.Windows.At(0).StartNS + 5e9, ToNS: in.Windows.At(0).StartNS + 7e9, Devices: []string{"sda", "sdb", "<b>sdc</b>"}},
	}
	in.Analyses = append(in.Analyses,
		analysis.Pauses("h<01>", pauses, 3),
		analysis.Pauses("quiet", nil, 3),
		analysis.Pauses("alone", nil, 1),
		analysis.Finding{Kind: analysis.FaultAmplification, Key: features.Key{Host: "h02"}, Told: true, Holds: true, Says: "0.9 major page faults a page read"})
	page := func() string {
		var b bytes.Buffer
		if err := HTML(&b, in); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := page()
	at := strings.Index(got, "What is true of whole hosts")
	if at < 0 {
		t.Fatal("no panel of hosts")
	}
	panel := got[at : at+strings.Index(got[at:], "</div>")]
	f := gathered(t, in)
	for _, want := range []string{
		"h&lt;01&gt;", "sda, sdb, &lt;b&gt;sdc&lt;/b&gt;", "stopped and went on within 20 ms of each other", "for up to 2 s", "the longest at " + f.time.full(pauses[1].FromNS),
		"<b><bdi>h02</bdi></b>: page faults a page read: 0.9 major page faults a page read.",
	} {
		if !strings.Contains(panel, want) {
			t.Errorf("the panel lacks %q: %s", want, panel)
		}
	}
	if strings.Contains(panel, "quiet") || strings.Contains(panel, "alone") || strings.Count(panel, "the longest at") != 1 {
		t.Errorf("the panel tells of pauses that were not: %s", panel)
	}

	in.Analyses = nil
	for i := range maxHosts + 2 {
		in.Analyses = append(in.Analyses, analysis.Pauses(fmt.Sprintf("h%02d", i), pauses, 3))
	}
	if got = page(); !strings.Contains(got, "2 more are in report.json.") {
		t.Error("hosts that are left out are not counted")
	}
	in.Analyses = nil
	if got = page(); strings.Contains(got, "What is true of whole hosts") {
		t.Error("a panel without a host")
	}
}
