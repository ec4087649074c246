package lake

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The tables of a lake: the folders below its root that hold parts.
const (
	Events    = "events"
	Samples   = "samples"
	Evidence  = "evidence"
	Ticks     = "ticks"
	Windows   = "windows"
	Labels    = "labels"
	Profiles  = "profiles"
	Baselines = "baselines"
)

// hiveNull is what Hive writes for a null; a name that happens to be it must
// not read as one.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// Partition gives the folders of a Hive partition, "date=2026-11-29/host=db07"
// for Partition("date", "2026-11-29", "host", "db07"). Names come from logs
// and are not trusted: every byte that is not a letter, a digit, or one of
// . _ - is percent-encoded, and the names "." and ".." are encoded whole. It
// panics on an odd number of words.
func Partition(kv ...string) string {
	if len(kv)%2 != 0 {
		panic("lake: a partition key without a value")
	}
	var dirs []string
	for i := 0; i < len(kv); i += 2 {
		dirs = append(dirs, escape(kv[i])+"="+escape(kv[i+1]))
	}
	return strings.Join(dirs, "/")
}

// Unpartition gives the keys and values of the partition folders in a path
// with forward slashes, in their order; folders without a "=" are passed over.
// It fails on an escape that is none.
func Unpartition(p string) (kv []string, err error) {
	for dir := range strings.SplitSeq(p, "/") {
		k, v, ok := strings.Cut(dir, "=")
		if !ok {
			continue
		}
		for _, s := range []string{k, v} {
			plain, err := unescape(s)
			if err != nil {
				return nil, fmt.Errorf("lake: partition %q: %w", dir, err)
			}
			kv = append(kv, plain)
		}
	}
	return kv, nil
}

func escape(s string) string {
	const hex = "0123456789ABCDEF"
	whole := s == "." || s == ".."
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case !whole && (c == '.' || c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') && (i > 0 || s != hiveNull):
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, "%") {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+3 > len(s) {
			return "", fmt.Errorf("torn escape %q", s[i:])
		}
		v, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", fmt.Errorf("escape %q", s[i:i+3])
		}
		b.WriteByte(byte(v))
		i += 2
	}
	return b.String(), nil
}

// Date is the UTC day of a time in nanoseconds since the Unix epoch, as it
// stands in partitions: YYYY-MM-DD.
func Date(ns int64) string { return time.Unix(0, ns).UTC().Format(time.DateOnly) }

// A PartName is where a part lies: what its path is made of. Without a Host it
// lies in its date's folder.
type PartName struct {
	Table string
	Date  string
	Host  string
	Input string // identity of its input, or what else it follows from
	Chunk int
}

// Path gives the part's path below the lake, with forward slashes.
func (n PartName) Path() string {
	kv := []string{"date", n.Date}
	if n.Host != "" {
		kv = append(kv, "host", n.Host)
	}
	return path.Join(n.Table, Partition(kv...), fmt.Sprintf("part-%s-%05d.parquet", escape(n.Input), n.Chunk))
}

var partPath = regexp.MustCompile(`^([a-z]+)/date=([^/=]*)(?:/host=([^/=]*))?(?:/bundle-[0-9a-f]{32}\.parquet)?/part-([^/]*)-([0-9]{5,9})\.parquet$`)

// ParsePart is the inverse of PartName.Path.
func ParsePart(p string) (PartName, error) {
	m := partPath.FindStringSubmatch(p)
	if m == nil {
		return PartName{}, fmt.Errorf("lake: %q is no part's path", p)
	}
	n := PartName{Table: m[1]}
	for i, to := range map[int]*string{2: &n.Date, 3: &n.Host, 4: &n.Input} {
		s, err := unescape(m[i])
		if err != nil {
			return PartName{}, fmt.Errorf("lake: %q: %w", p, err)
		}
		*to = s
	}
	n.Chunk, _ = strconv.Atoi(m[5]) // at most nine digits
	return n, nil
}

// RunPath is where the manifest of a run lies below the lake.
func RunPath(run string) string { return "runs/" + escape(run) + ".json" }

// RejectsPath is where the rejected lines of a run lie below the lake.
func RejectsPath(run string) string { return "runs/" + escape(run) + ".rejects.jsonl" }

// ModelPath is where a model lies below the lake.
func ModelPath(name string) string { return "models/" + escape(name) }

// RegistryPath is where the registry of classes lies below the lake.
const RegistryPath = "registry.json"
