package mirror

import (
	"crypto/rand"
	"os"
	"path/filepath"
)

// Lend lets the lake take files of a folder of its own bucket, as links to the holes that
// Stand makes of them: Publish has the store copy what they stand for, and no byte
// comes here. It says false where that can't be: of another bucket, or where there are no
// links from one directory to the other.
func (c *Copy) Lend(f *Folder) bool {
	if c.shelf.b != f.shelf.b || c.lease == nil {
		return false
	}
	from := filepath.Join(f.dir, "."+rand.Text()+".tmp")
	to := filepath.Join(c.home.Dir(), filepath.Base(from))
	if err := os.WriteFile(from, nil, 0o666); err != nil {
		return false
	}
	err := os.Link(from, to)
	_, _ = os.Remove(from), os.Remove(to) // both directories go, too
	if err != nil {
		return false
	}
	c.lent = append(c.lent, f)
	return true
}

// listLent takes down what the folders that were lent have holes of.
func (c *Copy) listLent() {
	c.stand = map[int64][]stand{}
	for _, f := range c.lent {
		for _, s := range f.stand {
			c.stand[s.info.Size()] = append(c.stand[s.info.Size()], s)
		}
	}
}

// lentKey is the key of the object that a hole stands for; "" if the file is none.
func (c *Copy) lentKey(info os.FileInfo) string {
	for _, s := range c.stand[info.Size()] {
		if unchanged(s.info, info) {
			return s.key
		}
	}
	return ""
}
