package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/iopathy/iopathy/cmd/internal/local"
)

// runID names a run by its time, for people, and by chance: a clock that is set back tells
// a time twice, and in a container every process is number 1. A run of the name of
// another would take the place of what that one says of the lake.
func (a *app) runID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%s-%d-%x", a.now().UTC().Format("20060102T150405.000Z"), os.Getpid(), b)
}

// job makes the job of a verb on the lake that flags and config name.
func (a *app) job(lake string) *local.Job {
	job := &local.Job{
		Config: a.config, Lake: lake, Version: version().Version,
		RunID:    a.runID(),
		Progress: a.progress(), FiguresDir: a.figuresDir, Buckets: &a.buckets,
	}
	for _, c := range a.copies {
		if lake == c.Dir() {
			job.Away = c
		}
	}
	return job
}

// progress draws one line on a terminal; elsewhere it is nil.
func (a *app) progress() local.Progress {
	f, ok := a.stderr.(*os.File)
	if !ok || a.quiet || a.json() || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	var mu sync.Mutex
	var last time.Time
	var stage string
	return func(s string, done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if s == stage && done < total && time.Since(last) < 100*time.Millisecond {
			return
		}
		if s != stage && stage != "" {
			fmt.Fprint(f, "\r\033[K")
		}
		stage, last = s, time.Now()
		if total > 0 {
			fmt.Fprintf(f, "\r\033[K%-9s %3d %%", s, 100*done/total)
		}
		if done >= total {
			fmt.Fprint(f, "\r\033[K")
		}
	}
}
