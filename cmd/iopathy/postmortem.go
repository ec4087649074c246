package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/ingest/lake"
)

func (a *app) postmortemCmd() *cobra.Command {
	var from, to string
	var inc local.Incident
	cmd := &cobra.Command{
		Use: "postmortem --from T --to T --lake DIR --out DIR", Short: "The page of an incident: what happened, who did it, what to check next", GroupID: "job", Args: cobra.NoArgs,
		Long: `postmortem writes the page of an incident, postmortem.html and postmortem.json:
the timeline of its episodes, each sick device before, during and after, against
itself and its peers, who else was sick, who did it (by command, cgroup and file),
the times of each stage, the slowest requests with their lines, causes with the
evidence for and against them, and what to check next. --host and --device take
globs; without them the sick devices of the span are looked at, the worst first.

T is a time as people write it: 2026-11-29T02:13:00Z, "2026-11-29 02:13" (in
ingest.zone), "2026-11-29 02:13 Europe/Berlin", "yesterday 02:00", "2h ago", and,
from the data's own start and end, "+90s" and "end-10m".`,
		Example: "  iopathy postmortem --from \"yesterday 02:00\" --to \"yesterday 02:30\" --host h07 --lake lake/ --out incident/\n  iopathy postmortem --from +30s --to +60s --device loop4 --lake report/lake --out incident/",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" || to == "" {
				return usage("say when it was: --from T --to T")
			}
			if a.config.Out == "" {
				return usage("say where the page goes: --out DIR")
			}
			if cmd.Flags().Changed("host") {
				inc.Host = a.config.Ingest.Host // the flag of that name
			}
			for _, glob := range []string{inc.Host, inc.Device} {
				if _, err := path.Match(glob, ""); err != nil {
					return usage("%q is no pattern", glob)
				}
			}
			dir, err := a.needLake(true)
			if err != nil {
				return err
			}
			job := a.job(dir)
			if inc.FromNS, inc.ToNS, err = a.incidentSpan(job, from, to); err != nil {
				return err
			}
			if err := a.checkPageDir(a.config.Out); err != nil {
				return err
			}
			inv, err := local.Inventory(&a.config)
			if err != nil {
				return failure{exitUsage, err}
			}
			catalogue, rules, err := a.catalogue()
			if err != nil {
				return err
			}
			pm, err := job.Postmortem(cmd.Context(), inc, inv, catalogue, rules)
			if err != nil {
				return err
			}
			files, err := job.WritePostmortem(a.config.Out, pm)
			if err != nil {
				return err
			}
			if a.json() {
				return a.print(map[string]any{"episodes": len(pm.Episodes), "devices": len(pm.Devices), "elsewhere": len(pm.Elsewhere), "files": files})
			}
			for _, line := range local.IncidentWords(pm) {
				fmt.Fprintln(a.stdout, line)
			}
			for _, f := range files {
				fmt.Fprintln(a.stdout, "wrote", f)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "begin of the incident")
	cmd.Flags().StringVar(&to, "to", "", "end of the incident")
	cmd.Flags().BoolVar(&a.force, "force", false, "put the page into a directory that holds other things")
	cmd.Flags().StringVar(&inc.Device, "device", "", "devices to look at, a glob")
	return cmd
}

// incidentSpan reads the two times.
func (a *app) incidentSpan(job *local.Job, from, to string) (fromNS, toNS int64, err error) {
	zone, err := time.LoadLocation(a.config.Ingest.Zone)
	if err != nil {
		return 0, 0, usage("ingest.zone: %v", err)
	}
	first, last, err := job.DataSpan()
	if err != nil {
		return 0, 0, err
	}
	if w := int64(a.config.Window); w > 0 { // as explain counts: from the first window
		first -= first % w
	}
	times := local.Times{Now: a.now(), Zone: zone, FirstNS: first, LastNS: last}
	if fromNS, err = times.Moment(from); err == nil {
		toNS, err = times.Moment(to)
	}
	if err != nil {
		return 0, 0, failure{exitUsage, err}
	}
	if toNS <= fromNS {
		return 0, 0, usage("--to %s is not after --from %s", local.Stamp(toNS), local.Stamp(fromNS))
	}
	return fromNS, toNS, nil
}

// checkPageDir lets a page go into a directory that is absent, empty, has a
// page of our verbs, or has a report of ours.
func (a *app) checkPageDir(dir string) error {
	for _, name := range []string{"postmortem.json", "compare.json", "matrix.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return nil
		}
	}
	if err := local.CheckOut(dir, a.force); err != nil {
		return failure{exitUsage, err}
	}
	return nil
}

// writePages puts NAME.html and NAME.json into a directory.
func (a *app) writePages(dir, name string, page func(io.Writer) error, object any) error {
	files := []struct {
		name  string
		write func(io.Writer) error
	}{{name + ".html", page}, {name + ".json", func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", " ")
		return enc.Encode(object)
	}}}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if err := lake.WriteAtomic(path, f.write); err != nil {
			return err
		}
		a.say("wrote %s", path)
	}
	return nil
}
