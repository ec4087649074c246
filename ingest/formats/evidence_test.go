package formats

import (
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// factsOf gives the facts of a name.
func factsOf(out *ingest.Out, name string) (list []ingest.Evidence) {
	for _, e := range out.Evidence {
		if out.Names.String(e.Name) == name {
			list = append(list, e)
		}
	}
	return list
}

func valuesOf(out *ingest.Out, name string) (list []float64) {
	for _, e := range factsOf(out, name) {
		list = append(list, e.Value)
	}
	return list
}

// TestDmesgAborts: seven writes of a USB disk that were aborted within 2.4 ms are
// seven events, not fourteen, and the three lines of the reset are one. The oracle
// is the report that the lines are of: tags, blocks and stamps.
func TestDmesgAborts(t *testing.T) {
	data := sharedFile(t, "cases", "B-03-usb-uas-abort-storm", "input.dmesg.txt")
	out := decodeAll(t, Dmesg, "x", data, ingest.Options{}, 0)
	if n := len(factsOf(out, "kernel_scsi_abort")); n != 7 || out.Tally.Event != 17 || out.Tally.Lines != 17 {
		t.Errorf("%d aborts in %s", n, fates(out.Tally))
	}
	var places []float64
	for _, lba := range []float64{17991864, 17975184, 17974888, 17974552, 17973912, 17973016, 17974208} {
		places = append(places, lba*512)
	}
	if got := valuesOf(out, "kernel_scsi_abort_offset_bytes"); !slices.Equal(got, places) {
		t.Errorf("places %v, want %v", got, places)
	}
	sum := 0.0
	for _, e := range factsOf(out, "kernel_scsi_abort_bytes") {
		sum += e.Value
		if op := out.Names.String(e.Text); op != "WRITE" {
			t.Errorf("operation %q", op)
		}
	}
	if sum != 28672 {
		t.Errorf("%v bytes, want 28672", sum)
	}
	if got := valuesOf(out, "kernel_device_reset"); !slices.Equal(got, []float64{1}) {
		t.Errorf("resets %v, want one", got)
	}
	if got := valuesOf(out, "kernel_device_reset_ns"); !slices.Equal(got, []float64{163868000}) { // 138619.324870 - .161002
		t.Errorf("the reset took %v", got)
	}
	for _, e := range out.Evidence {
		if e.TimeNS != 0 {
			t.Errorf("a time out of seconds since boot: %d", e.TimeNS)
		}
		if name := out.Names.String(e.Name); strings.Contains(name, "medium") || strings.Contains(name, "sense") {
			t.Errorf("%s where no medium failed", name)
		}
	}
	// With the time of the boot the stamps are times: the storm lasts 2.337 ms.
	out = decodeAll(t, Dmesg, "x", data, ingest.Options{StartNS: 1_700_000_000e9}, 0)
	a := factsOf(out, "kernel_scsi_abort")
	if a[0].TimeNS != 1_700_138_619_145_040_000 || a[6].TimeNS-a[0].TimeNS != 2_337_000 {
		t.Errorf("aborts from %d to %d", a[0].TimeNS, a[6].TimeNS)
	}
}

func TestDmesgSamples(t *testing.T) {
	check := func(name, device, fact string, sectors []float64, firstNS int64) {
		t.Helper()
		out := decodeAll(t, Dmesg, name, sharedFile(t, "samples", "dmesg", name), ingest.Options{}, 0)
		places := valuesOf(out, fact+"_offset_bytes")
		for i := range places {
			places[i] /= 512
		}
		list := factsOf(out, fact)
		if !slices.Equal(places, sectors) || len(list) != max(len(sectors), 1) || list[0].TimeNS != firstNS || out.Names.String(list[0].Device) != device {
			t.Errorf("%s: %v at %v, %+v", name, places, sectors, list)
		}
		if out.Tally.Rejected() != 0 || out.Tally.Accounted() != out.Tally.Lines {
			t.Errorf("%s: %s", name, fates(out.Tally))
		}
	}
	check("scylladb-1575.medium-error.txt", "sdb", "kernel_medium_error", []float64{4136641792, 4136641792}, 0)
	// date -u -d 'Tue Oct 27 08:51:30 2020' +%s gives 1603788690.
	check("longhorn-1920.dmesg-T.txt", "sde", "kernel_medium_error", []float64{3260792, 3262904}, 1603788690e9)
	check("adoptium-425.hung-task-ppc.txt", "vda1", "kernel_hung_task", nil, 0)
}

// TestSmartctlSamples compares with the documents as encoding/json reads them.
func TestSmartctlSamples(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "samples", "smart", "*.json"))
	if len(paths) == 0 {
		t.Skip("no recordings beside the repository")
	}
	type document struct {
		Smartctl *struct {
			ExitStatus int `json:"exit_status"`
		}
		Device    struct{ Name string }
		LocalTime struct {
			TimeT int64 `json:"time_t"`
		} `json:"local_time"`
		SmartStatus *struct{ Passed bool }           `json:"smart_status"`
		Temperature struct{ Current float64 }        `json:"temperature"`
		PowerOn     struct{ Hours, Minutes float64 } `json:"power_on_time"`
		NVMe        map[string]any                   `json:"nvme_smart_health_information_log"`
		SCSI        map[string]map[string]any        `json:"scsi_error_counter_log"`
		Phy         struct{ Table []map[string]any } `json:"sata_phy_event_counters"`
		Attributes  struct {
			Table []struct {
				ID, Value, Worst, Thresh float64
				Name                     string
				Raw                      struct{ Value float64 }
			}
		} `json:"ata_smart_attributes"`
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var doc document
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		out := decodeAll(t, Smartctl, name, data, ingest.Options{}, 0)
		check := func(fact string, want ...float64) {
			t.Helper()
			if got := valuesOf(out, fact); !slices.Equal(got, want) {
				t.Errorf("%s: %s is %v, want %v", name, fact, got, want)
			}
		}
		if doc.Smartctl != nil {
			check("smart_exit_status", float64(doc.Smartctl.ExitStatus))
		}
		check("smart_temperature_c", doc.Temperature.Current)
		if doc.SmartStatus != nil {
			passed := 0.0
			if doc.SmartStatus.Passed {
				passed = 1
			}
			check("smart_passed", passed)
		}
		if doc.PowerOn.Hours > 0 {
			check("smart_power_on_ns", doc.PowerOn.Hours*3600e9+doc.PowerOn.Minutes*60e9)
		}
		if doc.NVMe != nil {
			check("nvme_media_errors", doc.NVMe["media_errors"].(float64))
			check("nvme_used_percent", doc.NVMe["percentage_used"].(float64))
			check("nvme_read_bytes", doc.NVMe["data_units_read"].(float64)*512000)
			check("nvme_temperature_c", doc.NVMe["temperature"].(float64))
		}
		for op, counters := range doc.SCSI {
			check("smart_scsi_"+op+"_uncorrected", counters["total_uncorrected_errors"].(float64))
			check("smart_scsi_"+op+"_corrected", counters["total_errors_corrected"].(float64))
		}
		raws, attributes := 0, 0
		for _, a := range doc.Attributes.Table {
			prefix := "smart_ata_" + jsonNumberOf(a.ID)
			check(prefix+"_raw", a.Raw.Value)
			check(prefix+"_value", a.Value)
			check(prefix+"_worst", a.Worst)
			check(prefix+"_thresh", a.Thresh)
			attributes++
		}
		phys := 0
		for _, e := range out.Evidence {
			switch fact := out.Names.String(e.Name); {
			case strings.HasPrefix(fact, "smart_ata_") && strings.HasSuffix(fact, "_raw"):
				raws++
			case strings.HasPrefix(fact, "smart_phy_"):
				phys++
			}
			if e.TimeNS != doc.LocalTime.TimeT*1e9 || !strings.HasPrefix(out.Names.String(e.Device), strings.TrimPrefix(doc.Device.Name, "/dev/")) {
				t.Errorf("%s: fact of %s at %d", name, out.Names.String(e.Device), e.TimeNS)
			}
		}
		if raws != attributes || phys != len(doc.Phy.Table) {
			t.Errorf("%s: %d attributes of %d, %d link counters of %d", name, raws, attributes, phys, len(doc.Phy.Table))
		}
		if out.Tally.Rejected() != 0 || out.Tally.Accounted() != out.Tally.Lines {
			t.Errorf("%s: %s", name, fates(out.Tally))
		}
		// The same in one line.
		var flat any
		if err := json.Unmarshal(data, &flat); err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(flat)
		if err != nil {
			t.Fatal(err)
		}
		one := decodeAll(t, Smartctl, name, line, ingest.Options{}, 0)
		if len(one.Evidence) != len(out.Evidence) || one.Tally.Event != 1 {
			t.Errorf("%s: %d facts in one line, %d in many", name, len(one.Evidence), len(out.Evidence))
		}
	}
}

