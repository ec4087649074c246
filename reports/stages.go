package reports

import "github.com/iopathy/iopathy/cluster/analysis"

// stagesView is how long a class's requests spend before and in the device.
type stagesView struct {
	Windows string
	Rows    []stageRow
}

type stageRow struct{ Name, Mean, SD string }

// jsonStage is one stage of a class. The deviation is of the windows' means.
type jsonStage struct {
	Name     string `json:"name"` // queue (Q2D) or device (D2C)
	Windows  int64  `json:"windows"`
	Requests int64  `json:"requests"`
	MeanS    number `json:"mean_s"`
	SD       number `json:"sd_of_windows_s"` // null of a single window
}

// stageNames are the stages that windows tell.
var stageNames = [2]string{"queue (Q2D)", "device (D2C)"}

// stagesOf lists what is known of a class; nothing where no source tells the
// queue from the device.
func stagesOf(s *analysis.Stages) *stagesView {
	if s == nil || s.Windows == 0 {
		return nil
	}
	v := &stagesView{Windows: plural(int(s.Windows), "window")}
	for i, ask := range [2]func() (mean, sd float64){s.Queue, s.Device} {
		mean, sd := ask()
		v.Rows = append(v.Rows, stageRow{stageNames[i], three(mean * 1e3), three(sd * 1e3)})
	}
	return v
}

func jsonStages(s *analysis.Stages) []jsonStage {
	all := []jsonStage{}
	if s == nil || s.Windows == 0 {
		return all
	}
	for i, ask := range [2]func() (mean, sd float64){s.Queue, s.Device} {
		mean, sd := ask()
		all = append(all, jsonStage{stageNames[i], s.Windows, s.Requests, number(mean), number(sd)})
	}
	return all
}
