package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// SchemaVersion is that of report.json; it grows by one when a field changes
// its meaning or goes.
const SchemaVersion = 1

// number is a float as JSON: 6 significant digits, null when unknown.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	v := float64(n)
	if s := digits(v); s != "" {
		return []byte(s), nil
	}
	return []byte("null"), nil
}

// The document's parts. Times are ns since the epoch; shares are 0..1.
type (
	jsonReport struct {
		Schema   int             `json:"schema"`
		Tool     string          `json:"tool"`
		Version  string          `json:"version"`
		Verdict  string          `json:"verdict"` // in words
		Model    string          `json:"model"`   // fitted or shipped
		Why      string          `json:"model_why"`
		FromNS   int64           `json:"from_ns"`
		ToNS     int64           `json:"to_ns"`
		Totals   jsonTotals      `json:"totals"`
		Quality  jsonQuality     `json:"data_quality"`
		Classes  []jsonClass     `json:"classes"`
		Kinds    map[string]int  `json:"pathologies"` // sick windows by slug
		Episodes []jsonEpisode   `json:"episodes"`
		Findings []jsonFinding   `json:"findings"` // of devices whose I/O nobody recorded, or shows nothing of it
		Analyses []jsonAnalysis  `json:"analyses"` // of the worst devices
		Devices  []jsonDevice    `json:"devices"`
		Cards    []jsonCard      `json:"cards"` // of the sick devices, the worst first
		Cuts     []jsonCut       `json:"cuts"`
		Inputs   []jsonInput     `json:"inputs"`
		Scale    any             `json:"scale"`
		Seed     uint64          `json:"seed"`
		Warnings []string        `json:"warnings"`
		Problems []string        `json:"problems"`
		Changes  jsonChanges     `json:"changes"`        // since the last earlier night
		Sources  []DeviceSources `json:"device_sources"` // where a device has several recordings
	}
	jsonTotals struct { // of devices but for those of applications above others, which stand apart
		Devices      int    `json:"devices"`
		SickDevices  int    `json:"sick_devices"`
		Attention    int    `json:"devices_needing_attention"`
		Windows      int    `json:"windows"`
		Healthy      int    `json:"healthy"`
		Idle         int    `json:"idle"`
		Artefact     int    `json:"artefact"`
		Sick         int    `json:"sick"`
		Unclassed    int    `json:"sick_outside_classes"`
		Episodes     int    `json:"episodes"`
		LeftOut      int    `json:"episodes_left_out"` // by the budget
		SickSeconds  number `json:"sick_seconds"`
		DelayedBytes number `json:"delayed_bytes"`
		WorstEpisode number `json:"worst_episode_severity"`

		Applications applications `json:"applications"` // what they saw of disks that were recorded too
	}
	jsonQuality struct {
		Level       string `json:"level"` // good, fair, poor
		Coverage    number `json:"coverage"`
		LowCoverage int    `json:"windows_below_half_coverage"`
		Lines       int64  `json:"lines"`
		Rejects     int64  `json:"rejects"`
		Unpaired    int64  `json:"unpaired"`
	}
	jsonClass struct {
		ID         int         `json:"id"`
		Pathology  string      `json:"pathology"`
		Nearest    string      `json:"nearest"`
		Score      number      `json:"score"`
		Windows    int         `json:"windows"`
		Devices    int         `json:"devices"`
		Purity     number      `json:"purity"`
		Silhouette number      `json:"silhouette"`
		Deciding   []string    `json:"deciding_features"`
		Causes     []jsonCause `json:"causes"`
		Stages     []jsonStage `json:"stages"` // none where no source tells them
	}
	jsonCause struct {
		ID    string `json:"id"`
		Name  string `json:"name"`
		Votes int    `json:"votes"`
		Of    int    `json:"of"`
		Share number `json:"share"`
		Low   number `json:"low"`
		High  number `json:"high"`
	}
	jsonEpisode struct {
		Host         string        `json:"host"`
		Device       string        `json:"device"`
		FromNS       int64         `json:"from_ns"`
		ToNS         int64         `json:"to_ns"`
		Pathology    string        `json:"pathology"`
		ClassID      int           `json:"class_id"`
		Windows      int           `json:"windows"`
		Severity     number        `json:"severity"`
		Level        string        `json:"level"`
		Confidence   number        `json:"confidence"`
		SickSeconds  number        `json:"sick_seconds"`
		DelayedBytes number        `json:"delayed_bytes"`
		Causes       []jsonCause   `json:"causes"`
		Tells        []string      `json:"tells"` // the facts that tell how bad it is, in words
		Evidence     []string      `json:"evidence"`
		Readings     []jsonReading `json:"readings"`    // of the logs beside the I/O
		Outside      []jsonOutside `json:"not_storage"` // what explains it by CPUs, memory or GPUs
		Culprits     []jsonCulprit `json:"culprits"`    // who took how much of the device before, during and after it; of a device's most severe episodes
	}
	jsonReading struct {
		Query  string `json:"query"`
		Value  number `json:"value"`
		TimeNS int64  `json:"time_ns"`
		Text   string `json:"text"`
	}
	jsonDevice struct {
		Host     string `json:"host"`
		Device   string `json:"device"`
		Windows  int    `json:"windows"`
		Healthy  int    `json:"healthy"`
		Idle     int    `json:"idle"`
		Artefact int    `json:"artefact"`
		Sick     int    `json:"sick"`
		Worst    number `json:"worst_severity"`

		Application bool         `json:"application"` // of applications: not in the totals
		Stages      []jsonStage  `json:"stages"`      // of its sick windows
		Normal      *jsonAgainst `json:"normal"`
	}
	jsonCut struct {
		K          int    `json:"k"`
		Classes    int    `json:"classes"` // that the data give
		Silhouette number `json:"silhouette"`
		Stability  number `json:"stability"`
		Height     number `json:"height"`
	}
	jsonInput struct {
		Name     string           `json:"name"`
		Format   string           `json:"format"`
		Clock    string           `json:"clock"`
		SHA256   string           `json:"sha256"`
		Lines    int64            `json:"lines"`
		Events   int64            `json:"events"`
		Samples  int64            `json:"samples"`
		Ticks    int64            `json:"ticks"`
		Evidence int64            `json:"evidence"`
		InRows   int64            `json:"event_lines"`
		Merged   int64            `json:"merged_lines"`
		Notes    int64            `json:"notes"`
		Repeats  int64            `json:"duplicate_lines"`
		Rejects  map[string]int64 `json:"rejects"`
		Unpaired map[string]int64 `json:"unpaired"`
	}
)

