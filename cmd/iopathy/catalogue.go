package main

import (
	"fmt"
	"sort"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/configs"
)

// catalogue loads the catalogue and compiles its expressions.
func (a *app) catalogue() (cluster.Catalogue, *cluster.Rules, error) {
	c, err := configs.LoadCatalogue(a.config.Catalogue)
	if err != nil {
		return c, nil, failure{exitUsage, err}
	}
	rules, err := cluster.Compile(c)
	if err != nil {
		return c, nil, failure{exitUsage, err}
	}
	return c, rules, nil
}

func (a *app) catalogueCmd() *cobra.Command {
	return &cobra.Command{
		Use: "catalogue", Short: "Print the pathologies: symptom, signature, evidence, causes, advice", GroupID: "know", Args: cobra.NoArgs,
		Example: "  iopathy catalogue\n  iopathy catalogue --catalogue mine.yaml --output json",
		RunE: func(*cobra.Command, []string) error {
			c, _, err := a.catalogue()
			if err != nil {
				return err
			}
			if a.json() {
				return a.print(c)
			}
			for _, p := range c.Pathologies {
				fmt.Fprintf(a.stdout, "%d %s (%s)\n  %s\n", p.ID, p.Name, p.Slug, p.Symptom)
				names := make([]string, 0, len(p.Signature))
				for f := range p.Signature {
					names = append(names, f)
				}
				sort.Strings(names)
				fmt.Fprintln(a.stdout, "  signature:")
				for _, f := range names {
					fmt.Fprintf(a.stdout, "    %+.2f %s\n", p.Signature[f], f)
				}
				fmt.Fprintln(a.stdout, "  requires:")
				for _, r := range p.Requires {
					known := ""
					if r.Known {
						known = ", must be known"
					}
					fmt.Fprintf(a.stdout, "    %s [%s%s]\n", r.Says, r.When, known)
				}
				fmt.Fprintln(a.stdout, "  evidence:")
				for _, r := range p.Evidence {
					fmt.Fprintf(a.stdout, "    %s [%s, weight %+g]\n", r.Says, r.When, r.Weight)
				}
				fmt.Fprintln(a.stdout, "  causes:")
				for _, r := range p.Causes {
					fmt.Fprintf(a.stdout, "    %s: %s [%s]\n", r.ID, r.Name, r.When)
				}
				fmt.Fprintln(a.stdout, "  advice:")
				for i, s := range p.Advice {
					fmt.Fprintf(a.stdout, "    %d. %s\n", i+1, s)
				}
				fmt.Fprintln(a.stdout)
			}
			return nil
		},
	}
}
