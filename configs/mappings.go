package configs

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/iopathy/iopathy/ingest"
)

// mappingsKey is the setting that is a list of mappings.
const mappingsKey = "ingest.mappings"

// checkNested walks the value of a setting whose type is a list, a map or a
// struct, and gives the keys that its type does not know.
func checkNested(path, key string, n *yaml.Node, t reflect.Type) (bad []error) {
	complain := func(n *yaml.Node, format string, args ...any) {
		bad = append(bad, fmt.Errorf("config: %s:%d: %s", path, n.Line, fmt.Sprintf(format, args...)))
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	var walk func(key string, n *yaml.Node, t reflect.Type)
	walk = func(key string, n *yaml.Node, t reflect.Type) {
		switch {
		case t == nil || n.Tag == "!!null":
		case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Struct:
			for _, e := range n.Content {
				if e.Kind != yaml.ScalarNode {
					complain(e, "%s: want a list of words", key)
				}
			}
		case t.Kind() == reflect.Slice:
			if n.Kind != yaml.SequenceNode {
				complain(n, "%s: want a list", key)
				return
			}
			for i, e := range n.Content {
				walk(key+"["+strconv.Itoa(i)+"]", e, t.Elem())
			}
		case t.Kind() == reflect.Struct || t.Kind() == reflect.Map:
			if n.Kind != yaml.MappingNode {
				complain(n, "%s: want keys and values", key)
				return
			}
			fields, names := map[string]reflect.Type{}, []Value(nil)
			for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
				tag := t.Field(i).Tag.Get("mapstructure")
				fields[tag] = t.Field(i).Type
				names = append(names, Value{Key: tag})
			}
			seen := map[string]bool{}
			for i := 0; i+1 < len(n.Content); i += 2 {
				k, v := n.Content[i], n.Content[i+1]
				below, known := fields[k.Value]
				if t.Kind() == reflect.Map {
					below, known = t.Elem(), true
				}
				switch {
				case !known:
					complain(k, "%s: unknown key %q%s", key, k.Value, nearest(k.Value, names))
				case seen[k.Value]:
					complain(k, "%s: key %q stands twice", key, k.Value)
				default:
					walk(key+"."+k.Value, v, below)
				}
				seen[k.Value] = true
			}
		case n.Kind != yaml.ScalarNode:
			complain(n, "%s: want a single value", key)
		}
	}
	if t != nil && (t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct) {
		walk(key, n, t)
	}
	return bad
}

// A badMapping is what is wrong with one of the mappings.
type badMapping struct {
	index int
	name  string
	err   ingest.MappingError
}

func (b badMapping) Error() string {
	return fmt.Sprintf("config: %s[%d] (%s): %v", mappingsKey, b.index, b.name, b.err)
}

// checkMappings checks the mappings, each by itself and their names.
func checkMappings(all []ingest.Mapping) error {
	var bad []error
	names := map[string]bool{}
	for i := range all {
		m := &all[i]
		complain := func(e ingest.MappingError) { bad = append(bad, badMapping{i, m.Name, e}) }
		for _, f := range ingest.Formats() {
			if f.Name == m.Name {
				complain(ingest.MappingError{Key: []string{"name"}, Err: fmt.Errorf("%q is a format of that name", m.Name)})
			}
		}
		if names[m.Name] {
			complain(ingest.MappingError{Key: []string{"name"}, Err: fmt.Errorf("%q stands twice", m.Name)})
		}
		names[m.Name] = true
		for _, err := range list(m.Validate()) {
			var e ingest.MappingError
			if errors.As(err, &e) {
				complain(e)
			}
		}
	}
	return errors.Join(bad...)
}

// list takes joined errors apart.
func list(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// placed says of what is wrong with settings in which line of the file, or in
// which variable of the environment, it stands.
func placed(path string, err error) error {
	lines := placer(path)
	var all []error
	for _, err := range list(err) {
		var b badMapping
		var s badSetting
		switch {
		case errors.As(err, &b):
			at := append(append(strings.Split(mappingsKey, "."), strconv.Itoa(b.index)), b.err.Key...)
			if line := lines(strings.Join(at, ".")); line > 0 {
				err = fmt.Errorf("config: %s:%d: %s[%d] (%s): %w", path, line, mappingsKey, b.index, b.name, b.err)
			}
		case errors.As(err, &s):
			if _, set := os.LookupEnv(EnvName(s.key)); set {
				err = fmt.Errorf("config: %s: %s: %s", EnvName(s.key), s.key, s.text)
			} else if line := lines(s.key); line > 0 {
				err = fmt.Errorf("config: %s:%d: %s: %s", path, line, s.key, s.text)
			}
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// placer gives the line of the file in which a key stands, or the one above it;
// 0 if neither does.
func placer(path string) func(key string) int {
	data, err := os.ReadFile(path)
	var doc yaml.Node
	if path == "" || err != nil || yaml.Unmarshal(data, &doc) != nil || len(doc.Content) == 0 {
		return func(string) int { return 0 }
	}
	return func(key string) int {
		at := strings.Split(key, ".")
		if member(doc.Content[0], at[0]) == nil {
			return 0
		}
		return lineOf(doc.Content[0], at)
	}
}

// lineOf is the line of what lies at the keys, or of the nearest above it.
func lineOf(n *yaml.Node, keys []string) int {
	line := n.Line
	for _, key := range keys {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		var next *yaml.Node
		if i, err := strconv.Atoi(key); err == nil && n.Kind == yaml.SequenceNode && i < len(n.Content) {
			next = n.Content[i]
			line = next.Line
		}
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				next = n.Content[i+1]
				line = n.Content[i].Line
			}
		}
		if next == nil {
			break
		}
		n = next
	}
	return line
}
