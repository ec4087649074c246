package local

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

// profilesDate is the day under which the profiles stand: each is of all the
// days of its device.
const profilesDate = "1970-01-01"

// profileDevices is how many devices are laid out as columns at a time.
const profileDevices = 256

// storeProfiles writes the profiles of the devices as one part.
func (j *Job) storeProfiles(results []*deviceResult) ([]lake.Part, error) {
	name := lake.PartName{Table: lake.Profiles, Date: profilesDate, Input: "profiles"}.Path()
	w, err := lake.Create(filepath.Join(j.Lake, filepath.FromSlash(name)), lake.Fields(features.ProfileColumns(nil)), nil)
	if err != nil {
		return nil, err
	}
	var some []features.DeviceProfile
	rows := 0
	flush := func() error {
		if rows == 0 {
			return nil
		}
		err := w.Write(features.ProfileColumns(some))
		some, rows = some[:0], 0
		return err
	}
	for _, r := range results {
		some = append(some, r.profile)
		rows += len(r.profile.Rows)
		r.profile = features.DeviceProfile{}
		if len(some) == profileDevices {
			if err := flush(); err != nil {
				w.Abort()
				return nil, err
			}
		}
	}
	if err := flush(); err != nil {
		w.Abort()
		return nil, err
	}
	p, err := w.Close()
	if err != nil {
		return nil, err
	}
	p.Path = name
	return []lake.Part{p}, nil
}

// profiles reads the profiles of the devices that are wanted. A lake of an
// earlier version has none.
func (j *Job) profiles(wanted func(features.Key) bool) (map[features.Key]*features.Profile, error) {
	manifests, err := lake.Manifests(j.Lake)
	if err != nil {
		return nil, err
	}
	all := map[features.Key]*features.Profile{}
	for _, part := range lake.Parts(manifests, lake.Profiles) {
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