func jsonNumberOf(x float64) string {
	b, _ := json.Marshal(x) // a float64 that is finite has a text
	return string(b)
}

// TestPSISample: the shares times the intervals are the growth of the totals. Oracle:
//
//	awk '/^some/ {sub("total=","",$5); if (!n++) a=$5; b=$5} END {print b-a}'
func TestPSISample(t *testing.T) {
	data := sharedFile(t, "samples", "psi", "runA-pressure-io.1s.txt")
	out := decodeAll(t, PSI, "x", data, ingest.Options{}, 0)
	rows := strings.Count(string(data), "\nsome ")
	totals, shares := factsOf(out, "psi_io_some_ns"), factsOf(out, "psi_io_some_share")
	if len(totals) != rows || len(shares) != rows-1 || out.Tally.Rejected() != 0 {
		t.Fatalf("%d totals, %d shares of %d snapshots: %s", len(totals), len(shares), rows, fates(out.Tally))
	}
	waited := 0.0
	for i, s := range shares {
		waited += s.Value * float64(totals[i+1].TimeNS-totals[i].TimeNS)
	}
	if want := totals[rows-1].Value - totals[0].Value; math.Abs(waited-want) > want/1e9 {
		t.Errorf("waited %v ns by the shares, %v by the totals", waited, want)
	}
	if totals[0].Value != 13486546e3 || totals[0].TimeNS != 1795954828301543487 {
		t.Errorf("first total %+v", totals[0])
	}
	out = decodeAll(t, PSI, "x", sharedFile(t, "samples", "psi", "node_exporter-fixture.pressure-io.txt"), ingest.Options{}, 0)
	if got := valuesOf(out, "psi_io_full_ns"); !slices.Equal(got, []float64{159229614e3}) || len(out.Evidence) != 2 {
		t.Errorf("one snapshot gives %v, %d facts", got, len(out.Evidence))
	}
}

