package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Incidents that other logs than those of I/O explain, made up to figures that
// such incidents show: the verdict, report.json and the postmortem say so, and
// where a source is silent or shows the same in good times nothing of it is said.
func TestWhatIsNotStorage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program many times over")
	}
	at := func(second int) int64 {
		return time.Date(2026, 6, 14, 3, 0, 0, 0, time.UTC).Add(time.Duration(second) * time.Second).Unix()
	}
	shake := func(at, by int) float64 { return 1 + float64((at*7+by*3)%11-5)/100 }
	check := func(name string, says, never []string, files map[string]string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for f, text := range files {
				if err := os.WriteFile(filepath.Join(dir, f), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			told := toldOf(t, dir)
			saysAll(t, told, says, nil)
			for _, s := range never {
				if strings.Contains(told, s) {
					t.Errorf("it says %q", s)
				}
			}
		})
	}
	// A cgroup at its memory limit reads by page faults what it has just given up,
	// from the third window on.
	thrash := intervals(96, func(at int) []string {
		if at < 48 {
			return []string{served("nvme0n1", 300*shake(at, 1), 64, 0.2, 50, 16, 0.05, 6)}
		}
		return []string{served("nvme0n1", 42000*shake(at, 1), 4.2, 0.35*shake(at, 2), 50, 16, 0.1, 100)}
	})
	memory := func(limit bool) string {
		var b strings.Builder
		faults, events := 1000, 0
		for i := range 96 {
			if i >= 48 {
				faults += 200000
				if limit {
					events += 4000
				}
			}
			fmt.Fprintf(&b, "# %d\n/sys/fs/cgroup/app.slice/db.service/memory.events:max %d\n", at(5*(i+1)), events)
			fmt.Fprintf(&b, "/sys/fs/cgroup/app.slice/db.service/memory.events:high 0\n")
		}
		var v strings.Builder
		faults = 1000
		for i := range 96 {
			if i >= 48 {
				faults += 200000
			}
			fmt.Fprintf(&v, "# %d\npgpgin %d\npgpgout 100\npswpin 0\npswpout 0\npgfault 1000000\npgmajfault %d\n", at(5*(i+1)), i*10000, faults)
		}
		return b.String() + "\x00" + v.String()
	}
	split := func(s string) (a, b string) { a, b, _ = strings.Cut(s, "\x00"); return }
	cg, vm := split(memory(true))
	check("a memory limit", []string{"queue-saturation", "look elsewhere first: a cgroup stands at its memory limit", `"id": "memory-limit"`, "against 0 of 2 healthy ones"}, nil,
		map[string]string{"iostat.txt": thrash, "cgroup.txt": cg, "vmstat.txt": vm})
	cg, vm = split(memory(false))
	check("faults without a limit", []string{"queue-saturation", `"not_storage": []`}, []string{"look elsewhere first"},
		map[string]string{"iostat.txt": thrash, "cgroup.txt": cg, "vmstat.txt": vm})
	check("no other log", []string{"queue-saturation", `"not_storage": []`}, []string{"look elsewhere first"}, map[string]string{"iostat.txt": thrash})
	// The bad cable: the requests look well, the counts of errors don't.
	smart := func(second, crc int) string {
		return fmt.Sprintf(`{"json_format_version":[1,0],"smartctl":{"version":[7,2],"argv":["smartctl","-j","-x","/dev/sdb"],"exit_status":0},"device":{"name":"/dev/sdb","info_name":"/dev/sdb [SAT]","type":"sat","protocol":"ATA"},
"local_time":{"time_t":%d,"asctime":"x"},"smart_status":{"passed":true},"ata_smart_attributes":{"revision":16,"table":[{"id":199,"name":"UDMA_CRC_Error_Count","value":200,"worst":1,"thresh":0,"when_failed":"","raw":{"value":%d,"string":"%d"}}]}}`,
			at(second), crc, crc)
	}
	well := intervals(72, func(at int) []string {
		return []string{served("sda", 120*shake(at, 1), 32, 5*shake(at, 2), 40, 16, 3, 55), served("sdb", 120*shake(at, 3), 32, 5*shake(at, 4), 40, 16, 3, 55)}
	})
	check("a cable that makes errors", []string{"0 of 2 devices have sick windows", "box/sdb: other logs tell", "the cable or the backplane, not the disk", "= 888", `"recorded": true`}, []string{",sick,"},
		map[string]string{"iostat.txt": well, "a.json": smart(-30, 411), "b.json": smart(380, 1299)})
	check("counts that stand still", []string{"0 of 2 devices have sick windows"}, []string{"other logs tell", "SMART counts"},
		map[string]string{"iostat.txt": well, "a.json": smart(-30, 411), "b.json": smart(380, 411)})
	// A drive that throttles by heat, and says so.
	var heat strings.Builder
	for s := 0; s <= 480; s += 30 {
		fmt.Fprintf(&heat, "# %d\nSmart Log for NVME device:nvme0n1 namespace-id:ffffffff\ncritical_warning\t: 0\ntemperature\t: %d C (%d Kelvin)\nThermal Management T1 Trans Count\t: %d\nThermal Management T1 Total Time\t: %d\n",
			at(s), 60+s/20, 333+s/20, 2+max(s-200, 0)/40, 60+max(s-200, 0))
	}
	check("heat", []string{"media-degradation", "the disk is too hot and slows itself down", "the device itself tells that it slows down by heat"}, nil, map[string]string{
		"iostat.txt": intervals(96, func(at int) []string {
			slow := served("nvme0n1", 12000*shake(at, 1), 16, 0.25*shake(at, 2), 100, 16, 0.05, 100)
			if at >= 48 {
				slow = served("nvme0n1", 1900*shake(at, 1), 16, 1.6*shake(at, 2), 100, 16, 0.05, 100)
			}
			return []string{slow, served("nvme1n1", 12000*shake(at, 3), 16, 0.25*shake(at, 4), 100, 16, 0.05, 100)}
		}), "smart-log.txt": heat.String(),
	})
}
