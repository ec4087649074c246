package cluster

// Catalogue is the list of pathologies. configs embeds and checks the YAML
// and hands it over.
type Catalogue struct {
	Pathologies []Pathology `yaml:"pathologies" json:"pathologies"`
	Notes       []Note      `yaml:"notes" json:"notes"`
	Outside     []Elsewhere `yaml:"outside" json:"outside"`
}

// Pathology is one entry: ids are fixed, slugs are what labels.csv says.
type Pathology struct {
	ID        int                `yaml:"id" json:"id"`
	Slug      string             `yaml:"slug" json:"slug"`
	Name      string             `yaml:"name" json:"name"`
	Symptom   string             `yaml:"symptom" json:"symptom"`
	Colour    string             `yaml:"colour" json:"colour"`       // #RRGGBB
	Signature map[string]float64 `yaml:"signature" json:"signature"` // feature name to expected z direction
	Gate      float64            `yaml:"gate" json:"gate,omitempty"` // projection, in healthy scales, beyond which a window is sick; 0 is that of the model
	WarmUpS   float64            `yaml:"warm_up_s" json:"warm_up_s"` // how long the symptom needs to show; windows of the same load before it belong to it
	Tells     []Tell             `yaml:"tells" json:"tells"`         // what says how bad it is, the deciding facts first
	Requires  []Requirement      `yaml:"requires" json:"requires"`   // without any of them a window can't have it
	Evidence  []Rule             `yaml:"evidence" json:"evidence"`
	Causes    []RootCause        `yaml:"causes" json:"causes"`
	Advice    []string           `yaml:"advice" json:"advice"` // ranked, testable
}

// Tell is a fact that tells how bad a pathology is: the number for the verdict.
type Tell struct {
	Fact string  `yaml:"fact" json:"fact"` // of features.ContextTable, or LatencyOverNormal
	From float64 `yaml:"from" json:"from"` // below it the fact is not worth telling
	Says string  `yaml:"says" json:"says"` // in words, {} is the value
}

// LatencyOverNormal is the mean latency over what is normal at that load
// (feature latency_load_residual without its logarithm), as a fact to tell.
const LatencyOverNormal = "latency_over_normal"

// Rule is an expression over features, context and evidence that confirms
// (Weight > 0) or vetoes (Weight < 0) its pathology for a window.
type Rule struct {
	When   string  `yaml:"when" json:"when"` // expr-lang/expr, boolean
	Says   string  `yaml:"says" json:"says"` // in words, for the report
	Weight float64 `yaml:"weight" json:"weight"`
	At     string  `yaml:"-" json:"-"` // file:line, for errors
}

// Requirement is a condition without which a pathology is impossible: no
// stall without a gap, no storm on an idle device. A window for which it is
// false can't have the pathology, whatever its class and direction; one whose
// facts are missing may, unless they must be Known.
type Requirement struct {
	When  string `yaml:"when" json:"when"`             // expr-lang/expr, boolean
	Says  string `yaml:"says" json:"says"`             // in words
	Known bool   `yaml:"known" json:"known,omitempty"` // without its facts it looks like another, so that its name would be a guess
	At    string `yaml:"-" json:"-"`                   // file:line, for errors
}

// RootCause is a cause to tell apart within a pathology. A window votes for
// the cause whose expression holds; a cause whose facts are missing abstains.
type RootCause struct {
	ID     string `yaml:"id" json:"id"`
	Name   string `yaml:"name" json:"name"`
	When   string `yaml:"when" json:"when"`
	Advice string `yaml:"advice" json:"advice"`
	At     string `yaml:"-" json:"-"` // file:line, for errors
}
