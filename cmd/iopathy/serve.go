package main

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/cmd/internal/serve"
	"github.com/iopathy/iopathy/ingest/bucket"
)

func (a *app) serveCmd() *cobra.Command {
	addr := ""
	var names []string
	cmd := &cobra.Command{
		Use: "serve --lake DIR", Short: "A read-only page over the lake: nights, devices, windows, their events", GroupID: "know", Args: cobra.NoArgs,
		Long: `serve answers a browser from a lake until it is interrupted: the nights as a
calendar, the report of a night, from a cell of its map to the events of that
window and past windows like it. It changes nothing, takes no lock, and listens on
this machine only unless --addr says otherwise; it answers only to localhost, to
that address, and to names given with --name.`,
		Example: "  iopathy serve --lake /var/lib/iopathy/lake\n  iopathy serve --lake lake/ --addr 10.0.0.5:8420 --name io.example.org",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if bucket.IsURL(a.config.Lake) {
				return usage("serve reads a lake in a directory: a working copy of one in a bucket would show for ever what was there when it was made")
			}
			dir, err := a.needLake(true)
			if err != nil {
				return err
			}
			if local.LakeOf(dir) != dir {
				return usage("%s is no lake", dir)
			}
			inv, err := local.Inventory(&a.config)
			if err != nil {
				return failure{exitUsage, err}
			}
			catalogue, rules, err := a.catalogue()
			if err != nil {
				return err
			}
			l, err := net.Listen("tcp", addr)
			if err != nil {
				return usage("serve: %v", err)
			}
			s := serve.New(serve.Lake{Job: a.job(dir), Inventory: inv, Catalogue: catalogue, Rules: rules}, addr, names)
			where := "http://" + l.Addr().String() + "/"
			if a.json() {
				if err := a.print(map[string]string{"url": where}); err != nil {
					return err
				}
			} else {
				fmt.Fprintln(a.stdout, where)
			}
			return s.Run(cmd.Context(), l)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8420", "address and port to listen on; port 0 takes a free one")
	cmd.Flags().StringArrayVar(&names, "name", nil, "another host name under which it may be asked")
	return cmd
}
