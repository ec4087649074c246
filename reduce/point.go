package reduce

import "github.com/iopathy/iopathy/features"

// Device is what an inventory tells of a device. The zero value is unknown.
type Device struct {
	Model      string
	Rotational string // "1", "0" or "" unknown

	LinkBytesPerS  float64 // of its link, each way; 0 unknown, as for the others
	BytesPerSLimit float64 // that a volume, a cgroup or a contract allows
	IOPSLimit      float64
	QueueLimit     float64 // requests that it takes at once
	NUMANode       string  // a number, or "" unknown
	Version        string  // of firmware, kernel or framework, as people call it; "" unknown
}

// Inventory maps devices to what is known of them; it may be nil.
type Inventory map[features.Key]Device

// Normal is what a window was compared with.
type Normal struct {
	Value    float64 // log10 ns of one I/O at one in flight, transfer not counted
	Expected float64 // log10 ns for the window's mean request: Value, the share of seeks, the transfer at Rate
	Rate     float64 // bytes/s of the group at its best
	Source   string  // nights (of the device before), peers (in their nights), device, group, rotational, prior
	Group    string
	Windows  int  // that it was taken from; devices, of peers
	Nights   int  // of the device, that it was taken from
	Alone    bool // it is of windows of the device itself at hand, and nothing else is known: slow from beginning to end would pass
}

// Point is a window among its peers. Z is its deviation from healthy by
// feature, Y its coordinates in the reduced space (cosine is taken there);
// both are zero for an idle window. Vector is the window's, measured against
// its normal: see Model.Project.
type Point struct {
	Window *features.Window
	Normal Normal
	Device Device // what the inventory tells
	Vector features.Vector
	Z      features.Vector
	Y      []float64
	Space  *Model // that projected it: it turns directions of Z into directions of Y
}
