package formats

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestBounds: numbers that no device can mean are rejects, in whichever format they stand.
func TestBounds(t *testing.T) {
	check := func(format, text, want string) {
		t.Helper()
		s := sample{path: "x.log", data: []byte(text), o: ingest.DefaultOptions()}
		s.o.Format, s.o.Host = format, "h"
		got := read(t, s, 1, nil)
		rows := strings.Count("\n"+got.rows, "\nevent ") + strings.Count("\n"+got.rows, "\nsample ")
		reasons := strings.Join(slices.Sorted(maps.Keys(got.rep.Tally.Rejects)), " ")
		if rows != 1 || reasons != want {
			t.Errorf("%s: %d rows, rejects %q, want 1 and %q:\n%s", format, rows, reasons, want, got.rows)
		}
	}
	const large = "size-over-a-tebibyte" // 2^43 bytes, or as many sectors
	check("alibaba", "6,R,4096,512,1577808000000100\n6,R,4096,8796093022208,1577808000000200\n", large)
	check("event-csv", "time_ns,host,device,pid,comm,op,flags,offset_bytes,size_bytes,queue_ns,latency_ns,error\n1790000000000000000,h,sda,7,cp,R,S,0,4096,10,100,0\n1790000000000000000,h,sda,7,cp,R,S,0,8796093022208,10,100,0\n", large)
	check("fio-log", "1, 900, 0, 4096, 0, 0\n2, 900, 0, 8796093022208, 4096, 0\n", large)
	check("fiu", "1000 7 cp 8 8 W 6 0 0a1b2c3d\n1001 7 cp 8 17179869184 W 6 0 0a1b2c3d\n", large)
	check("msr", "128166372003061629,usr,0,Read,4096,4096,10000\n128166372003061629,usr,0,Read,4096,8796093022208,10000\n", large)
	check("systor", "1455592700.00,0.001,R,1,0,4096\n1455592700.00,0.001,R,1,0,8796093022208\n", large)
	check("tencent", "1538323200,8,8,0,1\n1538323200,8,17179869184,0,1\n", large)

	// A stamp of the year 2106 amid those of 2023 begins the counters anew.
	row := func(stamp string, n string) string {
		return "# " + stamp + "\n   8       0 sda " + n + " 0 8 1 " + n + " 0 8 1 0 1 1\n"
	}
	check("diskstats", row("1700000000", "5")+row("1700000010", "6")+row("4294967296", "7"), "")
}
