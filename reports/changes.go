package reports

import (
	"fmt"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// Changes is what is other than on the last earlier night of the lake.
type Changes struct {
	Since   string // date of that night
	Devices []DeviceChange
	Classes []ClassChange
	Refit   bool    // the model was fitted on data that came after that night
	Why     string  // it was, in words; "" where that is not known
	ModelNS int64   // end of the data that it was fitted on; 0 for a shipped one
	Shift   float64 // of the median healthy window since the model was fitted, in robust standard deviations
	Feature string  // in which it is the largest
	Far     float64 // share of sick windows that no pathology explains, less that at the fit
}

// What can become of a device from night to night.
const (
	NewlySick = "newly sick"
	Recovered = "recovered"
	StillSick = "still sick"
	Unseen    = "not seen" // it was sick, and there are no windows of it now
)

// DeviceChange is a device that was sick on either night. Shares are of its
// judged time.
type DeviceChange struct {
	features.Key
	What               string
	Trend              string // of one that is still sick: worse, better or the same
	Since              string // the date since which it was sick on every night that there are labels of it
	Pathology          string // with most time now, or, if it is sick no more, before
	ShareNow, Share    float64
	WorstNow, WorstWas float64 // severities of windows
}

// ClassChange is an entry of the registry's log, with the class's name.
type ClassChange struct {
	cluster.RegistryEvent
	Pathology string
}

type changeView struct{ Word, Text string }

// mostChanged bounds the devices that a line of the first screen names.
const mostChanged = 6

// changes puts what changed into lines: the word, then the devices.
func (f *facts) changes() []changeView {
	c := f.in.Changes
	if c == nil {
		return nil
	}
	lines := []changeView{}
	for _, what := range []string{NewlySick, StillSick, Recovered, Unseen} {
		var names []string
		n := 0
		for i := range c.Devices {
			d := &c.Devices[i]
			if d.What != what {
				continue
			}
			if n++; n > mostChanged {
				continue
			}
			text := deviceLabel(d.Key) + ": " + f.pathologyName(d.Pathology)
			if what == StillSick {
				text += fmt.Sprintf(" since %s, %s (%s of its time, was %s)", d.Since, d.Trend, percent(d.ShareNow), percent(d.Share))
			}
			names = append(names, text)
		}
		if n > mostChanged {
			names = append(names, fmt.Sprintf("and %d more", n-mostChanged))
		}
		if n > 0 {
			lines = append(lines, changeView{fmt.Sprintf("%s %s since %s.", plural(n, "device"), what, c.Since), strings.Join(names, "; ")})
		}
	}
	if len(lines) == 0 {
		lines = append(lines, changeView{"No device changed.", "None is sick, and none was on " + c.Since})
	}
	var words []string
	for i, e := range c.Classes {
		if i == mostChanged {
			words = append(words, fmt.Sprintf("and %d more", len(c.Classes)-i))
			break
		}
		text := fmt.Sprintf("%s of class %d (%s)", e.Event, e.ID, f.pathologyName(e.Pathology))
		if e.Other > 0 {
			text += fmt.Sprintf(" with class %d", e.Other)
		}
		words = append(words, text)
	}
	model := "The model is the one of that night."
	if c.Refit {
		model = "The model was fitted anew."
		if c.Why != "" {
			model = "The model was fitted anew: " + c.Why + "."
		}
	}
	if c.Shift > 0 {
		model += fmt.Sprintf(" Since its fit the median healthy window has moved by %.2f robust standard deviations at most (%s).", c.Shift, c.Feature)
	}
	if len(words) > 0 {
		model += " Classes: " + strings.Join(words, "; ")
	}
	return append(lines, changeView{"Model and classes.", model})
}

type jsonChanges struct {
	Since   string             `json:"since"` // date of the night that this is held against; empty where there is none
	Refit   bool               `json:"refit"`
	Why     string             `json:"refit_why"`    // in words; empty where it was not, or that is not known
	ModelNS int64              `json:"model_end_ns"` // end of the data that the model was fitted on
	Drift   jsonDrift          `json:"drift"`
	Devices []jsonDeviceChange `json:"devices"`
	Classes []jsonClassChange  `json:"classes"`
}

type jsonDrift struct {
	Shift   number `json:"shift"`   // of the median healthy window since the fit, in robust standard deviations
	Feature string `json:"feature"` // in which it is the largest
	Far     number `json:"far"`     // share of sick windows that no pathology explains, less that at the fit
}

type jsonDeviceChange struct {
	Host      string `json:"host"`
	Device    string `json:"device"`
	What      string `json:"what"`
	Trend     string `json:"trend"`
	Since     string `json:"since"`
	Pathology string `json:"pathology"`
	ShareNow  number `json:"sick_share"`
	Share     number `json:"sick_share_before"`
	WorstNow  number `json:"worst_severity"`
	WorstWas  number `json:"worst_severity_before"`
}

type jsonClassChange struct {
	Event     string `json:"event"`
	ID        int    `json:"class_id"`
	Other     int    `json:"other_class_id"`
	Pathology string `json:"pathology"`
	Cosine    number `json:"cosine"`
	EndNS     int64  `json:"end_ns"`
}

func jsonChangesOf(c *Changes) jsonChanges {
	if c == nil {
		c = &Changes{}
	}
	out := jsonChanges{Since: c.Since, Refit: c.Refit, Why: c.Why, Drift: jsonDrift{number(c.Shift), c.Feature, number(c.Far)}, ModelNS: c.ModelNS, Devices: []jsonDeviceChange{}, Classes: []jsonClassChange{}}
	for _, d := range c.Devices {
		out.Devices = append(out.Devices, jsonDeviceChange{d.Host, d.Device, d.What, d.Trend, d.Since, d.Pathology, number(d.ShareNow), number(d.Share), number(d.WorstNow), number(d.WorstWas)})
	}
	for _, e := range c.Classes {
		out.Classes = append(out.Classes, jsonClassChange{e.Event, e.ID, e.Other, e.Pathology, number(e.Cosine), e.EndNS})
	}
	return out
}
