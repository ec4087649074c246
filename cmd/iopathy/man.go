package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCmd is for who packs releases: the pages are made of the words of --help.
func (a *app) manCmd() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages", Hidden: true, Args: cobra.ExactArgs(1),
		Long:    "man writes iopathy.1 and a page for each verb into DIR, of the time SOURCE_DATE_EPOCH where that is set.",
		Example: "  iopathy man share/man/man1",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return fmt.Errorf("man: %w", err)
			}
			header := &doc.GenManHeader{Title: "IOPATHY", Section: "1", Source: "iopathy " + version().Version, Manual: "iopathy"}
			if err := doc.GenManTree(cmd.Root(), header, args[0]); err != nil {
				return fmt.Errorf("man: %w", err)
			}
			return nil
		},
	}
}
