package formats

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// BenchmarkFile reads files of 256 MB, which it writes into the folder
// IOPATHY_SPEED if they are not there: msr.log, blkparse.log and blktrace.log, for
// comparing with other programs on the same bytes (.ci/peers does).
func BenchmarkFile(b *testing.B) {
	dir := os.Getenv("IOPATHY_SPEED")
	if dir == "" {
		b.Skip("IOPATHY_SPEED names no folder")
	}
	for _, l := range speedLogs() {
		switch l.format.Name {
		case "msr", "blkparse", "blktrace":
		default:
			continue
		}
		b.Run(l.name(), func(b *testing.B) {
			path := filepath.Join(dir, l.format.Name+".log")
			if _, err := os.Stat(path); err != nil {
				if err := os.WriteFile(path, l.sample(256_000_000).data, 0o644); err != nil {
					b.Fatal(err)
				}
			}
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			in := ingest.Input{Path: path, Host: "h", Open: func() (io.ReadCloser, error) { return os.Open(path) }}
			measure(b, info.Size(), func() int64 {
				rep, err := ingest.Read(context.Background(), in, ingest.Options{}, 1, func(*ingest.Chunk) error { return nil })
				if err == nil && (rep.Format != l.format.Name || rep.Tally.Rejected() > 0) {
					err = fmt.Errorf("%s: %s", rep.Format, fates(rep.Tally))
				}
				if err != nil {
					b.Fatal(err)
				}
				return rep.Tally.Lines
			})
		})
	}
}
