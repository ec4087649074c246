package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/ingest"
	_ "github.com/iopathy/iopathy/ingest/formats" // puts the formats on the shelf
)

func (a *app) formatsCmd() *cobra.Command {
	var check []string
	cmd := &cobra.Command{
		Use: "formats [--check FILE]", Short: "List the log formats, what each needs and what it can't tell", GroupID: "know", Args: cobra.NoArgs,
		Example: "  iopathy formats --output json\n  iopathy formats --check array.csv --config iopathy.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(check) > 0 {
				return a.checkFormats(cmd.Context(), check)
			}
			type row struct {
				Name    string `json:"name"`
				Doc     string `json:"doc"`
				Latency string `json:"latency_kind"`
				Clock   string `json:"clock"` // what stamps count from, unless the log tells more
				Needs   string `json:"needs"`
				Lacks   string `json:"lacks"`
			}
			var rows []row
			for _, f := range ingest.Formats() {
				rows = append(rows, row{f.Name, f.Doc, f.Kind.String(), f.Clock.String(), f.Needs, f.Lacks})
			}
			if a.json() {
				return a.print(map[string]any{"formats": rows})
			}
			for _, r := range rows {
				fmt.Fprintf(a.stdout, "%s\n  %s\n  latency: %s\n  clock:   %s\n", r.Name, r.Doc, r.Latency, r.Clock)
				if r.Needs != "" {
					fmt.Fprintf(a.stdout, "  needs:   %s\n", r.Needs)
				}
				if r.Lacks != "" {
					fmt.Fprintf(a.stdout, "  lacks:   %s\n", r.Lacks)
				}
				fmt.Fprintln(a.stdout)
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&check, "check", nil, "say what claims this file, and show what it gives; may be repeated")
	return cmd
}
