package local

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// longestHost is the most bytes that a host's folder may have: file systems
// take 255.
const longestHost = 200

// keptOfHost is the bytes of a longer host's name that are kept.
const keptOfHost = 48

// shortHosts gives hosts whose folder no file system could hold a shorter
// name: the first of it, and a hash by which two stay two.
func shortHosts(b *ingest.Batch) {
	if !slices.ContainsFunc(b.Names.List(), func(s string) bool { return len(s) > longestHost/3 }) {
		return
	}
	long := map[string]string{}
	see := func(n ingest.Name) {
		if s := b.Names.String(n); len(s) > longestHost/3 && long[s] == "" && len(lake.Partition("host", s)) > longestHost {
			sum := sha256.Sum256([]byte(s))
			long[s] = strings.ToValidUTF8(s[:keptOfHost], "") + "~" + hex.EncodeToString(sum[:8])
		}
	}
	var last ingest.Name
	for i := range b.Events {
		if h := b.Events[i].Host; h != last {
			last = h
			see(h)
		}
	}
	for i := range b.Samples {
		see(b.Samples[i].Host)
	}
	for i := range b.Evidence {
		see(b.Evidence[i].Host)
	}
	if len(long) > 0 {
		b.Names.Rename(func(old string) string {
			if s, ok := long[old]; ok {
				return s
			}
			return old
		})
	}
}
