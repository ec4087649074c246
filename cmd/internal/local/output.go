package local

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// OutputFiles are the names that Write puts into an output directory.
var OutputFiles = []string{"report.html", "report.json", "labels.csv", "labels.parquet"}

// Tool is the word by which report.json tells whose it is.
const Tool = "iopathy"

// CheckOut says whether files may be put into dir: it is absent or empty, or
// holds a report.json of iopathy, or nothing but a lake and files of ours (a
// run that did not come to its end), or force is set.
func CheckOut(dir string, force bool) error {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("output directory: %w", err)
	}
	if len(entries) == 0 || force {
		return nil
	}
	ours := func(e os.DirEntry) bool {
		return slices.Contains(OutputFiles, e.Name()) || e.Name() == "lake" && e.IsDir()
	}
	if _, err := os.Stat(filepath.Join(dir, "lake", ".lock")); err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !ours(e) }) {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err == nil {
		var head struct {
			Tool string `json:"tool"`
		}
		if json.Unmarshal(data, &head) == nil && head.Tool == Tool {
			return nil
		}
	}
	return fmt.Errorf("output directory %s holds other things and no report of iopathy: choose another, or --force", dir)
}
