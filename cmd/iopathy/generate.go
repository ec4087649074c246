package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/generate"
)

func (a *app) generateCmd() *cobra.Command {
	o := generate.DefaultOptions()
	cmd := &cobra.Command{
		Use: "generate --out DIR", Short: "Make logs of any size with planted pathologies and their truth", GroupID: "know", Args: cobra.NoArgs,
		Long: `generate lets workloads meet devices in queues and writes what happened as a
tool would have: DIR/runs holds the logs, DIR/inventory.csv the devices,
DIR/labels.csv what was planted, when and how. Devices are disks, SATA SSDs, NVMe
SSDs and network volumes, no two alike. A share of them gets one of the eight
pathologies for a span of time, in one of several ways; the others work within
what they can do, some of them much like sick ones.

--format is one of those of iopathy formats that carry single I/Os: ` + strings.Join(generate.Names(), ", ") + `.
The same flags give the same bytes, whatever --workers.`,
		Example: `  iopathy generate --devices 40 --hours 1 --seed 1 --out made
  iopathy run made/runs --inventory made/inventory.csv --out report
  iopathy evaluate report/labels.csv made/labels.csv
  iopathy generate --devices 200 --hours 24 --format blkparse --rate 20 --gzip --out made`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.config.Out == "" {
				return usage("say where the logs go: --out DIR")
			}
			if entries, err := os.ReadDir(a.config.Out); err == nil && len(entries) > 0 {
				return usage("generate: %s isn't empty: say a new directory", a.config.Out)
			}
			if a.config.Ingest.Format != "" {
				o.Format = a.config.Ingest.Format
			}
			o.Seed, o.Workers = a.config.Seed, a.config.Workers
			if err := o.Check(); err != nil {
				return failure{exitUsage, err}
			}
			made, err := generate.Write(cmd.Context(), a.config.Out, o)
			if err != nil {
				return err
			}
			if a.json() {
				return a.print(made)
			}
			sick := 0
			var words []string
			for _, p := range generate.Pathologies {
				if n := made.Sick[p]; n > 0 {
					sick += n
					words = append(words, fmt.Sprintf("%s %d", p, n))
				}
			}
			_, err = fmt.Fprintf(a.stdout, "%s, %s, %s of %s in %s\n%d sick: %s\n",
				cluster.Counted(made.Devices, "device"), cluster.Counted(made.Requests, "request"), cluster.Counted(made.Bytes, "byte"), o.Format, cluster.Counted(made.Files, "file"), sick, strings.Join(words, ", "))
			return err
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Devices, "devices", o.Devices, "devices")
	f.Float64Var(&o.Hours, "hours", o.Hours, "hours that the logs span")
	f.IntVar(&o.Hosts, "hosts", o.Hosts, "hosts that the devices belong to; 0: one for eight")
	f.Float64Var(&o.Rate, "rate", o.Rate, "requests a second of a healthy device, about; faults ask for what they need")
	f.Float64Var(&o.Sick, "sick", o.Sick, "share of devices with a pathology")
	f.StringSliceVar(&o.Pathologies, "pathology", nil, "pathologies to plant (default: all eight)")
	f.BoolVar(&o.Compress, "gzip", false, "write gzip")
	return cmd
}
