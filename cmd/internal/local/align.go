package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/align"
)

// Align estimates how the clocks of two logs differ. The times of a are those that
// an ingest would give it; of b the stamps count as they stand, whatever a clock
// file or a flag says of them: the outcome is a clock for b that needs nothing else.
func (j *Job) Align(ctx context.Context, a, b string, stdin io.Reader) (*align.Result, error) {
	sa, err := j.alignSource(ctx, a, stdin, false)
	if err != nil {
		return nil, err
	}
	sb, err := j.alignSource(ctx, b, stdin, true)
	if err != nil {
		return nil, err
	}
	r, err := align.Estimate(sa, sb)
	if err != nil {
		return nil, fmt.Errorf("align: %s with %s: %w", b, a, err)
	}
	return r, nil
}

// alignSource reads the I/Os of the one log that a source is.
func (j *Job) alignSource(ctx context.Context, source string, stdin io.Reader, bare bool) (*align.Source, error) {
	inputs, _, err := j.resolve(ctx, []string{source}, stdin)
	if err != nil {
		return nil, err
	}
	inputs, beside, _, err := sidecars(inputs)
	if err != nil {
		return nil, err
	}
	if len(inputs) != 1 {
		return nil, fmt.Errorf("align: %s is %d logs: each has a clock of its own, name one", source, len(inputs))
	}
	in := inputs[0]
	if bare {
		in.Clock = ingest.Clock{Bare: true}
	} else {
		if _, err := j.setClocks(inputs, make([]claim, 1), beside.clocks); err != nil {
			return nil, err
		}
		in = inputs[0]
		if err := j.byMtime(ctx, &in); err != nil {
			return nil, err
		}
	}
	s := align.NewSource(filepath.Base(in.Path))
	rep, err := ingest.Read(ctx, in, j.Config.Ingest, j.workers(), func(c *ingest.Chunk) error {
		s.Add(c.Batch)
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case rep.Problem != "":
		return nil, fmt.Errorf("align: %s: %s", source, rep.Problem)
	case rep.Events == 0:
		return nil, fmt.Errorf("align: %s: %w: no single I/O in %s of %s", source, errNoIOs, cluster.Counted(rep.Tally.Lines, "line"), rep.Format)
	}
	return s, nil
}

var errNoIOs = errors.New("nothing to align by")

// ClockText is the clock file that reads b by the clock of a.
func ClockText(r *align.Result) string {
	var t strings.Builder
	fmt.Fprintf(&t, "# iopathy align: %s by the clock of %s, from %d I/Os\n", Printable(r.B), Printable(r.A), r.Matched)
	fmt.Fprintf(&t, "offset_ns %d\ndrift_ppb %d\nat_ns %d\nerror_ns %d\n", r.OffsetNS, r.DriftPPB, r.AtNS, r.ErrorNS)
	return t.String()
}
