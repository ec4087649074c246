package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cmd/internal/local"
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
