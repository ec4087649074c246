package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reduce"
)

func pseudonyms(t *testing.T, key string) *Pseudonyms {
	t.Helper()
	c := configs.Default()
	c.Anonymise = filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(c.Anonymise, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := NewPseudonyms(&c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPseudonyms(t *testing.T) {
	p, other := pseudonyms(t, "0123456789abcdef\n"), pseudonyms(t, "0123456789abcdeX")
	// By Python's hmac.new(b"0123456789abcdef", b"host\0db1", "sha256").hexdigest()[:16]
	if got := p.Of(HostField, "db1"); got != "host-9466784d29008bc6" {
		t.Errorf("db1 is %s", got)
	}
	once := p.Of(HostField, "db1")
	if p.Of(HostField, once) != once {
		t.Error("a pseudonym gets another")
	}
	if p.another().Of(HostField, "db1") != once || other.Of(HostField, "db1") == once || p.Of(CommField, "db1") == once || strings.TrimPrefix(p.Of(CommField, "db1"), "comm-") == strings.TrimPrefix(once, "host-") {
		t.Error("a pseudonym is not that of its key and its field")
	}
	var none *Pseudonyms
	if none.Of(HostField, "db1") != "db1" || none.Mark() != "" {
		t.Error("without a key names must stay")
	}
	for i := range keptPseudonyms + 10 {
		p.Of(FileField, strings.Repeat("x", i%100)+string(rune(i)))
	}
	if len(p.kept) > keptPseudonyms || p.Of(HostField, "db1") != once {
		t.Errorf("%d names are remembered", len(p.kept))
	}
	if p.Mark() == other.Mark() || p.told(p.Mark(), false) != nil || p.told("", true) != nil || p.told("", false) == nil || p.told(other.Mark(), true) == nil || none.told(p.Mark(), false) == nil || none.told("", false) != nil {
		t.Error("keys are mixed in a lake")
	}
}

func TestWellKnown(t *testing.T) {
	check := func(field, stay, hidden string) {
		t.Helper()
		for _, name := range strings.Fields(stay) {
			if !WellKnown(field, name) {
				t.Errorf("%s %q gets a pseudonym", field, name)
			}
		}
		for _, name := range strings.Fields(hidden) {
			if WellKnown(field, name) {
				t.Errorf("%s %q stays", field, name)
			}
		}
	}
	check(DeviceField, "sda sdaa1 vdb xvda1 hdc nvme0n1 nvme0n1p2 nvme0 nvme1c2n1 dm-0 md127 loop3 mmcblk0p1 zram0 dev:8:16 dev8-16 dasda1", "sdsecret nas1:/export /mnt/x vg-root secret-sda sda-secret nvme0n1-db1 md 4711 dm-0x")
	check(CommField, "fio kworker/0:1 kworker/u16:3-events_unbound kworker/u8:2+flush-8:0 jbd2/sda1-8 jbd2/dm-0-8 xfsaild/dm-3 kswapd0 ksoftirqd/1 md0_raid1 mysqld systemd-journal swapper/0", "billing kworker/secret kworker/0:1-secret jbd2/secret-8 kswapd0secret fio-secret mysqld_secret")
	check(HostField, "localhost input-0123abcd", "db1 localhost2 input-secret input-0123abcdef")
	check(CgroupField, "/ /system.slice", "/system.slice/secret.service /user.slice/user-1000.slice secret")
	check(TextField, "12 -1.5 16..31 8.0GT/s 100% sda", "secret 12secret x1 10.0.0.1 10.0.0.1:9100")
	check(FileField, "", "/etc/passwd fio")
}

// A name in two fields has two pseudonyms; facts of the catalogue and of the
// formats stay, those that a log names itself don't.
func TestPseudonymsOfRows(t *testing.T) {
	p := pseudonyms(t, "0123456789abcdef")
	b := &ingest.Batch{}
	n := b.Names.InternString
	b.Events = []ingest.Event{{Host: n("x1"), Device: n("x1"), Comm: n("fio"), File: n("x1")}, {Host: n("x1")}}
	b.Samples = []ingest.Sample{{Host: n("x1"), Device: n("sda")}}
	b.Evidence = []ingest.Evidence{{Host: n("x1"), Name: n("figure"), Text: n("x1")}, {Name: n("remap"), Text: n("sda")}, {Name: n("remap"), Text: n("x1")}, {Name: n(latencyBucketFact), Text: n("16..31 x1")}, {Name: n("asked.for")}}
	p.rows(&ingest.Chunk{Format: "counters", Batch: b}, map[string]bool{"asked.for": true, remapFact: true, latencyBucketFact: true})
	s := b.Names.String
	e := &b.Events[0]
	check := func(what string, got ingest.Name, want string) {
		t.Helper()
		if s(got) != want {
			t.Errorf("%s is %q, want %q", what, s(got), want)
		}
	}
	check("host", e.Host, p.Of(HostField, "x1"))
	check("host of the second", b.Events[1].Host, p.Of(HostField, "x1"))
	check("device", e.Device, p.Of(DeviceField, "x1"))
	check("comm", e.Comm, "fio")
	check("file", e.File, p.Of(FileField, "x1"))
	check("cgroup", e.Cgroup, "")
	check("device of a sample", b.Samples[0].Device, "sda")
	check("fact", b.Evidence[0].Name, p.Of(FactField, "figure"))
	check("text", b.Evidence[0].Text, p.Of(TextField, "x1"))
	check("device beneath", b.Evidence[1].Text, "sda")
	check("device beneath", b.Evidence[2].Text, p.Of(DeviceField, "x1"))
	check("bucket", b.Evidence[3].Text, "16..31 "+p.Of(TextField, "x1"))
	check("fact", b.Evidence[4].Name, "asked.for")

	below := p.stack(stack{"dm-0": {"sda", "x1"}})
	if got := below["dm-0"]; len(got) != 2 || got[0] != "sda" || got[1] != p.Of(DeviceField, "x1") {
		t.Errorf("below: %v", below)
	}
	inv := p.inventory(reduce.Inventory{features.Key{Host: "x1", Device: "sda"}: {Model: "M"}})
	if inv[features.Key{Host: p.Of(HostField, "x1"), Device: "sda"}].Model != "M" {
		t.Errorf("inventory: %v", inv)
	}
}

// Words about inputs keep no path, no folder, no host and nothing that stood in a log.
func TestPseudonymsOfAccount(t *testing.T) {
	p := pseudonyms(t, "0123456789abcdef")
	c := configs.Default()
	c.Ingest.Host, c.Ingest.ClockOffset = "secret-cli", []string{"*secret*=1s"}
	out := &Ingested{
		Reports: []ingest.Report{{Path: "/logs/secret-dir/secret-a.csv", Host: "secret-h", Problem: `open /logs/secret-dir/secret-a.csv: line 3: want a number, got "secret \"x\" y" and "secret"`, Note: "secret-a.csv: read from its start",
			Clock: ingest.ClockReport{Anchor: ingest.AlignedWith + "secret-b.csv, ± 3µs"}}},
		Skips:    []ingest.Skip{{Path: "/logs/secret-dir/secret-c.clock", Reason: "beside secret-a.csv"}},
		Warnings: []string{"secret-a.csv, secret-c.clock: taken for secret-found", "--clock-offset *secret*=1s matches no log", "of secret-cli"},
	}
	p.account(out, []ingest.Input{{Path: "/logs/secret-dir/secret-a.csv"}}, []string{"secret-found"}, &c)
	if s := fmt.Sprintf("%+v", *out); strings.Contains(s, "secret") {
		t.Error(s)
	}
	r := out.Reports[0]
	if r.Path != p.Of(LogField, "/logs/secret-dir/secret-a.csv") || !strings.HasPrefix(r.Problem, "open log-") || !strings.HasSuffix(r.Problem, `: line 3: want a number, got "..." and "..."`) || r.Clock.Anchor != ingest.AlignedWith+"another log" {
		t.Errorf("%+v", r)
	}
}
