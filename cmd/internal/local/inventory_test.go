package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

func TestReadInventory(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "inventory.csv")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	inv, err := ReadInventory(write("Device, host,model,rotational,site\nsda,h1,DISK-4T,1,x\nnvme0n1,h1,FLASH,0,x\nsdb,h2,ODD,,x\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[features.Key]reduce.Device{
		{Host: "h1", Device: "sda"}:     {Model: "DISK-4T", Rotational: "1"},
		{Host: "h1", Device: "nvme0n1"}: {Model: "FLASH", Rotational: "0"},
		{Host: "h2", Device: "sdb"}:     {Model: "ODD"},
	}
	if len(inv) != len(want) {
		t.Fatalf("got %v", inv)
	}
	for k, d := range want {
		if inv[k] != d {
			t.Errorf("%v: got %v want %v", k, inv[k], d)
		}
	}
	bad := func(text, want string) {
		t.Helper()
		if _, err := ReadInventory(write(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	bad("host,device\nh,d\n", ":1: want the columns")
	bad("host,device,model,rotational\nh,d,m,yes\n", ":2: rotational")
	bad("host,device,model\nh,d,m\nh,d,n\n", ":3: h/d stands twice")
	bad("host,device,model\nh\n", ":2: 1 columns")
	bad("", "header")
	inv, err = ReadInventory(write("host,device,model,numa_node,queue_limit,link_bytes_per_s,bytes_per_s_limit,iops_limit\nh,a,M,1,64,3.9e9,1e8,3000\nh,b,M,,,,,\n"))
	if err != nil {
		t.Fatal(err)
	}
	full := reduce.Device{Model: "M", NUMANode: "1", QueueLimit: 64, LinkBytesPerS: 3.9e9, BytesPerSLimit: 1e8, IOPSLimit: 3000}
	if got := inv[features.Key{Host: "h", Device: "a"}]; got != full {
		t.Errorf("got %+v want %+v", got, full)
	}
	if got := inv[features.Key{Host: "h", Device: "b"}]; got != (reduce.Device{Model: "M"}) {
		t.Errorf("empty cells: got %+v", got)
	}
	devices := []features.Key{{Host: "h", Device: "a"}}
	if again := inventoryOf(knownDevices(inv, devices)); again[devices[0]] != full {
		t.Errorf("the model keeps %+v of %+v", again[devices[0]], full)
	}
	bad("host,device,model,queue_limit\nh,d,m,0\n", ":2: queue_limit \"0\" is no number above 0")
	bad("host,device,model,link_bytes_per_s\nh,d,m,\nh,e,m,fast\n", ":3: link_bytes_per_s \"fast\"")
	bad("host,device,model,iops_limit\nh,d,m,NaN\n", ":2: iops_limit")
	bad("host,device,model,numa_node\nh,d,m,-1\n", ":2: numa_node")
	if inv, err := ReadInventory(""); inv != nil || err != nil {
		t.Errorf("no inventory: %v %v", inv, err)
	}
	if _, err := ReadInventory("no/such.csv"); err == nil {
		t.Error("want an error for a file that does not exist")
	}
}
