package heatmap

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestColor(t *testing.T) {
	nan := math.NaN()
	check := func(s Scale, iops, latency, depth float64, want string) {
		t.Helper()
		if got := s.Color(iops, latency, depth).Hex(); got != want {
			t.Errorf("%s: %v IOPS, %v ms, depth %v is %s, want %s", s.Name, iops, latency, depth, got, want)
		}
	}
	m := Mission()
	check(m, 8500, 12, 16, "#D8EF1F")  // 216.75, 239.7, 31.875 truncated
	check(m, 4200, 180, 64, "#6B197F") // 107.1, 25.5, 127.5 truncated
	check(m, 0, 0, 0, "#00FF00")
	check(m, 1e9, 1e9, 1e9, "#FF00FF") // clamped before the product
	check(m, -5, -5, -5, "#00FF00")    // clamped at 0; less than no latency is full green
	check(m, nan, 12, nan, "#00EF00")  // what is missing is 0
	check(m, 5000, nan, 64, "#7F7F7F") // unknown latency is half
	check(m, 0, nan, 64, "#00007F")    // in flight and nothing completed: no green
	check(m, math.Inf(1), 0, 0, "#FFFF00")
}

func TestScaleRoundsUpTo125(t *testing.T) {
	check := func(v, want float64) {
		t.Helper()
		var s steps125
		s.add(stepOf(v))
		if got := s.percentile99(); math.Abs(got-want) > 1e-12*want {
			t.Errorf("%v rounds up to %v, want %v", v, got, want)
		}
	}
	check(1, 1)
	check(1.01, 2)
	check(2, 2)
	check(4999, 5000)
	check(5001, 10000)
	check(0.003, 0.005)
	check(1e-7, 1e-7)
	var s steps125
	for v := range 100 {
		s.add(stepOf(float64(v + 1)))
	}
	s.add(stepOf(1e9)) // of 101 values index 99 is the 100, not this one
	if got := s.percentile99(); got != 100 {
		t.Errorf("the 99th percentile of 1..100 and 1e9 rounds up to %v, want 100", got)
	}
}

// grid builds windows of 10 s: a row a device, a letter a window. h healthy,
// s sick, i idle, a artefact, '.' none.
func grid(rows ...string) ([]features.Window, []cluster.Diagnosis) {
	var ws []features.Window
	var ds []cluster.Diagnosis
	for r, row := range rows {
		for c, letter := range row {
			if letter == '.' {
				continue
			}
			w := features.Window{Key: features.Key{Host: "h", Device: string(rune('a' + r))}, StartNS: int64(c) * 10e9, EndNS: int64(c+1) * 10e9}
			for k := range w.Context {
				w.Context[k] = math.NaN()
			}
			w.Context[features.CtxIOPS] = float64(1000 * (c + 1))
			w.Context[features.CtxLatencyMean] = float64(20 * (r + 1))
			w.Context[features.CtxMeanDepth] = float64(16 * (c + 1))
			d := cluster.Diagnosis{Key: w.Key, StartNS: w.StartNS, EndNS: w.EndNS, Verdict: cluster.Healthy, Severity: 0.3}
			switch letter {
			case 's':
				d.Verdict, d.Severity, d.Pathology = cluster.Sick, float64(c+2), "sudden-stall"
			case 'i':
				d.Verdict, w.Idle = cluster.Idle, true
			case 'a':
				d.Verdict = cluster.Artefact
			}
			ws, ds = append(ws, w), append(ds, d)
		}
	}
	return ws, ds
}

