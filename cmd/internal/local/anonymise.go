package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/ingest/lake"
)

// pseudonymsFile marks a lake whose names are pseudonyms.
const pseudonymsFile = "pseudonyms.json"

// pseudonymsMark is its content: which key, and nothing of it.
type pseudonymsMark struct {
	Mark string `json:"key_mark"`
}

// anonymise settles, for an ingest that holds the lake's lock, whether names
// become pseudonyms, and marks a new lake. nil: they stay.
func (j *Job) anonymise(manifests []lake.Manifest) (*Pseudonyms, error) {
	p, err := NewPseudonyms(&j.Config)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(j.Lake, pseudonymsFile)
	var now pseudonymsMark
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("lake: %w", err)
	default:
		if err := json.Unmarshal(b, &now); err != nil || now.Mark == "" {
			return nil, fmt.Errorf("lake: %s tells no key: %v", path, err)
		}
	}
	if err := p.told(now.Mark, len(manifests) == 0); err != nil {
		return nil, err
	}
	if p != nil && now.Mark == "" {
		b, err := json.Marshal(pseudonymsMark{p.Mark()})
		if err != nil {
			return nil, err
		}
		return p, lake.WriteFileAtomic(path, append(b, '\n'))
	}
	return p, nil
}

// askedFacts are the names of evidence that the catalogue asks for: they are
// its own.
func askedFacts(path string) (map[string]bool, error) {
	c, err := configs.LoadCatalogue(path)
	if err != nil {
		return nil, err
	}
	rules, err := cluster.Compile(c)
	if err != nil {
		return nil, err
	}
	asked := map[string]bool{latencyBucketFact: true, remapFact: true}
	for _, q := range append(slices.Clone(rules.Asked()), rules.AskedAlone()...) {
		for name := range strings.SplitSeq(q.Name, "|") {
			asked[name] = true
		}
	}
	return asked, nil
}

// hostsOf are the hosts that inputs were found to be of.
func hostsOf(claims []claim) []string {
	all := map[string]bool{}
	for i := range claims {
		if claims[i].host != "" {
			all[claims[i].host] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
