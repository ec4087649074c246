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
	if inv, err := ReadInventory(""); inv != nil || err != nil {
		t.Errorf("no inventory: %v %v", inv, err)
	}
	if _, err := ReadInventory("no/such.csv"); err == nil {
		t.Error("want an error for a file that does not exist")
	}
}
