package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version tells version, commit and Go version, from what the build knows.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

func version() Version {
	v := Version{Version: "devel", Commit: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Go = info.GoVersion
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}

func (a *app) versionCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Print version, commit and Go version", GroupID: "know", Args: cobra.NoArgs,
		Example: "  iopathy version --output json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := version()
			if out, _ := cmd.Flags().GetString("output"); out == "json" {
				return a.print(v)
			}
			_, err := fmt.Fprintf(a.stdout, "iopathy %s (%s, %s)\n", v.Version, v.Commit, v.Go)
			return err
		},
	}
	return cmd
}
