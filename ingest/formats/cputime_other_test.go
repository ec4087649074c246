//go:build !unix

package formats

import "time"

// processorTime is not known here.
func processorTime() time.Duration { return 0 }
