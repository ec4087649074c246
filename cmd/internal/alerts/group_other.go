//go:build !unix

package alerts

import "os/exec"

// endGroup leaves it at the command itself: there are no groups to end.
func endGroup(*exec.Cmd) {}
