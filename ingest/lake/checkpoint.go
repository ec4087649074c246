package lake

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// checkpointDir is the folder of the checkpoints: what the reader of an input
// needs to go on behind the input's final chunks. The lake knows them as bytes.
const (
	checkpointDir    = "checkpoints"
	checkpointSuffix = ".state"
)

// A CheckpointFile is a checkpoint as a manifest names it. One that the latest
// record of its input does not name is of no use, and goes.
type CheckpointFile struct {
	Path   string `json:"path"` // below LAKE, forward slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// CheckpointPath is where the checkpoint of an input in front of a chunk lies.
func CheckpointPath(input string, chunk int64) string {
	return fmt.Sprintf("%s/%s-%05d%s", checkpointDir, escape(input), chunk, checkpointSuffix)
}

// WriteCheckpoint gives the checkpoint of an input its place. It counts once a
// manifest names it.
func (l *Lock) WriteCheckpoint(input string, chunk int64, data []byte) (CheckpointFile, error) {
	if l.file == nil {
		return CheckpointFile{}, errors.New("lake: checkpoint: the lock was given back")
	}
	return SaveCheckpoint(l.dir, input, chunk, data)
}

// SaveCheckpoint is WriteCheckpoint for parts that are no lake yet, below dir.
func SaveCheckpoint(dir, input string, chunk int64, data []byte) (CheckpointFile, error) {
	sum := sha256.Sum256(data)
	c := CheckpointFile{Path: CheckpointPath(input, chunk), Bytes: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}
	return c, WriteFileAtomic(filepath.Join(dir, filepath.FromSlash(c.Path)), data)
}

// ReadCheckpoint gives the bytes of a checkpoint of at most so many, and an
// error if they are not those that were written.
func ReadCheckpoint(dir string, c CheckpointFile, most int64) ([]byte, error) {
	if !isCheckpoint(c.Path) || c.Bytes < 0 || c.Bytes > most {
		return nil, fmt.Errorf("lake: checkpoint %q of %d bytes: none of ours", c.Path, c.Bytes)
	}
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(c.Path)))
	if err != nil {
		return nil, fmt.Errorf("lake: checkpoint: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, c.Bytes+1))
	if err != nil {
		return nil, fmt.Errorf("lake: checkpoint: %w", err)
	}
	if sum := sha256.Sum256(data); int64(len(data)) != c.Bytes || hex.EncodeToString(sum[:]) != c.SHA256 {
		return nil, fmt.Errorf("lake: checkpoint %s: its bytes are others than were written", c.Path)
	}
	return data, nil
}

func isCheckpoint(path string) bool {
	name, ok := strings.CutPrefix(path, checkpointDir+"/")
	return ok && filepath.IsLocal(name) && !strings.ContainsAny(name, `/\`) && strings.HasSuffix(name, checkpointSuffix)
}

// RemoveCheckpoint removes a checkpoint that another has taken the place of.
func (l *Lock) RemoveCheckpoint(c CheckpointFile) error {
	if l.file == nil {
		return errors.New("lake: checkpoint: the lock was given back")
	}
	if !isCheckpoint(c.Path) {
		return fmt.Errorf("lake: checkpoint %q: none of ours", c.Path)
	}
	if err := os.Remove(filepath.Join(l.dir, filepath.FromSlash(c.Path))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("lake: checkpoint: %w", err)
	}
	return nil
}

// PruneCheckpoints removes the checkpoints that no manifest names as the latest
// of their input, and says how many.
func (l *Lock) PruneCheckpoints(all []Manifest) (removed int, err error) {
	if l.file == nil {
		return 0, errors.New("lake: checkpoints: the lock was given back")
	}
	files, err := os.ReadDir(filepath.Join(l.dir, checkpointDir))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("lake: checkpoints: %w", err)
	}
	named := make(map[string]bool)
	for _, in := range NewKnown(all).byID {
		if in.Checkpoint != nil {
			named[in.Checkpoint.Path] = true
		}
	}
	for _, f := range files {
		if path := checkpointDir + "/" + f.Name(); !named[path] && isCheckpoint(path) && !f.IsDir() {
			if err := os.Remove(filepath.Join(l.dir, filepath.FromSlash(path))); err != nil {
				return removed, fmt.Errorf("lake: checkpoints: %w", err)
			}
			removed++
		}
	}
	return removed, nil
}
