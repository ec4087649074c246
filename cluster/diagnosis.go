package cluster

import "github.com/iopathy/iopathy/features"

// Verdict is the first thing said of a window.
type Verdict string

// The verdicts. Only a Sick window has a pathology.
const (
	Healthy  Verdict = "healthy"
	Idle     Verdict = "idle"
	Artefact Verdict = "artefact"
	Sick     Verdict = "sick"
)

// Unrecognised is the pathology of a sick window that no catalogue entry fits.
const Unrecognised = "unrecognised"

// Diagnosis is what is said of one window.
type Diagnosis struct {
	features.Key
	StartNS, EndNS int64
	Verdict        Verdict
	Pathology      string  // slug, Unrecognised, or "" unless sick
	Nearest        string  // the nearest pathology, also when unrecognised
	ClassID        int     // the class that the linkage found; 0 none
	Severity       float64 // projection over the gate: below 1 healthy, capped at 10
	Confidence     float64 // calibrated share of right labels at this margin, 0..1
	Margin         float64 // score of the pathology less that of the next
	Scores         []float64
	RootCause      string // cause with the most votes, "" if all abstain
	RootCauseShare float64
	Causes         []Cause
	Evidence       []string  // the expressions that held, in words
	Readings       []Reading // of the evidence that decided
	Coverage       float64
	Model          string // "fitted" or "shipped"
}

// Cause is a root cause's share of the votes, with the interval of Wilson
// (1927) at 95 %.
type Cause struct {
	ID        string
	Name      string
	Votes     int
	Of        int // windows that voted
	Share     float64
	Low, High float64
}

// Episode is consecutive sick windows of one device and class.
type Episode struct {
	features.Key
	FromNS, ToNS int64
	Pathology    string
	ClassID      int
	Windows      int
	Severity     float64 // largest window's x min(2, sqrt(minutes/5)), capped at 10
	Level        string  // "", warn, bad, critical
	Confidence   float64
	Causes       []Cause
	Evidence     []string
	Readings     []Reading // of its windows', the largest of each query
	Outside      []Outside // what explains it by other than storage
	SickSeconds  float64
	DelayedBytes float64 // bytes completed in the sick windows
}

// Class is one cluster of the linkage.
type Class struct {
	ID         int
	Pathology  string // slug or Unrecognised
	Nearest    string
	Score      float64 // cosine of prototype and signature
	Members    int     // windows
	Devices    int
	Purity     float64         // share of members whose own label is the class's
	Prototype  features.Vector // mean direction in z
	Deciding   []int           // features by their share of the prototype, largest first
	Causes     []Cause
	Silhouette float64
}

// Merge is one step of the linkage, the dendrogram's top.
type Merge struct {
	A, B   int // clusters: below n a point, else n + the step that made it
	Height float64
	Size   float64 // weight of the new cluster
}

// Cut is what another number of classes would give.
type Cut struct {
	K          int
	Classes    int // that the data give; fewer than K where directions are few
	Silhouette float64
	Stability  float64 // mean adjusted Rand index with the classes of random parts
	Height     float64 // of the merge that would make one class fewer
}

// Result is everything that is said of a set of windows.
type Result struct {
	Model      string // "fitted" or "shipped", and why
	Why        string
	Diagnoses  features.Rows[Diagnosis] // one a window, in the order of the windows; none where they were given one by one
	Episodes   []Episode                // worst first
	Findings   []Finding                // of devices whose I/O nobody saw, or shows nothing of it
	Classes    []Class                  // by ID
	Top        []Merge                  // the last merges, largest first, at most 64
	Cuts       []Cut                    // k = 6..10, or 4..12 when k is left to the data
	Silhouette float64
	Warnings   []string
}
