package configs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"
)

// Source says where a value came from.
type Source string

// The sources, strongest first.
const (
	FromFlag    Source = "flag"
	FromEnv     Source = "environment"
	FromFile    Source = "file"
	FromDefault Source = "default"
)

// Value is one key as Load settled it.
type Value struct {
	Key    string
	Value  any
	Source Source
}

// EnvPrefix begins every environment variable of iopathy.
const EnvPrefix = "IOPATHY"

// EnvName is the environment variable of a key.
func EnvName(key string) string {
	return EnvPrefix + "_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// FlagName is the flag of a key.
func FlagName(key string) string {
	return strings.NewReplacer(".", "-", "_", "-").Replace(key)
}

// ShortName is the other flag of a key below ingest: what is said of the
// inputs is said without that word, as --host and --format; and of cluster.k.
func ShortName(key string) string {
	if key == "cluster.k" {
		return "k"
	}
	return FlagName(strings.TrimPrefix(key, "ingest."))
}

// Load settles the configuration: flags (those of the set that were given)
// over environment over the file at path ("" for none) over Default. An
// unknown key of the file is an error that names key and line. The values
// come sorted by key with their source.
func Load(path string, flags *pflag.FlagSet) (Config, []Value, error) {
	v := viper.New()
	keys := Default().Values()
	for _, k := range keys {
		v.SetDefault(k.Key, k.Value)
	}
	v.SetEnvPrefix(EnvPrefix)
	v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	v.AutomaticEnv()

	inFile := map[string]bool{}
	var bad []error
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return Config{}, nil, fmt.Errorf("config: %w", err)
		}
		if inFile, err = checkKeys(path, data, keys); inFile == nil {
			return Config{}, nil, err
		}
		bad = list(err)
		v.SetConfigType("yaml")
		if err := v.ReadConfig(bytes.NewReader(data)); err != nil {
			if len(bad) == 0 {
				bad = []error{fmt.Errorf("config: %s: %w", path, err)}
			}
			return Config{}, nil, errors.Join(bad...)
		}
	}
	byFlag := map[string]bool{}
	if flags != nil {
		for _, k := range keys {
			for _, name := range []string{FlagName(k.Key), ShortName(k.Key)} {
				if f := flags.Lookup(name); f != nil && f.Changed {
					if err := v.BindPFlag(k.Key, f); err != nil {
						return Config{}, nil, fmt.Errorf("config: flag --%s: %w", f.Name, err)
					}
					byFlag[k.Key] = true
				}
			}
		}
	}
	c := Default() // so that what can't be decoded is not complained of twice
	if err := v.Unmarshal(&c, viper.DecodeHook(decode)); err != nil {
		bad = append(bad, undecoded(path, err, keys)...)
	}
	c.Features.WindowNS, c.Features.TickNS = int64(c.Window), int64(c.Tick)
	c.Features.Seed, c.Cluster.Seed = c.Seed, c.Seed
	bad = append(bad, list(placed(path, c.Validate()))...)
	if len(bad) > 0 {
		return Config{}, nil, errors.Join(bad...)
	}
	values := c.Values()
	for i := range values {
		k := values[i].Key
		_, inEnv := os.LookupEnv(EnvName(k))
		switch {
		case byFlag[k]:
			values[i].Source = FromFlag
		case inEnv:
			values[i].Source = FromEnv
		case inFile[k]:
			values[i].Source = FromFile
		}
	}
	return c, values, nil
}

// decode turns texts into durations, lists, and what reads its own text.
var decode = mapstructure.ComposeDecodeHookFunc(
	mapstructure.StringToTimeDurationHookFunc(), mapstructure.StringToSliceHookFunc(","), mapstructure.TextUnmarshallerHookFunc())

// undecoded says where the values stand that can't be decoded: in the environment
// when a variable is set for the key that the error names, else in the file.
func undecoded(path string, err error, keys []Value) (all []error) {
	lines := placer(path)
	text := strings.TrimPrefix(err.Error(), "decoding failed due to the following error(s):")
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }) {
		at := ""
		if path != "" {
			at = path + ": "
		}
		for _, k := range keys {
			if !strings.Contains(s, "'"+k.Key+"'") && !strings.Contains(s, "'"+k.Key+"[") {
				continue
			}
			if _, set := os.LookupEnv(EnvName(k.Key)); set {
				at = EnvName(k.Key) + ": "
			} else if line := lines(k.Key); line > 0 {
				at = fmt.Sprintf("%s:%d: ", path, line)
			}
			if secretKeys[k.Key] {
				s = "'" + k.Key + "' can't be read"
			}
			break
		}
		all = append(all, fmt.Errorf("config: %s%s", at, s))
	}
	return all
}

// Values lists the keys of c with their values, sorted. What Load gives says
// also where each came from.
func (c Config) Values() []Value { return flatten("", reflect.ValueOf(c)) }

// flatten lists the keys of a struct by its mapstructure tags, sorted.
func flatten(under string, v reflect.Value) []Value {
	var all []Value
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("mapstructure")
		if tag == "" || tag == "-" {
			continue
		}
		if f := v.Field(i); f.Kind() == reflect.Struct {
			all = append(all, flatten(under+tag+".", f)...)
		} else {
			all = append(all, Value{Key: under + tag, Value: f.Interface(), Source: FromDefault})
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Key < all[j].Key })
	return all
}

// checkKeys walks the YAML and gives the keys that it sets.
func checkKeys(path string, data []byte, keys []Value) (map[string]bool, error) {
	known, rooms, types := map[string]bool{}, map[string]bool{}, map[string]reflect.Type{}
	for _, k := range keys {
		known[k.Key], types[k.Key] = true, reflect.TypeOf(k.Value)
		for i, c := range k.Key {
			if c == '.' {
				rooms[k.Key[:i]] = true
			}
		}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("config: %s: %w", path, err)
	}
	set := map[string]bool{}
	if len(doc.Content) == 0 {
		return set, nil
	}
	var bad []error
	var walk func(under string, n *yaml.Node)
	walk = func(under string, n *yaml.Node) {
		if n.Kind != yaml.MappingNode {
			bad = append(bad, fmt.Errorf("config: %s:%d: %s: want keys and values", path, n.Line, strings.TrimSuffix(under, ".")))
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, val := n.Content[i], n.Content[i+1]
			key := under + k.Value
			switch {
			case known[key] && set[key]:
				bad = append(bad, fmt.Errorf("config: %s:%d: key %q stands twice", path, k.Line, key))
			case known[key]:
				set[key] = true
				bad = append(bad, checkNested(path, key, val, types[key])...)
			case rooms[key]:
				walk(key+".", val)
			default:
				bad = append(bad, fmt.Errorf("config: %s:%d: unknown key %q%s", path, k.Line, key, nearest(key, keys)))
			}
		}
	}
	walk("", doc.Content[0])
	return set, errors.Join(bad...)
}

// nearest offers the known key with the smallest edit distance, if it is near.
func nearest(key string, keys []Value) string {
	best, at := 4, ""
	for _, k := range keys {
		if d := edits(key, k.Key); d < best {
			best, at = d, k.Key
		}
	}
	if at == "" {
		return ""
	}
	return fmt.Sprintf(" (is it %q?)", at)
}

// edits is the distance of Levenshtein.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diag, row[j] = row[j], min(row[j]+1, row[j-1]+1, diag+cost)
		}
	}
	return row[len(b)]
}
