package lake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// A Lock is the right to write in a lake. There is one; readers need none.
// It goes with the process that holds it, however that ends.
type Lock struct {
	dir  string
	file *os.File
	was  time.Time // when the file was last written before; zero if it is new
}

// Holder is who holds a lock, as its file says.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// Busy is the error of a lock that another holds.
type Busy struct {
	Dir    string
	Path   string // of the file
	Holder Holder // zero where the file does not tell
}

func (b *Busy) Error() string {
	who := ""
	if b.Holder.PID > 0 {
		who = fmt.Sprintf("process %d on host %q since %s ", b.Holder.PID, b.Holder.Host, b.Holder.Since.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("lake: another iopathy writes in %s: %sholds %s", b.Dir, who, b.Path)
}

// NewLock takes the lock of the lake at dir, which is made if it is missing.
// It does not wait: if another process writes there, or another Lock of this
// one, the error is a *Busy.
func NewLock(dir string) (*Lock, error) { return newLock(dir, ".lock") }

// NewNightLock takes the lock of the job that works on a lake through several
// runs, each of which takes the lake's own lock for a while.
func NewNightLock(dir string) (*Lock, error) { return newLock(dir, ".nightly.lock") }

func newLock(dir, name string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("lake: lock: %w", err)
	}
	path := filepath.Join(dir, name)
	f, busy, err := lockFile(path)
	if busy {
		return nil, &Busy{dir, path, readHolder(path)}
	}
	if err != nil {
		return nil, fmt.Errorf("lake: lock %s: %w", path, err)
	}
	l := &Lock{dir: dir, file: f}
	l.sign()
	return l, nil
}

// sign writes who holds the lock into its file. What a process that was killed
// left there is written over: its lock went with it. It does without where it
// can't, as on a full disk: the lock is held all the same.
func (l *Lock) sign() {
	info, err := l.file.Stat()
	if err != nil {
		return
	}
	if info.Size() == 0 {
		l.was = info.ModTime()
	}
	host, _ := os.Hostname() // a word for people only
	b, err := json.Marshal(Holder{os.Getpid(), host, time.Now().UTC().Truncate(time.Second)})
	if err == nil && l.file.Truncate(0) == nil {
		_, _ = l.file.WriteAt(append(b, '\n'), 0)
	}
}

// readHolder reads who holds a lock: best effort, since the file is another's.
func readHolder(path string) (h Holder) {
	f, err := os.Open(path)
	if err != nil {
		return h
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if err != nil || json.Unmarshal(b, &h) != nil {
		return Holder{}
	}
	return h
}

// Dir is the lake that is locked.
func (l *Lock) Dir() string { return l.dir }

// Close gives the lock back. Its file stays, empty and with the time that it
// had, so that a run that changed nothing leaves nothing for a backup to copy.
func (l *Lock) Close() error {
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	err := f.Truncate(0)
	if err == nil && !l.was.IsZero() {
		err = os.Chtimes(f.Name(), time.Time{}, l.was)
	}
	return errors.Join(err, f.Close())
}
