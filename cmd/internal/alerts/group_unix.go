//go:build unix

package alerts

import (
	"os/exec"
	"syscall"
)

// endGroup makes a command that is out of time end with all that it started.
func endGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
