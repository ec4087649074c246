package score

import "fmt"

// Figures is the part of Measures that two ways to label are compared by.
type Figures struct {
	MacroF1    float64      `json:"macroF1"`
	DetectF1   float64      `json:"detectF1"`
	FalseAlarm float64      `json:"falseAlarm"`
	DeviceAcc  float64      `json:"deviceAcc"`
	Classes    []ClassScore `json:"classes"`
}

// Figures gives it.
func (m *Measures) Figures() Figures {
	return Figures{m.MacroF1, m.DetectF1, m.FalseAlarm, m.DeviceAcc, m.Classes}
}

// WorseThan says in words which figures are worse than those before, by more
// than rounding shows.
func (f Figures) WorseThan(before Figures) []string {
	worse := []string{}
	add := func(what string, now, was float64, high bool) {
		if d := now - was; high && d < -5e-4 || !high && d > 5e-4 {
			worse = append(worse, fmt.Sprintf("%s %.3f, before %.3f", what, now, was))
		}
	}
	add("macroF1", f.MacroF1, before.MacroF1, true)
	add("falseAlarm", f.FalseAlarm, before.FalseAlarm, false)
	add("deviceAcc", f.DeviceAcc, before.DeviceAcc, true)
	for _, c := range f.Classes {
		for _, b := range before.Classes {
			if b.Label == c.Label {
				add("F1 of "+c.Label, c.F1, b.F1, true)
			}
		}
	}
	return worse
}
