package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/ingest/lake"
)

// vectors writes the 12 features alone, for who has another use of them. What lives
// meanwhile is small beside what is read: the collector of memory may wait.
func (a *app) vectors(ctx context.Context, args []string, to string) error {
	switch {
	case a.shard != "":
		return usage("--vectors takes no --shard")
	case len(args) > 0:
		return usage("accepts no arguments but with --shard")
	case to == "-" && a.json():
		return usage("--vectors - and --output json both write to standard output: give a file")
	}
	dir, err := a.needLake(true)
	if err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(200))
	}
	job := a.job(dir)
	if to == "-" {
		out := bufio.NewWriter(a.stdout)
		if _, err := job.Vectors(ctx, out); err != nil {
			return err
		}
		return out.Flush()
	}
	var windows int64
	err = lake.WriteAtomic(to, func(w io.Writer) (err error) {
		windows, err = job.Vectors(ctx, w)
		return err
	})
	if err != nil {
		return err
	}
	if a.json() {
		return a.print(map[string]any{"windows": windows})
	}
	_, err = fmt.Fprintln(a.stdout, cluster.Counted(windows, "window"))
	return err
}
