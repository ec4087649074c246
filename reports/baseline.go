package reports

import (
	"fmt"
	"math"

	"github.com/iopathy/iopathy/reduce"
)

// againstWords say what the latency of a window was held against.
func againstWords(n *reduce.Normal) string {
	words := fmt.Sprintf("latency at load compared with the normal of: %s %s (%s)", label(n.Source), label(n.Group), plural(n.Windows, "window"))
	switch n.Source {
	case "nights":
		words = fmt.Sprintf("latency at load compared with such work of the device on %s (%s)", plural(n.Nights, "other night"), plural(n.Windows, "window"))
	case "peers":
		words = fmt.Sprintf("latency at load compared with such work of %s of the model %s on other nights", plural(n.Windows, "other device"), label(n.Group))
	}
	if !math.IsNaN(n.Expected) && n.Expected > 0 {
		words += fmt.Sprintf(": a request of this size is expected to take %s ms at one in flight", three(math.Pow(10, n.Expected)/1e6))
	}
	if n.Alone {
		words += "; no baseline yet: there is no other night and no peer, so a device that is slow all the time would look healthy"
	}
	return words
}

// nightWords are the values of an axis on other nights of the device.
func nightWords(q reduce.Quantiles) string {
	if q.Windows == 0 {
		return "no baseline yet"
	}
	return fmt.Sprintf("%s (%s to %s, %s)", three(q.Median), three(q.Low), three(q.High), plural(q.Nights, "night"))
}

type (
	// jsonAgainst is what the latency of a device's worst window (of its first,
	// if none is sick) was held against.
	jsonAgainst struct {
		Source     string `json:"source"` // nights, peers, device, group, rotational, prior
		Windows    int    `json:"windows"`
		Nights     int    `json:"nights"`
		Alone      bool   `json:"alone"` // there is no other night and no peer
		ExpectedMS number `json:"expected_ms"`
	}
	// jsonQuantiles are values of a feature over other nights of the device.
	jsonQuantiles struct {
		Low     number `json:"low"` // 10 %
		Median  number `json:"median"`
		High    number `json:"high"` // 90 %
		Windows int    `json:"windows"`
		Nights  int    `json:"nights"`
	}
)

func (f *facts) against(d *device) *jsonAgainst {
	if f.in.Points.Len() == 0 {
		return nil
	}
	at := d.windows[0]
	if worst := f.worstWindow(d); worst >= 0 {
		at = worst
	}
	n := &f.in.Points.At(at).Normal
	expected := math.NaN()
	if n.Expected > 0 { // of a window with requests
		expected = math.Pow(10, n.Expected) / 1e6
	}
	return &jsonAgainst{n.Source, n.Windows, n.Nights, n.Alone, number(expected)}
}

func quantilesOf(q reduce.Quantiles) jsonQuantiles {
	if q.Windows == 0 {
		none := number(math.NaN())
		return jsonQuantiles{none, none, none, 0, 0}
	}
	return jsonQuantiles{number(q.Low), number(q.Median), number(q.High), q.Windows, q.Nights}
}
