// Command iopathy mines I/O logs for I/O pathologies.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

// patience is how long a run that was interrupted may take to tidy up.
const patience = 5 * time.Second

// memoryTarget is where the garbage collector begins to work harder, so that
// the peak stays under the bound of 512 MiB that operations.md gives.
const memoryTarget = 400 << 20

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
		time.Sleep(patience)
		os.Exit(exitInterrupted) // something waits that can't be told, as for the writer of a pipe
	}()
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryTarget)
	}
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
