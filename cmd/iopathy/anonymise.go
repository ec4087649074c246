package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/ingest/lake"
)

func (a *app) pseudonymCmd() *cobra.Command {
	return &cobra.Command{
		Use: "pseudonym FIELD NAME...", Short: "Print the pseudonyms of names, by the key of --anonymise", GroupID: "know", Args: cobra.MinimumNArgs(2),
		Long:    "Print the pseudonyms of names, by the key of --anonymise: what a host or a device is called in a lake or a\nreport that was made with it. FIELD is one of " + strings.Join(local.PseudonymFields, ", ") + ".",
		Example: "  iopathy pseudonym host db1 db2 --anonymise /etc/iopathy/anonymise.key",
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(local.PseudonymFields, args[0]) {
				return usage("the field %q is none of %s", args[0], strings.Join(local.PseudonymFields, ", "))
			}
			p, err := local.NewPseudonyms(&a.config)
			if err != nil {
				return failure{exitUsage, err}
			}
			if p == nil {
				return usage("say which key: --anonymise FILE")
			}
			names := map[string]string{}
			for _, name := range args[1:] {
				names[name] = p.Of(args[0], name)
				if !a.json() {
					if _, err := fmt.Fprintf(a.stdout, "%s\t%s\n", name, names[name]); err != nil {
						return err
					}
				}
			}
			if a.json() {
				return a.print(names)
			}
			return nil
		},
	}
}

func (a *app) anonymiseCmd() *cobra.Command {
	return &cobra.Command{
		Use: "anonymise LAKE --anonymise FILE --lake DIR", Short: "Copy the rows of a lake into one whose names are pseudonyms", GroupID: "know", Args: cobra.ExactArgs(1),
		Long: `Copy the rows of a lake, all that logs gave, into another lake, in which names are pseudonyms by the key of
--anonymise: what an ingest of the same logs with that key would have made. features, fit, label and report then make
of the copy what they made of the lake; windows and labels of days whose rows are gone are not copied.`,
		Example: "  iopathy anonymise /var/lib/iopathy/lake --anonymise /etc/iopathy/anonymise.key --lake shared/lake\n  iopathy features --lake shared/lake",
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.config.Anonymise == "" {
				return usage("say which key: --anonymise FILE")
			}
			to, err := a.writeLake(false)
			if err != nil {
				return err
			}
			from, err := bucket.LocalPath(args[0])
			if err != nil {
				return failure{exitUsage, err}
			}
			var opener lake.Opener
			if bucket.IsURL(from) {
				c, _, err := a.openCopy(from, false)
				if err != nil {
					return err
				}
				if c.Empty() {
					return usage("lake %s: there is none", c.URL())
				}
				from, opener = c.Dir(), c.Open
			}
			if !exists(from) {
				return usage("lake %s: no such directory", from)
			}
			fresh := firstMissing(to)
			job := a.job(to)
			done, err := job.Anonymised(cmd.Context(), from, opener)
			if err != nil {
				removeFresh(fresh)
				return err
			}
			if err := a.publish(cmd.Context()); err != nil {
				return err
			}
			if a.json() {
				return a.print(done)
			}
			_, err = fmt.Fprintf(a.stdout, "copied %s of %s in %s into %s\n", cluster.Counted(done.Rows, "row"), cluster.Counted(done.Inputs, "input"), cluster.Counted(done.Parts, "part"), job.Named())
			return err
		},
	}
}
