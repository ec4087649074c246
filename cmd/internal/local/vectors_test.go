package local

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iopathy/iopathy/features"
)

// checkVectors wants Vectors to write the vectors of windows, all of the lake's,
// bit for bit.
func checkVectors(t *testing.T, j *Job, windows []features.Window) {
	t.Helper()
	var b bytes.Buffer
	n, err := j.Vectors(context.Background(), &b)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	head := "host,device,window_start_ns,window_end_ns"
	for _, f := range features.Features {
		head += "," + f.Name
	}
	want := []string{head}
	for i := range windows {
		w := &windows[i]
		line := fmt.Sprintf("%s,%s,%d,%d", w.Host, w.Device, w.StartNS, w.EndNS)
		for k, v := range w.Vector {
			line += ","
			if w.Missing.Has(k) {
				line += strconv.FormatFloat(v, 'g', -1, 64)
			}
		}
		want = append(want, line)
	}
	if int(n) != len(windows) {
		t.Errorf("Vectors: %d windows, want %d", n, len(windows))
	}
	slices.Sort(got[1:])
	slices.Sort(want[1:])
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Vectors (-windows +vectors):\n%.2000s", diff)
	}
}

func TestVectorsNames(t *testing.T) {
	text, err := vectorRows(features.Key{Host: `a "b", c`, Device: "d\ne"}, []vectorRow{{startNS: 1, endNS: 2, missing: 1 << 3}})
	if want := "\"a \"\"b\"\", c\",\"d\ne\",1,2,0,0,0,,0,0,0,0,0,0,0,0\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v, want %q", text, err, want)
	}
}
