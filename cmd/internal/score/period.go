package score

import (
	"cmp"
	"math"
	"slices"
)

// PeriodScore is how often the period of bursts was found, by device: the
// median over the windows of the fault that tell one.
type PeriodScore struct {
	Devices int            `json:"devices"` // whose period the truth tells
	Right   int            `json:"right"`   // within 10 %
	Untold  int            `json:"untold"`  // no window tells one
	Wrong   []PeriodMissed `json:"wrong"`
}

// PeriodMissed is a period that is off by more than 10 %.
type PeriodMissed struct {
	Host   string  `json:"host"`
	Device string  `json:"device"`
	TrueS  float64 `json:"true_s"`
	SaidS  float64 `json:"said_s"`
}

// periodWithin is how far a period may be off.
const periodWithin = 0.1

// Told is the period of a window; NaN if it tells none.
type Told struct {
	Key
	StartNS, EndNS int64
	PeriodS        float64
}

// Periods scores them; nil where the truth tells none.
func Periods(told []Told, truth []Device) *PeriodScore {
	of := map[Key][]float64{}
	devices := map[Key]*Device{}
	for i := range truth {
		if truth[i].Period > 0 {
			devices[truth[i].Key] = &truth[i]
		}
	}
	if len(devices) == 0 {
		return nil
	}
	for _, w := range told {
		if d := devices[w.Key]; d != nil && !math.IsNaN(w.PeriodS) {
			if label, counts := d.at(w.StartNS, w.EndNS); counts && label == burst {
				of[w.Key] = append(of[w.Key], w.PeriodS)
			}
		}
	}
	s := &PeriodScore{Devices: len(devices), Wrong: []PeriodMissed{}}
	for k, d := range devices {
		v := of[k]
		if len(v) == 0 {
			s.Untold++
			continue
		}
		slices.Sort(v)
		m := v[(len(v)-1)/2]
		if math.Abs(m-d.Period) <= periodWithin*d.Period {
			s.Right++
		} else {
			s.Wrong = append(s.Wrong, PeriodMissed{k.Host, k.Device, d.Period, m})
		}
	}
	slices.SortFunc(s.Wrong, func(a, b PeriodMissed) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device))
	})
	return s
}
