package heatmap

// View is what a fleet map's colours tell.
type View uint8

// The views: all three channels, one of them alone, the change against the
// row's normal (grey is none), the severity, the pathology.
const (
	AllChannels View = iota
	Throughput
	Latency
	Depth
	Change
	Severity
	Pathology
)

// Views names the views, as the page and the figures' files do.
var Views = [...]string{"all", "throughput", "latency", "depth", "change", "severity", "pathology"}

// SickRamp and SafeRamp are the colours from a severity of 1 to 10; SafeRamp
// goes from blue to yellow by lightness, told apart with any colour vision.
var (
	SickRamp = []RGB{{0xF7, 0xD7, 0x74}, {0xF2, 0xA6, 0x5A}, {0xE0, 0x63, 0x3F}, {0xB3, 0x2F, 0x45}, {0x6A, 0x11, 0x39}}
	SafeRamp = []RGB{{0x00, 0x20, 0x4D}, {0x31, 0x44, 0x6B}, {0x66, 0x69, 0x70}, {0x95, 0x8F, 0x78}, {0xCB, 0xBA, 0x69}, {0xFF, 0xEA, 0x46}}
)

// Ramp is the colour at t in 0..1 between the stops of a ramp.
func Ramp(stops []RGB, t float64) RGB {
	x := max(0, min(t, 1)) * float64(len(stops)-1)
	i := min(int(x), len(stops)-2)
	var c RGB
	for k := range c {
		a, b := float64(stops[i][k]), float64(stops[i+1][k])
		c[k] = uint8(a + (b-a)*(x-float64(i)) + 0.5)
	}
	return c
}

// Palette is the colours of a view that no channel gives.
type Palette struct {
	Idle, Quiet RGB   // idle cells; cells that aren't sick
	Classes     []RGB // by Fleet.Pathologies
}

// Paint gives the cells of a view as RGBA, four bytes a cell; gaps are clear.
func (f *Fleet) Paint(v View, p Palette) []uint8 {
	out := make([]uint8, 4*f.Cols*f.Rows)
	for i, state := range f.State {
		if state == Gap {
			continue
		}
		c, _ := f.At(i%f.Cols, i/f.Cols)
		switch {
		case state == Idle:
			c = p.Idle
		case v == Severity:
			if c = p.Quiet; f.Severity[i] >= 1 {
				c = Ramp(SickRamp, float64(f.Severity[i]-1)/9)
			}
		case v == Pathology:
			if c = p.Quiet; f.Class[i] > 0 {
				c = p.Classes[f.Class[i]-1]
			}
		case v == Change:
			n := f.Devices[i/f.Cols].Normal
			for k := range c {
				c[k] = uint8(128 + (int(c[k])-int(n[k]))>>1)
			}
		case v == Throughput, v == Latency, v == Depth:
			one := RGB{}
			one[v-Throughput] = c[v-Throughput]
			c = one
		}
		copy(out[4*i:], []uint8{c[0], c[1], c[2], 255})
	}
	return out
}
