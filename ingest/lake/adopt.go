package lake

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Adopt gives the file at a path below from, with forward slashes, the same place
// below to: as a second link, or as a copy where the file systems differ. What
// stands there already gives way, whole; if from is to, nothing happens.
func Adopt(from, to, path string) error {
	if !filepath.IsLocal(filepath.FromSlash(path)) {
		return fmt.Errorf("lake: adopt %q: no path below a lake", path)
	}
	if from == to {
		return nil
	}
	source, target := filepath.Join(from, filepath.FromSlash(path)), filepath.Join(to, filepath.FromSlash(path))
	if os.Link(source, target) == nil { // the folder is there and the place is free, as mostly
		return nil
	}
	dir, base := filepath.Split(target)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("lake: adopt: %w", err)
	}
	temp := dir + "." + base + ".adopt.tmp"
	_ = os.Remove(temp) // what a crash has left
	if os.Link(source, temp) == nil {
		if err := os.Rename(temp, target); err != nil {
			return fmt.Errorf("lake: adopt: %w", err)
		}
		_ = os.Remove(temp) // it stays where both are the same file already
		return nil
	}
	f, err := os.Open(source)
	if err != nil {
		return fmt.Errorf("lake: adopt: %w", err)
	}
	defer f.Close()
	return WriteAtomic(target, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}
