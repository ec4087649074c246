package main

import (
	"context"
	"embed"
	"encoding/csv"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/features"
)

// recording is a small real recording and its truth; demo/README.md says how
// it was made.
//
//go:embed demo/recording.blkparse.txt.zst demo/devices.txt demo/inventory.csv demo/start_ns.txt demo/truth.csv
var recording embed.FS

func (a *app) demoCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "demo [--out DIR]", Short: "The main job on an embedded real recording, against its truth", GroupID: "job", Args: cobra.NoArgs,
		Example: "  iopathy demo\n  iopathy demo --out demo-report/",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&a.force, "force", false, "put the report into a directory that holds other things")
	return cmd
}

// demo unpacks the recording, runs the main job on it and holds it against the truth.
func (a *app) demo(ctx context.Context) error {
	if a.config.Out == "" {
		a.config.Out = "iopathy-demo"
	}
	dir, err := os.MkdirTemp("", "iopathy-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer os.RemoveAll(dir)
	logs := filepath.Join(dir, "logs")
	if err := unpack(logs); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	start, err := recording.ReadFile("demo/start_ns.txt")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if a.config.Ingest.StartNS, err = strconv.ParseInt(strings.TrimSpace(string(start)), 10, 64); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	a.config.Ingest.Host = "demo"
	if a.config.Inventory == "" {
		a.config.Inventory = filepath.Join(dir, "inventory.csv")
	}
	d, err := a.mainJob(ctx, []string{logs})
	if d == nil {
		return err
	}
	if a.json() {
		return err
	}
	rows, terr := truth()
	if terr != nil {
		return fmt.Errorf("demo: %w", terr)
	}
	fmt.Fprintln(a.stdout, "\nAgainst the truth of the recording:")
	for _, t := range rows {
		right, all, said := against(d, t)
		fmt.Fprintf(a.stdout, "  %-6s %-22s %d of %s right; said: %s\n         %s\n", t.device, t.label, right, cluster.Counted(all, "window"), said, t.what)
	}
	return err
}

// unpack writes the recording as a user would have it on disk.
func unpack(logs string) error {
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	for name, dir := range map[string]string{
		"recording.blkparse.txt.zst": logs, "devices.txt": logs, "inventory.csv": filepath.Dir(logs),
	} {
		data, err := fs.ReadFile(recording, "demo/"+name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// truthRow is what is known of one device of the recording.
type truthRow struct {
	host, device, label, what string
	from, to                  int64
}

func truth() ([]truthRow, error) {
	f, err := recording.Open("demo/truth.csv")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	var all []truthRow
	for _, r := range rows[1:] {
		t := truthRow{host: r[0], device: r[1], label: r[2], what: r[5]}
		if r[3] != "" {
			if t.from, err = strconv.ParseInt(r[3], 10, 64); err != nil {
				return nil, err
			}
			if t.to, err = strconv.ParseInt(r[4], 10, 64); err != nil {
				return nil, err
			}
		}
		all = append(all, t)
	}
	return all, nil
}

// against counts the device's windows whose label is that of the truth: sick
// where at least half of the window lies in the fault, healthy where none
// does; windows between don't count.
func against(d *local.Diagnosed, t truthRow) (right, all int, said string) {
	var order []string
	counts := map[string]int{}
	for i := range d.Result.Diagnoses.Len() {
		g := d.Result.Diagnoses.At(i)
		if g.Key != (features.Key{Host: t.host, Device: t.device}) {
			continue
		}
		overlap := min(g.EndNS, t.to) - max(g.StartNS, t.from)
		want := "healthy"
		switch {
		case t.from == 0 || overlap <= 0:
		case 2*overlap >= g.EndNS-g.StartNS:
			want = t.label
		default:
			continue
		}
		got := "healthy"
		if g.Verdict == cluster.Sick {
			got = g.Pathology
		} else if g.Verdict == cluster.Artefact {
			got = string(g.Verdict)
		}
		if counts[got] == 0 {
			order = append(order, got)
		}
		counts[got]++
		all++
		if got == want {
			right++
		}
	}
	var words []string
	for _, o := range order {
		words = append(words, fmt.Sprintf("%s %d", o, counts[o]))
	}
	return right, all, strings.Join(words, ", ")
}
