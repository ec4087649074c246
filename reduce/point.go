package reduce

import "github.com/iopathy/iopathy/features"

// Device is what an inventory tells of a device. The zero value is unknown.
type Device struct {
	Model      string
	Rotational string // "1", "0" or "" unknown
}

// Inventory maps devices to what is known of them; it may be nil.
type Inventory map[features.Key]Device

// Normal is the latency at load that a window was compared with.
type Normal struct {
	Value   float64 // log10 ns at one in flight
	Source  string  // device, group, rotational, prior
	Group   string
	Windows int // that it was taken from
}

// Point is a window among its peers. Z is its deviation from healthy by
// feature, Y its coordinates in the reduced space (cosine is taken there);
// both are zero for an idle window. Vector is the window's, with the normal
// subtracted from LatencyLoadResidual.
type Point struct {
	Window *features.Window
	Normal Normal
	Vector features.Vector
	Z      features.Vector
	Y      []float64
}
