// Command iopathy mines I/O logs for I/O pathologies.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"
)

// patience is how long a run that was interrupted may take to tidy up.
const patience = 5 * time.Second

// waits is the key of that time in a context.
type waits struct{}

// extend gives a run that was interrupted more time.
func extend(ctx context.Context, to time.Duration) {
	if wait, ok := ctx.Value(waits{}).(*atomic.Int64); ok {
		wait.Store(int64(to))
	}
}

// memoryTarget is where the garbage collector begins to work harder, so that
// the peak stays under the bound of 512 MiB that OPERATIONS.md gives.
const memoryTarget = 400 << 20

func main() {
	wait := new(atomic.Int64)
	wait.Store(int64(patience))
	ctx, stop := signal.NotifyContext(context.WithValue(context.Background(), waits{}, wait), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
		for began := time.Now(); time.Since(began) < time.Duration(wait.Load()); {
			time.Sleep(patience / 10)
		}
		os.Exit(exitInterrupted) // something waits that can't be told, as for the writer of a pipe
	}()
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryTarget)
	}
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
