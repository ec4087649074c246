package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

func TestChangesAreTold(t *testing.T) {
	in := &Input{Changes: &Changes{Since: "2026-03-01", Refit: true, ModelNS: 5,
		Devices: []DeviceChange{
			{Key: features.Key{Host: "h<b>", Device: "sda"}, What: StillSick, Trend: "worse", Since: "2026-02-27", Pathology: "sudden-stall", ShareNow: 0.5, Share: 0.25},
			{Key: features.Key{Host: "h", Device: "sdb"}, What: Recovered, Pathology: "sudden-stall"},
		},
		Classes: []ClassChange{{RegistryEvent: cluster.RegistryEvent{EndNS: 4, Event: cluster.Split, ID: 9, Other: 2}, Pathology: "unrecognised"}}}}
	var page, doc bytes.Buffer
	if err := HTML(&page, in); err != nil {
		t.Fatal(err)
	}
	if err := JSON(&doc, in); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 device still sick since 2026-03-01.", "since 2026-02-27, worse (50", "h&lt;b&gt;/sda", "1 device recovered since 2026-03-01.", "The model was fitted anew. Classes: split of class 9", "with class 2"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, want := range []string{`"since": "2026-03-01"`, `"what": "recovered"`, `"sick_share_before": 0.25`, `"event": "split"`} {
		if !strings.Contains(doc.String(), want) {
			t.Errorf("report.json does not say %s", want)
		}
	}
	in.Changes = nil
	page.Reset()
	if err := HTML(&page, in); err != nil || strings.Contains(page.String(), "fitted anew") {
		t.Errorf("%v; or changes without any", err)
	}
}
