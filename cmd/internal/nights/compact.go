package nights

import "context"

// Compacted is what a night merged.
type Compacted struct {
	Parts int `json:"parts"` // that were merged
	Into  int `json:"into"`  // so many
}

func (n *Job) compact(context.Context, *Result) error { return nil }
