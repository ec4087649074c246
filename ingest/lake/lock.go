package lake

import (
	"fmt"
	"os"
	"path/filepath"
)

// A Lock is the right to write in a lake. There is one; readers need none.
// It goes with the process that holds it.
type Lock struct {
	dir  string
	file *os.File
}

// NewLock takes the lock of the lake at dir, which is made if it is missing.
// It does not wait: if another process writes there, or another Lock of this
// one, the error says so.
func NewLock(dir string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("lake: lock: %w", err)
	}
	path := filepath.Join(dir, ".lock")
	f, busy, err := lockFile(path)
	if busy {
		return nil, fmt.Errorf("lake: another iopathy writes in %s (it holds %s)", dir, path)
	}
	if err != nil {
		return nil, fmt.Errorf("lake: lock %s: %w", path, err)
	}
	return &Lock{dir: dir, file: f}, nil
}

// Dir is the lake that is locked.
func (l *Lock) Dir() string { return l.dir }

// Close gives the lock back; the file .lock stays.
func (l *Lock) Close() error {
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return f.Close()
}
