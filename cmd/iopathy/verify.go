package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/ingest/lake"
)

func (a *app) verifyCmd() *cobra.Command {
	return &cobra.Command{
		Use: "verify LAKE", Short: "Hold a lake's files against their checksums", GroupID: "know", Args: cobra.MaximumNArgs(1),
		Long: `verify reads every Parquet file that the lake's manifests name and compares
it, 1 MiB block by block, with the SHA-256 that was taken when it was written. It
names each damaged block with the devices and times of its rows, each file that is
missing, and each that no manifest names. Exit code 1: something is wrong.`,
		Example: "  iopathy verify report/lake\n  iopathy verify --lake lake/ --output json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				a.config.Lake = args[0]
			}
			dir, err := a.needLake(true)
			if err != nil {
				return err
			}
			job := a.job(dir)
			v, err := job.Verify(cmd.Context())
			if err != nil {
				return err
			}
			if a.json() {
				if err := a.print(v); err != nil {
					return err
				}
			} else {
				a.tellWrong(v.Wrong)
				fmt.Fprintf(a.stdout, "%s, %s, %s: %d wrong\n", cluster.Counted(v.Parts, "part"), cluster.Counted(v.Blocks, "block"), cluster.Counted(v.Bytes, "byte"), len(v.Wrong))
			}
			if v.Unfinished > 0 {
				a.say("iopathy: %s of a run that is still at work, or was killed; in that case the next ingest removes them", cluster.Counted(v.Unfinished, "file"))
			}
			return wrongCode(v.Wrong, "mend damage with: iopathy ingest --repair SOURCE... --lake "+job.Named())
		},
	}
}

// tellWrong prints a line for each fault.
func (a *app) tellWrong(wrong []local.Wrong) {
	for _, w := range wrong {
		line := plain(w.String())
		if w.Kind != lake.Extra {
			line += "; rows of"
			if w.Host != "" {
				line += " host " + local.Printable(w.Host) + ","
			}
			line += " devices " + devices(w.Devices)
			if w.FirstNS != 0 || w.LastNS != 0 {
				line += fmt.Sprintf(", %s to %s", local.Stamp(w.FirstNS), local.Stamp(w.LastNS))
			}
		}
		if w.Source != "" {
			line += "; made of " + plain(w.Source)
		}
		fmt.Fprintln(a.stdout, line)
	}
}

// devices lists some names.
func devices(names []string) string {
	const most = 8
	if len(names) == 0 {
		return "unknown"
	}
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	shown := make([]string, len(names))
	for i, n := range names {
		shown[i] = local.Printable(n)
	}
	return strings.Join(shown, " ") + more
}

// plain keeps a path whole, and control characters in it off the terminal.
func plain(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}

// wrongCode is the outcome of a look at a lake.
func wrongCode(wrong []local.Wrong, hint string) error {
	damaged, extra := 0, 0
	for _, w := range wrong {
		if w.Kind == lake.Extra {
			extra++
		} else {
			damaged++
		}
	}
	switch {
	case damaged > 0:
		return failure{exitFailed, fmt.Errorf("%s in what the manifests name, %s; %s", cluster.Counted(damaged, "fault"), cluster.Counted(extra, "extra file"), hint)}
	case extra > 0:
		return failure{exitFailed, fmt.Errorf("%s that no manifest names and nothing reads, nobody's to remove but yours", cluster.Counted(extra, "file"))}
	}
	return nil
}

// repair is `iopathy ingest --repair`.
func (a *app) repair(ctx context.Context, sources []string) error {
	dir, err := a.writeLake(true)
	if err != nil {
		return err
	}
	in, rep, err := a.job(dir).Repair(ctx, sources, a.stdin)
	if err != nil {
		if local.IsSourceError(err) {
			return failure{exitUsage, err}
		}
		return err
	}
	if err := a.publish(ctx); err != nil {
		return err
	}
	for _, p := range rep.Changed {
		a.say("iopathy: %s: its input gives other bytes now; the manifest tells of these", plain(p))
	}
	if a.json() {
		err = a.print(struct {
			local.Account
			*local.Repaired
		}{in.Account, rep})
		if err != nil {
			return err
		}
	} else {
		for _, p := range rep.Parts {
			fmt.Fprintf(a.stdout, "wrote %s anew\n", plain(p))
		}
		a.tellWrong(rep.Wrong)
		fmt.Fprintf(a.stdout, "%s written anew, %d wrong\n", cluster.Counted(len(rep.Parts), "part"), len(rep.Wrong))
	}
	for _, w := range rep.Wrong {
		if w.Kind != lake.Extra && w.Source == "" {
			return failure{exitFailed, errors.New("what was made by features, label or run is made anew by them: run these again")}
		}
	}
	return wrongCode(rep.Wrong, "give the sources that they were made of")
}
