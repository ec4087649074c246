package nights

import (
	"fmt"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest/lake"
)

func TestMergers(t *testing.T) {
	// check takes units as "name:MiB" or "name:MiBxPARTS", and wants the groups.
	check := func(units, want string) {
		t.Helper()
		var all []unit
		for _, u := range strings.Fields(units) {
			var name string
			var size, n = int64(0), 1
			name, rest, _ := strings.Cut(u, ":")
			if _, err := fmt.Sscanf(rest, "%dx%d", &size, &n); err != nil {
				if _, err := fmt.Sscanf(rest, "%d", &size); err != nil {
					t.Fatal(err)
				}
			}
			one := unit{file: lake.Part{Path: name, Bytes: size << 20}}
			for i := range n {
				one.parts = append(one.parts, lake.Part{Path: fmt.Sprintf("%s%04d", name, i)})
			}
			all = append(all, one)
		}
		var got []string
		for _, g := range mergers(all) {
			var names []string
			for _, u := range g {
				names = append(names, u.file.Path)
			}
			got = append(got, strings.Join(names, "+"))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: merges %q, want %q", units, s, want)
		}
	}
	check("", "")
	check("a:1", "")
	check("b:1 a:1", "a+b")
	check("a:1 b:32 c:1", "a+c")
	check("a:30 b:30 c:30 d:30 e:30", "a+b+c+d") // 120 of 128 MiB; e is alone
	check("a:30 b:30 c:30 d:30 e:30 f:1", "a+b+c+d e+f")
	check("a:1x40 b:1x24 c:1", "a+b") // 64 parts
	check("a:1x40 b:1x40", "")
	check("a:1x64 b:1 c:1", "b+c")
}