// dump writes a raster as a grid of colours: ------- is a gap, idle is
// written out, lossy cells carry a star, sick ones their class.
func dump(f *Fleet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "start %d step %d merged %d aligned %v omitted %d\n", f.StartNS, f.StepNS, f.Merged, f.Aligned, f.Omitted)
	for row := range f.Rows {
		d := f.Devices[row]
		fmt.Fprintf(&b, "%s/%s sick %d worst %.1f normal %s |", d.Host, d.Device, d.Sick, d.Worst, d.Normal.Hex())
		for col := range f.Cols {
			c, state := f.At(col, row)
			text := c.Hex()
			switch state {
			case Gap:
				text = "-------"
			case Idle:
				text = "idle   "
			case Lossy:
				text += "*"
			}
			if k := f.Class[row*f.Cols+col]; k > 0 {
				text += fmt.Sprint(k)
			}
			fmt.Fprintf(&b, " %-8s", text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got\n%s", path, got)
	}
}

func TestFleet(t *testing.T) {
	ws, ds := grid("hhhhhh", "hhsshh", "..hhi.", "hhahhh", "sshhhh")
	var b strings.Builder
	b.WriteString("by severity\n" + dump(NewFleet(Of(features.List(ws), features.List(ds)), Mission(), DefaultFleetOptions())))
	b.WriteString("by name\n" + dump(NewFleet(Of(features.List(ws), features.List(ds)), Mission(), FleetOptions{Order: ByName})))
	b.WriteString("at most 3 columns\n" + dump(NewFleet(Of(features.List(ws), features.List(ds)), Mission(), FleetOptions{MaxColumns: 3})))
	b.WriteString("at most 2 rows\n" + dump(NewFleet(Of(features.List(ws), features.List(ds)), Mission(), FleetOptions{MaxRows: 2})))
	b.WriteString("nothing judged\n" + dump(NewFleet(Of(features.List(ws), features.Rows[cluster.Diagnosis]{}), Mission(), DefaultFleetOptions())))
	golden(t, "fleet.golden", b.String())
}

func TestFleetDoesNotDependOnTheOrderOfWindows(t *testing.T) {
	ws, ds := grid("hhhhhh", "hhsshh", "..hhi.", "hhahhh", "sshhhh")
	want := dump(NewFleet(Of(features.List(ws), features.List(ds)), Mission(), FleetOptions{MaxColumns: 3}))
	n := len(ws)
	for i := range n / 2 {
		ws[i], ws[n-1-i] = ws[n-1-i], ws[i]
		ds[i], ds[n-1-i] = ds[n-1-i], ds[i]
	}
	if got := dump(NewFleet(Of(features.List(ws), features.List(ds)), Mission(), FleetOptions{MaxColumns: 3})); got != want {
		t.Errorf("reversed windows give\n%s, want\n%s", got, want)
	}
}

func TestFleetAlignsRecordingsOfDifferentTimes(t *testing.T) {
	ws, ds := grid("hhs", "hhh", "hhh", "hhh", "hhh", "hhh", "hhh", "hhh", "hhh", "hhh")
	for i := range ws {
		shift := int64(ws[i].Device[0]-'a') * 3600e9
		ws[i].StartNS, ws[i].EndNS = ws[i].StartNS+shift, ws[i].EndNS+shift
		ds[i].StartNS, ds[i].EndNS = ws[i].StartNS, ws[i].EndNS
	}
	f := NewFleet(Of(features.List(ws), features.List(ds)), Mission(), DefaultFleetOptions())
	if !f.Aligned || f.Cols != 3 || f.Rows != 10 {
		t.Fatalf("aligned %v, %d x %d, want true, 3 x 10", f.Aligned, f.Cols, f.Rows)
	}
	for row, d := range f.Devices {
		if want := int64(d.Device[0]-'a') * 3600e9; d.OriginNS != want {
			t.Errorf("row %d starts at %d, want %d", row, d.OriginNS, want)
		}
	}
}

func TestFleetOfNothing(t *testing.T) {
	if f := NewFleet(Of(features.Rows[features.Window]{}, features.Rows[cluster.Diagnosis]{}), Mission(), DefaultFleetOptions()); f.Rows != 0 || len(f.Pix) != 0 {
		t.Errorf("no windows give %d rows", f.Rows)
	}
	if j := NewJoint(Of(features.Rows[features.Window]{}, features.Rows[cluster.Diagnosis]{}), Mission()); j.Total != 0 || len(j.Pix) != 0 {
		t.Errorf("no windows give %d counts", j.Total)
	}
}

func TestGroupScale(t *testing.T) {
	ws, ds := grid("hhhhhh", "ssssss")
	// Healthy: IOPS 1000..6000, latency 20, depth 16..96. The 99th percentile
	// of 6 values is the 5th (index 4): 5000 and 80.
	got := GroupScale(Of(features.List(ws), features.List(ds)))
	if want := (Scale{"group", 5000, 20, 100}); got != want {
		t.Errorf("scale %+v, want %+v", got, want)
	}
	if got := GroupScale(Of(features.Rows[features.Window]{}, features.Rows[cluster.Diagnosis]{})); got.IOPS != 10000 || got.LatencyMS != 200 || got.Depth != 128 {
		t.Errorf("without windows the scale is %+v", got)
	}
}

func TestJointCountsEveryWindowOnce(t *testing.T) {
	ws, _ := grid("hhhhhh", "hhsshh", "..hhi.", "hhahhh", "sshhhh")
	ws[0].Context[features.CtxLatencyMean] = math.NaN()
	j := NewJoint(Of(features.List(ws), features.Rows[cluster.Diagnosis]{}), Mission())
	sum := 0
	for i, n := range j.Count {
		sum += int(n)
		if (n == 0) != (j.Pix[4*i+3] == 0) {
			t.Errorf("cell %d: count %d with opacity %d", i, n, j.Pix[4*i+3])
		}
	}
	if sum != j.Total || j.Left != 1 || j.Total+j.Left+1 != len(ws) { // one is idle
		t.Errorf("%d counted in cells, %d in all, %d left of %d windows", sum, j.Total, j.Left, len(ws))
	}
	// Two windows in one cell: the mean of each channel, truncated.
	pair := ws[1:3]
	pair[0].Context, pair[1].Context = ws[1].Context, ws[1].Context
	pair[1].Context[features.CtxMeanDepth] = 64
	j = NewJoint(Of(features.List(pair), features.Rows[cluster.Diagnosis]{}), Mission())
	for i, n := range j.Count {
		if n != 2 {
			continue
		}
		a, b := Mission().Color(2000, 20, 32), Mission().Color(2000, 20, 64)
		got := RGB{j.Pix[4*i], j.Pix[4*i+1], j.Pix[4*i+2]}
		if want := (RGB{a[0], a[1], uint8((int(a[2]) + int(b[2])) / 2)}); got != want {
			t.Errorf("mean colour %s, want %s", got.Hex(), want.Hex())
		}
		return
	}
	t.Error("no cell holds both")
}

func TestPackKeepsColours(t *testing.T) {
	for _, bits := range []int{coarseBits, codeBits} {
		for k, code := range []Code{NewCode(1e-3, 1e8, bits), NewCode(1e-4, 1e6, bits), NewCode(1e-3, 1e5, bits)} {
			st := steps(k, code, Mission())
			for c := 1; c < code.Top; c++ {
				var level uint8
				for _, s := range st {
					if int(s) <= c {
						level++
					}
				}
				v := code.Decode(uint16(c))
				want := [3]uint8{Mission().Color(v, 0, 0)[0], 255 - Mission().Color(0, v, 0)[1], Mission().Color(0, 0, v)[2]}[k]
				if level != want {
					t.Fatalf("bits %d channel %d code %d: steps give %d, colour %d", bits, k, c, level, want)
				}
				if back := code.Encode(v); int(back) != c {
					t.Fatalf("bits %d channel %d: code %d comes back as %d", bits, k, c, back)
				}
				if bits == codeBits {
					c += 16 // every code of the coarse table, every 17th of the fine one
				}
			}
		}
	}
	c := NewCode(1e-3, 1e8, coarseBits)
	if c.Encode(math.NaN()) != 0 || c.Encode(0) != 1 || !math.IsNaN(c.Decode(0)) || c.Decode(1) != 0 {
		t.Error("missing and zero don't keep their codes")
	}
	if c.Encode(1e30) != uint16(c.Top-1) || c.Encode(math.Inf(1)) != uint16(c.Top-1) || c.Encode(1e-30) != 2 {
		t.Error("values beyond the ends don't take the ends' codes")
	}
}

// The page adds the steps up again, modulo the number of codes.
func TestPackedStepsAddUp(t *testing.T) {
	check := func(cols, rows int) {
		t.Helper()
		r := newRaster(cols, rows)
		x := uint64(12345)
		for i := range r.IOPS {
			for _, plane := range [][]float32{r.IOPS, r.LatencyMS, r.Depth} {
				x = (1103515245*x + 12345) % (1 << 31)
				switch x >> 8 % 9 { // zero, and missing as it was
				case 0:
					plane[i] = 0
				case 1:
				default:
					plane[i] = float32(math.Pow(10, float64(x>>8%4000)/400-4))
				}
			}
		}
		p, n := r.Pack(Mission()), cols*rows
		for k, plane := range [][]float32{r.IOPS, r.LatencyMS, r.Depth} {
			code := 0
			for i, v := range plane {
				z := int(p.Values[2*k*n+i])<<8 | int(p.Values[(2*k+1)*n+i])
				code = (code + (z>>1 ^ -(z & 1))) & (p.Codes[k].Top - 1)
				if want := p.Codes[k].Encode(float64(v)); code != int(want) {
					t.Fatalf("%d x %d, channel %d, cell %d: code %d, want %d", cols, rows, k, i, code, want)
				}
			}
		}
	}
	check(40, 30)
	check(fineCells/100+1, 100) // with coarse codes
}