// TestEvidenceFormatsClaimTheirOwn: of all recordings each is claimed by the format
// of its folder, and none of the others' by these.
func TestEvidenceFormatsClaimTheirOwn(t *testing.T) {
	mine := map[string]string{"dmesg": "dmesg", "smart": "smartctl", "psi": "psi-io"}
	root := filepath.Join("..", "..", "..", "shared", "samples")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no recordings beside the repository: %v", err)
	}
	seen := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) == ".md" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		head := data[:min(len(data), ingest.SniffBytes)]
		want := mine[filepath.Base(filepath.Dir(path))]
		if strings.Contains(filepath.Base(path), "pressure-io") {
			want = "psi-io"
		}
		for _, f := range []ingest.Format{Dmesg, Smartctl, NVMeSmart, PSI, CounterLog} {
			if claims := f.Sniff(head, path) > 0; claims != (f.Name == want) {
				t.Errorf("%s: %s claims it: %v", path, f.Name, claims)
			}
		}
		if want != "" {
			seen++
			if f, problem := ingest.Choose(head, path); f.Name != want {
				t.Errorf("%s is read as %q: %s", path, f.Name, problem)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 14 { // 3 of the kernel, 9 of disks, 2 of pressure
		t.Errorf("only %d recordings", seen)
	}
}

// FuzzEvidence decodes anything by the formats of evidence without the reading
// loop: the fates sum (decodeAll checks it), and no value is impossible.
func FuzzEvidence(f *testing.F) {
	own := []ingest.Format{Dmesg, Smartctl, NVMeSmart, PSI, CounterLog}
	for _, s := range shelf(f) {
		if slices.ContainsFunc(own, func(o ingest.Format) bool { return o.Name == s.format.Name }) {
			f.Add(s.data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range own {
			out := decodeAll(t, format, "nvme0n1", data, ingest.Options{}, 0)
			for _, e := range out.Evidence {
				if math.IsNaN(e.Value) || math.IsInf(e.Value, 0) || e.Name == 0 || e.Host == 0 {
					t.Errorf("%s: impossible evidence %+v", format.Name, e)
				}
			}
		}
	})
}
