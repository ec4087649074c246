package reports

import (
	"maps"
	"math"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// The evidence cards in report.json.
type (
	jsonCard struct {
		Host       string         `json:"host"`
		Device     string         `json:"device"`
		FromNS     int64          `json:"window_start_ns"` // of the worst window, which all but actors is of
		ToNS       int64          `json:"window_end_ns"`
		Pathology  string         `json:"pathology"`
		Severity   number         `json:"severity"`
		Confidence number         `json:"confidence"`
		Margin     number         `json:"margin"` // to the next pathology
		Deciding   []jsonAxis     `json:"deciding_features"`
		Nearest    []jsonNear     `json:"nearest_classes"`
		Flips      []jsonFlip     `json:"flips"` // what would change the label of the window by itself
		Exemplars  []jsonExemplar `json:"exemplars"`
		Actors     []jsonActor    `json:"actors"` // who did it
		ActorsFrom int64          `json:"actors_from_ns"`
		ActorsTo   int64          `json:"actors_to_ns"`
		Requests   int64          `json:"requests_by_latency_total"` // of the picture of latency over time
		Part       bool           `json:"requests_are_part"`         // of the device's time, around the worst window
		Means      bool           `json:"requests_are_means"`        // no single ones are known
		Latencies  []jsonOctave   `json:"requests_by_latency"`
	}
	jsonAxis struct {
		Feature      string `json:"feature"`
		Value        number `json:"value"`
		Deviation    number `json:"deviation"` // in healthy scales
		Own          number `json:"own_healthy_median"`
		OwnWindows   int    `json:"own_healthy_windows"`
		Peers        number `json:"peers_healthy_median"`
		PeersWindows int    `json:"peers_healthy_windows"`

		OwnNights jsonQuantiles `json:"own_nights"`
	}
	jsonNear struct {
		Class     int    `json:"class_id"`
		Pathology string `json:"pathology"`
		Distance  number `json:"cosine_distance"`
	}
	jsonFlip struct {
		Feature string `json:"feature"`
		From    number `json:"from"`
		To      number `json:"to"`
		Becomes string `json:"becomes"`
	}
	jsonExemplar struct {
		FromNS   int64       `json:"from_ns"`
		ToNS     int64       `json:"to_ns"`
		Severity number      `json:"severity"`
		Ranges   []jsonRange `json:"ranges"`
		Slowest  []jsonSlow  `json:"slowest"`
	}
	jsonRange struct {
		Source   string `json:"source"`
		First    int64  `json:"first_byte"` // at which its first line begins, after decompression
		Last     int64  `json:"last_line_byte"`
		Requests int64  `json:"requests"`
	}
	jsonSlow struct {
		TimeNS    int64  `json:"time_ns"` // of completion
		LatencyNS int64  `json:"latency_ns"`
		Op        string `json:"op"`
		Comm      string `json:"comm"`
		Source    string `json:"source"`
		Offset    int64  `json:"source_offset"`
	}
	jsonActor struct {
		By       string `json:"by"` // comm, file, cgroup
		Name     string `json:"name"`
		Requests int64  `json:"requests"`
		Bytes    int64  `json:"bytes"`
		Flushes  int64  `json:"flushes"`
		DelayNS  number `json:"delay_to_others_ns"`
	}
	jsonOctave struct {
		FromNS   int64 `json:"from_ns"`
		ToNS     int64 `json:"to_ns"`
		Requests int64 `json:"requests"`
	}
)

// jsonCards are the cards in the order of the page.
func (f *facts) jsonCards() []jsonCard {
	out := []jsonCard{}
	for _, d := range f.devices {
		worst := f.worstWindow(d)
		if worst < 0 {
			continue
		}
		w, r := f.in.Windows.At(worst), f.in.Result.Diagnoses.At(worst)
		v := jsonCard{
			Host: d.Host, Device: d.Device, FromNS: w.StartNS, ToNS: w.EndNS, Pathology: r.Pathology,
			Severity: number(r.Severity), Confidence: number(r.Confidence), Margin: number(r.Margin),
			Deciding: []jsonAxis{}, Nearest: []jsonNear{}, Flips: []jsonFlip{}, Exemplars: []jsonExemplar{}, Actors: []jsonActor{}, Latencies: []jsonOctave{},
		}
		if c := f.card(d.Key); c != nil {
			v.of(c)
		}
		out = append(out, v)
	}
	return out
}

func (v *jsonCard) of(c *Card) {
	v.why(c.Why)
	for _, e := range c.Exemplars {
		x := jsonExemplar{e.StartNS, e.EndNS, number(e.Severity), []jsonRange{}, []jsonSlow{}}
		for _, r := range e.Ranges {
			x.Ranges = append(x.Ranges, jsonRange{r.Source, r.First, r.Last, r.Requests})
		}
		for i := range e.Slowest {
			s := &e.Slowest[i]
			x.Slowest = append(x.Slowest, jsonSlow{s.Event.TimeNS, s.Event.LatencyNS, s.Event.Op.String(), s.Comm, s.Source, s.Event.Position})
		}
		v.Exemplars = append(v.Exemplars, x)
	}
	v.ActorsFrom, v.ActorsTo = c.ActorFrom, c.ActorTo
	for _, by := range slices.Sorted(maps.Keys(c.Actors)) {
		for i := range c.Actors[by] {
			a := &c.Actors[by][i]
			p := &a.Phase[features.During]
			if p.Requests > 0 {
				v.Actors = append(v.Actors, jsonActor{by, a.Name, p.Requests, p.Bytes, p.Flushes, number(p.DelayNS)})
			}
		}
	}
	v.Part, v.Means = c.Part, c.Means
	if c.Grid == nil {
		return
	}
	v.Requests = c.Grid.Total
	for _, o := range octaves(c.Grid) {
		v.Latencies = append(v.Latencies, jsonOctave{o.low, o.high, o.requests})
	}
}

func (v *jsonCard) why(x *cluster.Explanation) {
	if x == nil {
		return
	}
	median := func(m cluster.Median) number {
		if m.Windows == 0 {
			return number(math.NaN())
		}
		return number(m.Value)
	}
	for _, a := range decidingAxes(x) {
		v.Deciding = append(v.Deciding, jsonAxis{a.Feature, number(a.Value), number(a.Z), median(a.Own), a.Own.Windows, median(a.Group), a.Group.Windows, quantilesOf(a.Nights)})
	}
	for _, c := range x.Classes[:min(2, len(x.Classes))] {
		v.Nearest = append(v.Nearest, jsonNear{c.ID, c.Pathology, number(c.Distance)})
	}
	for _, fl := range x.Flips[:min(3, len(x.Flips))] {
		v.Flips = append(v.Flips, jsonFlip{fl.Feature, number(fl.From), number(fl.To), fl.Becomes})
	}
}
