package lake

import (
	"path/filepath"
	"slices"
	"strings"
)

// HostParts is the parts of one host as files.
type HostParts struct {
	Host  string
	Files []string
}

// ByHost sorts parts of a table by host and names their files in the lake at
// dir. Parts without a host stand under "".
func ByHost(dir string, parts []Part) ([]HostParts, error) {
	var all []HostParts
	at := make(map[string]int)
	for _, p := range parts {
		name, err := ParsePart(p.Path)
		if err != nil {
			return nil, err
		}
		i, ok := at[name.Host]
		if !ok {
			i = len(all)
			at[name.Host] = i
			all = append(all, HostParts{Host: name.Host})
		}
		all[i].Files = append(all[i].Files, filepath.Join(dir, filepath.FromSlash(p.Path)))
	}
	slices.SortFunc(all, func(a, b HostParts) int { return strings.Compare(a.Host, b.Host) })
	return all, nil
}
