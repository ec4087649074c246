//go:build !unix

package generate

import "time"

// processorTime is not known here.
func processorTime() time.Duration { return 0 }
