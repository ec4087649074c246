package main

import (
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/cmd/internal/serve"
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
that address, and to names given with --name. A lake in a bucket is looked at anew when a
page is asked for, every few seconds at most.`,
		Example: "  iopathy serve --lake /var/lib/iopathy/lake\n  iopathy serve --lake lake/ --addr 10.0.0.5:8420 --name io.example.org",
		RunE: func(cmd *cobra.Command, _ []string) error {
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
			served := serve.Lake{Job: a.job(dir), Inventory: inv, Catalogue: catalogue, Rules: rules}
			if a.mirror != nil {
				served.Renew = rarely(a.mirror.Renew)
			}
			s := serve.New(served, addr, names)
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

// renewEvery is how often a bucket is looked at while pages are asked for.
const renewEvery = 5 * time.Second

// rarely calls a function when renewEvery has gone by since it did well, or now.
func rarely(renew func() error) func(now bool) error {
	last := time.Now()
	return func(now bool) error {
		if !now && time.Since(last) < renewEvery {
			return nil
		}
		err := renew()
		if err == nil {
			last = time.Now()
		}
		return err
	}
}
