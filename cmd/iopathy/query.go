package main

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) queryCmd() *cobra.Command {
	show := false
	cmd := &cobra.Command{
		Use: `query "SQL" --lake DIR`, Short: "Ask the lake in SQL, by the duckdb command", GroupID: "know", Args: cobra.ExactArgs(1),
		Long: `query runs SQL over the lake with the duckdb command. The tables are events,
samples, evidence, ticks, windows and labels; see docs/OPERATIONS.md for what
they hold. Where there is no duckdb command it prints how duckdb, pandas, Polars,
Spark and ClickHouse would be asked, and ends with exit code 1. With --print it
prints the SQL, views and all, and runs nothing.`,
		Example: `  iopathy query "SELECT pathology, count(*) FROM labels GROUP BY ALL" --lake report/lake
  iopathy query "SELECT device, quantile_cont(latency_ns, 0.99) / 1e6 AS p99_ms FROM events GROUP BY ALL" --lake report/lake --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := a.needLake(true)
			if err != nil {
				return err
			}
			job := a.job(dir)
			views, empty, err := job.Views()
			if a.mirror != nil {
				views, empty, err = job.ViewsIn(a.place)
			}
			if err != nil {
				return err
			}
			if views == "" {
				return usage("the lake %s has no tables yet", job.Named())
			}
			query := strings.TrimRight(strings.TrimSpace(args[0]), ";") + ";\n"
			if show {
				_, err := fmt.Fprint(a.stdout, views, query)
				return err
			}
			if len(empty) > 0 {
				a.say("iopathy: the lake has no rows of %s", strings.Join(empty, ", "))
			}
			duck, err := exec.LookPath("duckdb")
			if err != nil || a.mirror != nil {
				why := "there is no duckdb command here: ask by one of these"
				lines, err := job.OneLiners(args[0])
				if err != nil {
					return err
				}
				if a.mirror != nil {
					why = "a lake in a bucket is not copied to be asked: ask it where it lies, by one of these"
					lines = job.OneLinersIn(a.place, args[0])
				}
				if a.json() {
					how := map[string]string{}
					for _, l := range lines {
						how[l[0]] = l[1]
					}
					if err := a.print(map[string]any{"engine": nil, "how": how}); err != nil {
						return err
					}
				}
				for _, l := range lines {
					if !a.json() {
						fmt.Fprintf(a.stdout, "# %s\n%s\n\n", l[0], l[1])
					}
				}
				return errors.New(why)
			}
			flags := []string{"-bail"}
			if a.json() {
				flags = append(flags, "-json")
			}
			duckdb := exec.CommandContext(cmd.Context(), duck, flags...)
			rows := &rowsObject{out: a.stdout}
			duckdb.Stdin, duckdb.Stdout, duckdb.Stderr = strings.NewReader(views+query), a.stdout, a.stderr
			if a.json() {
				duckdb.Stdout = rows
			}
			if err := duckdb.Run(); err != nil {
				return fmt.Errorf("duckdb: %w", err)
			}
			if a.json() {
				return rows.close()
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&show, "print", false, "print the SQL and run nothing")
	return cmd
}

// rowsObject makes one object, {"rows": [...]}, of the array that duckdb
// writes as it comes; duckdb writes nothing for a statement without rows.
type rowsObject struct {
	out  io.Writer
	some bool
}

func (r *rowsObject) Write(p []byte) (int, error) {
	if !r.some && len(p) > 0 {
		r.some = true
		if _, err := io.WriteString(r.out, `{"rows":`); err != nil {
			return 0, err
		}
	}
	return r.out.Write(p)
}

func (r *rowsObject) close() error {
	if !r.some {
		_, err := io.WriteString(r.out, `{"rows":[]}`+"\n")
		return err
	}
	_, err := io.WriteString(r.out, "}\n")
	return err
}
