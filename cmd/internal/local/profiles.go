package local

import (
	"errors"
	"io"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

// profileDevices is how many devices are laid out as columns at a time.
const profileDevices = 256

// profiles reads the profiles of the devices that are wanted, over the days
// that the job speaks of. A lake of an earlier version has none.
func (j *Job) profiles(wanted func(features.Key) bool) (map[features.Key]*features.Profile, error) {
	manifests, err := j.Manifests()
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
		path := j.at(part.Path)
		if err := readProfiles(j.opener(), path, wanted, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func readProfiles(o lake.Opener, path string, wanted func(features.Key) bool, all map[features.Key]*features.Profile) error {
	r, err := o.Open(path, nil)
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

// Regions gives the reads of devices by regions of their addresses, over the
// days that the job speaks of. A device without a profile has none.
func (j *Job) Regions(wanted func(features.Key) bool) (map[features.Key][]features.RegionSums, error) {
	profiles, err := j.profiles(wanted)
	if err != nil {
		return nil, err
	}
	all := map[features.Key][]features.RegionSums{}
	for k, p := range profiles {
		all[k] = p.Regions()
	}
	return all, nil
}