// JSON writes report.json: what the page says, for programs.
func JSON(w io.Writer, in *Input) error {
	f, err := gather(in)
	if err != nil {
		return err
	}
	doc := jsonReport{
		Schema: SchemaVersion, Tool: "iopathy", Version: in.Version,
		Verdict: f.headline(), Model: in.Result.Model, Why: in.Result.Why,
		FromNS: f.first, ToNS: f.last,
		Totals: jsonTotals{
			Devices: f.disks(), SickDevices: f.sickDevices, Attention: f.attention,
			Windows: f.windows(), Healthy: f.verdicts[cluster.Healthy], Idle: f.verdicts[cluster.Idle],
			Artefact: f.verdicts[cluster.Artefact], Sick: f.verdicts[cluster.Sick], Unclassed: f.byClass[0] - f.appsOutside,
			Episodes: len(in.Result.Episodes), LeftOut: f.leftOut, SickSeconds: number(f.sickSeconds), DelayedBytes: number(f.delayedBytes), Applications: f.apps,
		},
		Quality: jsonQuality{f.quality.level, number(f.quality.coverage), f.quality.low, f.quality.lines, f.quality.rejects, f.quality.unpaired},
		Kinds:   f.byPathology, Findings: jsonFindings(in.Result.Findings), Analyses: jsonAnalyses(in.Analyses),
		Classes: []jsonClass{}, Episodes: []jsonEpisode{}, Devices: []jsonDevice{}, Cuts: []jsonCut{}, Inputs: []jsonInput{},
		Scale: f.scale, Seed: in.Seed, Warnings: list(in.Result.Warnings), Problems: list(in.Ingest.Problems),
		Sources: in.Ingest.Devices, Changes: jsonChangesOf(in.Changes), Cards: f.jsonCards(),
	}
	if doc.Sources == nil {
		doc.Sources = []DeviceSources{}
	}
	for _, e := range in.Result.Episodes {
		doc.Totals.WorstEpisode = max(doc.Totals.WorstEpisode, number(e.Severity))
	}
	for _, e := range f.listed {
		doc.Episodes = append(doc.Episodes, jsonEpisode{
			e.Host, e.Device, e.FromNS, e.ToNS, e.Pathology, e.ClassID, e.Windows, number(e.Severity), e.Level,
			number(e.Confidence), number(e.SickSeconds), number(e.DelayedBytes), jsonCauses(e.Causes), list(f.tells(f.index[e.Key], &e)), list(e.Evidence), jsonReadings(e.Readings),
			jsonOutsides(e.Outside), f.jsonCulpritsOf(&e),
		})
	}
	for _, c := range in.Result.Classes {
		doc.Classes = append(doc.Classes, jsonClass{
			c.ID, c.Pathology, c.Nearest, number(c.Score), f.byClass[c.ID], len(f.classDevices[c.ID]),
			number(c.Purity), number(c.Silhouette), deciding(c.Deciding), jsonCauses(c.Causes), jsonStages(f.stages[c.ID]),
		})
	}
	for _, d := range f.devices {
		doc.Devices = append(doc.Devices, jsonDevice{
			d.Host, d.Device, len(d.windows), d.verdicts[cluster.Healthy], d.verdicts[cluster.Idle],
			d.verdicts[cluster.Artefact], d.verdicts[cluster.Sick], number(d.worst), d.above, jsonStages(f.ladderOf(d, cluster.Sick)),
			f.against(d),
		})
	}
	for _, c := range in.Result.Cuts {
		doc.Cuts = append(doc.Cuts, jsonCut{c.K, c.Classes, number(c.Silhouette), number(c.Stability), number(c.Height)})
	}
	for _, s := range in.Ingest.Sources {
		doc.Inputs = append(doc.Inputs, jsonInput{
			s.Name, s.Format, s.Clock, s.SHA256, s.Lines, s.Events, s.Samples, s.Ticks, s.Evidence,
			s.EventLines, s.Merged, s.Notes, s.Repeats, counts(s.Rejects), counts(s.Unpaired),
		})
	}
	out := json.NewEncoder(w)
	out.SetIndent("", " ")
	if err := out.Encode(doc); err != nil {
		return fmt.Errorf("report: writing JSON: %w", err)
	}
	return nil
}

func jsonCauses(causes []cluster.Cause) []jsonCause {
	out := make([]jsonCause, 0, len(causes))
	for _, c := range causes {
		out = append(out, jsonCause{c.ID, c.Name, c.Votes, c.Of, number(c.Share), number(c.Low), number(c.High)})
	}
	return out
}

func jsonReadings(readings []cluster.Reading) []jsonReading {
	out := make([]jsonReading, 0, len(readings))
	for _, r := range readings {
		out = append(out, jsonReading{r.Query, number(r.Value), r.TimeNS, r.Text})
	}
	return out
}

// deciding names features by index.
func deciding(index []int) []string {
	out := make([]string, 0, len(index))
	for _, i := range index {
		out = append(out, featureName(i))
	}
	return out
}

func featureName(i int) string {
	if i < 0 || i >= features.N {
		return "feature " + strconv.Itoa(i)
	}
	return features.Features[i].Name
}

// list is never null in JSON.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func counts(m map[string]int64) map[string]int64 {
	if m == nil {
		return map[string]int64{}
	}
	return m
}
