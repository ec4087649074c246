package local

import (
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

// profileDevices is how many devices are laid out as columns at a time.
const profileDevices = 256

// profiles writes the profiles of the devices, a part a date and host.
func (k *keeping) profiles(results []*deviceResult) error {
	byCell := map[cell][]*deviceResult{}
	for _, r := range results {
		byCell[r.cell] = append(byCell[r.cell], r)
	}
	for _, c := range slices.SortedFunc(maps.Keys(byCell), compareCells) {
		name := lake.PartName{Table: lake.Profiles, Date: c.date, Host: c.host, Input: "profiles"}.Path()
		p, err := writeProfiles(k.path(name), byCell[c])
		if err != nil {
			return err
		}
		k.add(name, p)
	}
	return nil
}

func writeProfiles(path string, results []*deviceResult) (lake.Part, error) {
	w, err := lake.Create(path, lake.Fields(features.ProfileColumns(nil)), nil)
	if err != nil {
		return lake.Part{}, err
	}
	for some := range slices.Chunk(results, profileDevices) {
		var profiles []features.DeviceProfile
		rows := 0
		for _, r := range some {
			profiles = append(profiles, r.profile)
			rows += len(r.profile.Rows)
			r.profile = features.DeviceProfile{}
		}
		if rows == 0 {
			continue
		}
		if err := w.Write(features.ProfileColumns(profiles)); err != nil {
			w.Abort()
			return lake.Part{}, err
		}
	}
	return w.Close()
}

// profiles reads the profiles of the devices that are wanted, over the days
// that the job speaks of. A lake of an earlier version has none.
func (j *Job) profiles(wanted func(features.Key) bool) (map[features.Key]*features.Profile, error) {
	manifests, err := lake.Manifests(j.Lake)
	if err != nil {
		return nil, err
	}
	all := map[features.Key]*features.Profile{}
	other := othersOf(manifests)
	for _, part := range lake.Parts(manifests, lake.Profiles) {
		c, err := cellOf(part)
		if err != nil {
			return nil, err
		}
		if other[c] || j.cells != nil && !j.cells[c] {
			continue
		}
		if err := readProfiles(filepath.Join(j.Lake, filepath.FromSlash(part.Path)), wanted, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func readProfiles(path string, wanted func(features.Key) bool, all map[features.Key]*features.Profile) error {
	r, err := lake.Open(path, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		cols, _, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		some, err := features.ProfilesFromColumns(cols)
		if err != nil {
			return err
		}
		for i := range some {
			d := &some[i]
			if !wanted(d.Key) {
				continue
			}
			if all[d.Key] == nil {
				all[d.Key] = d.Profile()
			} else {
				all[d.Key].Merge(d.Profile())
			}
		}
	}
}
