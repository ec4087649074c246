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
	write("tree.txt", "NAME        MAJ:MIN RM   SIZE RO TYPE MOUNTPOINTS\nsdb           8:16   0   1.8T  0 disk\n└─vg0-root  253:0    0   1.8T  0 lvm  /\n")
	write("trace.log", "  8,0    1        1     0.000000000   100  Q   R 0 + 8 [a]\n")
	inputs, _, err := ingest.Resolve([]string{dir}, nil, ingest.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	logs, b, skips, err := sidecars(inputs)
	if err != nil {
		t.Fatal(err)
	}
	names := b.names
	if len(logs) != 1 || filepath.Base(logs[0].Path) != "trace.log" || len(skips) != 2 {
		t.Errorf("logs %v, skips %v", logs, skips)
	}
	want := deviceNames{"dev:8:0": "sda", "dev:8:1": "sda1", "dev:259:0": "nvme0n1", "dev:8:16": "sdb", "dev:253:0": "vg0-root"}
	if !reflect.DeepEqual(names[dir], want) {
		t.Errorf("got %v, want %v", names[dir], want)
	}
}
