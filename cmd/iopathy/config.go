package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cmd/internal/alerts"
	"github.com/iopathy/iopathy/configs"
)

func (a *app) configCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show or check the settings", GroupID: "know"}
	cmd.AddCommand(&cobra.Command{
		Use: "show", Short: "Print every key with its value and where it came from", Args: cobra.NoArgs,
		Example: "  iopathy config show --config iopathy.yaml",
		RunE: func(*cobra.Command, []string) error {
			values := append(a.values, configs.Secrets()...)
			if a.json() {
				m := map[string]any{}
				for _, v := range values {
					m[v.Key] = map[string]any{"value": v.Shown(), "source": v.Source}
				}
				return a.print(m)
			}
			w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
			for _, v := range values {
				fmt.Fprintf(w, "%s\t%s\t%s\n", v.Key, v.Shown(), v.Source)
			}
			return w.Flush()
		},
	}, &cobra.Command{
		Use: "default", Short: "Print a settings file with every key, its default and what it is", Args: cobra.NoArgs,
		Example: "  iopathy config default >iopathy.yaml",
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(a.stdout, configs.DefaultFile())
			return err
		},
	}, &cobra.Command{
		Use: "validate FILE", Short: "Check a settings file: unknown keys, wrong values", Args: cobra.ExactArgs(1),
		Example: "  iopathy config validate iopathy.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			c, _, err := configs.Load(args[0], nil)
			if err != nil {
				return failure{exitUsage, err}
			}
			_, bad := configs.LoadCatalogue(c.Catalogue)
			_, badWords := alerts.Template(c.Alert.Text.Template)
			if err := errors.Join(bad, badWords); err != nil {
				return failure{exitUsage, err}
			}
			_, err = fmt.Fprintf(a.stdout, "%s: fine\n", args[0])
			return err
		},
	})
	return cmd
}
