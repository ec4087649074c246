package lake

import (
	"errors"
	"os"
	"syscall"
)

// lockFile opens the file and shares it with nobody.
func lockFile(path string) (f *os.File, busy bool, err error) {
	const sharingViolation = syscall.Errno(32)
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, false, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, errors.Is(err, sharingViolation), err
	}
	return os.NewFile(uintptr(h), path), false, nil
}

// syncDir does nothing: Windows syncs no directories.
func syncDir(string) error { return nil }
