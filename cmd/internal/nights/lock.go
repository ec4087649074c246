package nights

import (
	"errors"
	"path/filepath"

	"github.com/iopathy/iopathy/ingest/lake"
)

// Lock is the right to do a night's work on a lake and an output directory:
// there is one for each, so that neither two nights of one lake nor two lakes of
// one directory of reports are at work at once.
type Lock struct{ lake, out *lake.Lock }

// NewLock takes it. It does not wait: the error of one that is held is a
// *lake.Busy, which says by whom.
func NewLock(dir, out string) (*Lock, error) {
	l, err := lake.NewNightLock(dir)
	if err != nil {
		return nil, err
	}
	o, err := lake.NewLock(filepath.Join(out, nightsFolder))
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &Lock{l, o}, nil
}

// Close gives it back.
func (l *Lock) Close() error { return errors.Join(l.out.Close(), l.lake.Close()) }
