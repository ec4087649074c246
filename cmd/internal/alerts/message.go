package alerts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/features"
)

// The kinds of messages. The number goes up when a field changes its meaning.
const (
	AlertSchema  = "iopathy/alert/1"
	ActionSchema = "iopathy/action/1"
)

// toldEpisodes bounds the episodes of a message: the worst.
const toldEpisodes = 50

// Message is what the webhook is sent of a date.
type Message struct {
	Schema      string    `json:"schema"`
	ID          string    `json:"id"`
	Date        string    `json:"date"` // UTC, of the data
	Text        string    `json:"text"` // the words of the template
	Devices     int       `json:"devices"`
	SickDevices int       `json:"sick_devices"`
	Worst       float64   `json:"worst_severity"`
	Episodes    []Episode `json:"episodes"` // the worst first, of at least alert.severity
	More        int       `json:"more"`     // such episodes that the list leaves out
}

// Episode is one of a message.
type Episode struct {
	Host       string  `json:"host"`
	Device     string  `json:"device"`
	Pathology  string  `json:"pathology"` // slug, or unrecognised
	Class      int     `json:"class_id"`
	From       string  `json:"from"` // RFC 3339, UTC
	To         string  `json:"to"`
	FromNS     int64   `json:"from_ns"`
	ToNS       int64   `json:"to_ns"`
	Severity   float64 `json:"severity"`
	Level      string  `json:"level"`
	Confidence float64 `json:"confidence"`
	Cause      string  `json:"cause"` // name; "" if none has votes
	CauseID    string  `json:"cause_id"`
	CauseShare float64 `json:"cause_share"`
	Advice     string  `json:"advice"`
}

// Action is what an actuator is sent of an episode.
type Action struct {
	Schema string `json:"schema"`
	ID     string `json:"id"`
	Date   string `json:"date"`
	Episode
	Ranges []Range `json:"ranges"` // of addresses, the most read first; empty where they are not known
}

// Range is addresses of a device and how hot they are, over the days whose
// rows the night has read.
type Range struct {
	FromBytes     int64   `json:"from_bytes"`
	ToBytes       int64   `json:"to_bytes"`
	Reads         int64   `json:"reads"`
	Bytes         int64   `json:"bytes"`
	Heat          float64 `json:"heat"` // share of the device's reads
	MeanLatencyNS int64   `json:"mean_latency_ns"`
}

// mostRanges bounds the ranges of an action.
const mostRanges = 16

// ranges are the hottest regions.
func ranges(all []features.RegionSums) []Range {
	out := []Range{}
	var reads int64
	for _, r := range all {
		reads += r.Reads
	}
	for _, r := range all {
		if r.Reads > 0 {
			out = append(out, Range{r.FromBytes, r.ToBytes, r.Reads, r.Bytes, float64(r.Reads) / float64(reads), r.LatencyNS / r.Reads})
		}
	}
	slices.SortStableFunc(out, func(a, b Range) int {
		return cmp.Or(cmp.Compare(b.Reads, a.Reads), cmp.Compare(a.FromBytes, b.FromBytes))
	})
	return out[:min(len(out), mostRanges)]
}

// episodeOf puts an episode into the words of a message.
func episodeOf(e *cluster.Episode, catalogue cluster.Catalogue) Episode {
	stamp := func(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }
	x := Episode{
		Host: strings.ToValidUTF8(e.Host, "\uFFFD"), Device: strings.ToValidUTF8(e.Device, "\uFFFD"), Pathology: e.Pathology, Class: e.ClassID,
		From: stamp(e.FromNS), To: stamp(e.ToNS), FromNS: e.FromNS, ToNS: e.ToNS,
		Severity: e.Severity, Level: e.Level, Confidence: e.Confidence,
	}
	if len(e.Causes) > 0 && e.Causes[0].Votes > 0 {
		x.Cause, x.CauseID, x.CauseShare = e.Causes[0].Name, e.Causes[0].ID, e.Causes[0].Share
	}
	for i := range catalogue.Pathologies {
		p := &catalogue.Pathologies[i]
		if p.Slug != e.Pathology {
			continue
		}
		if len(p.Advice) > 0 {
			x.Advice = p.Advice[0]
		}
		for _, c := range p.Causes {
			if c.ID == x.CauseID && c.Advice != "" {
				x.Advice = c.Advice
			}
		}
	}
	return x
}

// messageOf is what is told of a date; nil when no episode is severe enough.
// Its id follows from the episodes: the same night again has the same.
func messageOf(date string, d *local.Diagnosed, catalogue cluster.Catalogue, severity float64) (*Message, error) {
	o := local.Summarise(d)
	m := &Message{Schema: AlertSchema, Date: date, Devices: o.Devices, SickDevices: o.SickDevices, Worst: o.Worst}
	for i := range d.Result.Episodes {
		switch e := &d.Result.Episodes[i]; {
		case e.Severity < severity:
		case len(m.Episodes) == toldEpisodes:
			m.More++
		default:
			m.Episodes = append(m.Episodes, episodeOf(e, catalogue))
		}
	}
	if len(m.Episodes) == 0 {
		return nil, nil
	}
	var err error
	m.ID, err = identity(AlertSchema, date, m.Episodes, m.More)
	return m, err
}

// actionsOf are those of a date, the worst episode first.
func actionsOf(date string, d *local.Diagnosed, catalogue cluster.Catalogue, severity, confidence float64, regions map[features.Key][]features.RegionSums) ([]Action, error) {
	var all []Action
	for i := range d.Result.Episodes {
		e := &d.Result.Episodes[i]
		if e.Severity < severity || e.Confidence < confidence {
			continue
		}
		a := Action{Schema: ActionSchema, Date: date, Episode: episodeOf(e, catalogue), Ranges: ranges(regions[e.Key])}
		var err error
		if a.ID, err = identity(ActionSchema, date, a.Episode, a.Ranges); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// identity is 16 bytes of the SHA-256 of values as JSON, in hexadecimal.
func identity(values ...any) (string, error) {
	b, err := json.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("alerts: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16]), nil
}
