package lake

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// newFile is a file that appears under its name only when it is whole. Until
// then it has a hidden name in the same directory, so that the rename stays
// within one file system.
type newFile struct {
	*os.File
	path string
	temp string
}

func createFile(path string) (*newFile, error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("lake: create: %w", err)
	}
	f, err := os.CreateTemp(dir, "."+base+".*.tmp")
	if err != nil {
		return nil, fmt.Errorf("lake: create: %w", err)
	}
	return &newFile{File: f, path: path, temp: f.Name()}, nil
}

// commit syncs, closes and renames the file and syncs the directory. On an
// error nothing of it is left.
func (f *newFile) commit() error {
	if err := f.settle(); err != nil {
		return err
	}
	return f.place()
}

// settle makes what was written last, under its hidden name.
func (f *newFile) settle() error {
	// CreateTemp made it readable by its owner only; the umask has had its say
	// on directories, and files follow the directory they lie in.
	mode := os.FileMode(0o644)
	if info, err := os.Stat(filepath.Dir(f.temp)); err == nil {
		mode = info.Mode().Perm() & 0o666
	}
	err := f.Chmod(mode)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.temp)
		return err
	}
	return nil
}

// place gives a settled file its name.
func (f *newFile) place() error {
	if err := os.Rename(f.temp, f.path); err != nil {
		os.Remove(f.temp)
		return err
	}
	return syncDir(filepath.Dir(f.path))
}

func (f *newFile) abort() {
	f.Close()
	os.Remove(f.temp)
}

// WriteFileAtomic gives the file at path the content data: a reader sees the
// old content or the new, never a part. Missing directories are made.
func WriteFileAtomic(path string, data []byte) error {
	return WriteAtomic(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteAtomic is WriteFileAtomic for a content that fill writes: it need not
// stand in memory as a whole. When fill fails the file is as it was.
func WriteAtomic(path string, fill func(io.Writer) error) error {
	f, err := createFile(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	if err = fill(w); err == nil {
		err = w.Flush()
	}
	if err != nil {
		f.abort()
		return fmt.Errorf("lake: write %s: %w", path, err)
	}
	if err := f.commit(); err != nil {
		return fmt.Errorf("lake: write %s: %w", path, err)
	}
	return nil
}
