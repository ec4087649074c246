package local

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

func TestSidecars(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("partitions", "major minor  #blocks  name\n\n   8        0  976762584 sda\n   8        1     524288 sda1\n 259        0  500107608 nvme0n1\n")
	write("tree.txt", "NAME        MAJ:MIN RM   SIZE RO TYPE MOUNTPOINTS\nsdb           8:16   0   1.8T  0 disk\n└─sdb1          8:17   0   1.8T  0 part\n  └─vg0-root  253:0    0   1.8T  0 lvm  /\n")
	write("diskstats", "# 1700000000\n   8       0 bad 5 1 40 3 2 0 16 4 0 6 7\n   8      32 sdc 5 1 40 3 2 0 16 4 0 6 7\n")
	write("trace.log", "  8,0    1        1     0.000000000   100  Q   R 0 + 8 [a]\n")
	inputs, _, err := ingest.Resolve([]string{dir}, nil, ingest.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	logs, b, skips, err := sidecars(inputs)
	if err != nil {
		t.Fatal(err)
	}
	if len(logs) != 2 || filepath.Base(logs[1].Path) != "trace.log" || len(skips) != 2 {
		t.Errorf("logs %v, skips %v", logs, skips)
	}
	want := deviceNames{
		"dev:8:0": "sda", "dev:8:1": "sda1", "dev:259:0": "nvme0n1", "dev:8:16": "sdb", "dev:8:17": "sdb1", "dev:253:0": "vg0-root", "dev:8:32": "sdc",
		"dev8-0": "sda", "dev8-1": "sda1", "dev259-0": "nvme0n1", "dev8-16": "sdb", "dev8-17": "sdb1", "dev253-0": "vg0-root", "dev8-32": "sdc",
		"dm-0": "vg0-root",
	}
	if !reflect.DeepEqual(b.names[dir], want) {
		t.Errorf("got %v, want %v", b.names[dir], want)
	}
	if below := (stack{"vg0-root": {"sdb1"}, "sdb1": {"sdb"}}); !reflect.DeepEqual(b.below[dir], below) {
		t.Errorf("stack %v, want %v", b.below[dir], below)
	}
}
