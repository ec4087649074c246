package configs

import (
	"reflect"
	"strings"
	"testing"
)

// The commented file has every key of the structs, no other one, and nothing
// but defaults; each of its keys says what it is, or its block does.
func TestDefaultFile(t *testing.T) {
	c, values, err := Load("default.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		if v.Source != FromFile {
			t.Errorf("the default file lacks %s", v.Key)
		}
	}
	c.Ingest.Mappings = nil // an empty list
	if want := Default(); !reflect.DeepEqual(c, want) {
		t.Errorf("the file says\n%+v\nthe code\n%+v", c, want)
	}
	data := strings.Split(DefaultFile(), "\n")
	said := 0
	for _, line := range data {
		if _, comment, ok := strings.Cut(line, " # "); ok && strings.TrimSpace(comment) != "" {
			said++
		}
	}
	if said < len(values)*3/4 {
		t.Errorf("%d of %d keys have a comment", said, len(values))
	}
}

// Each key can be set by its variable of the environment, and the source says so.
func TestEveryVariable(t *testing.T) {
	for _, v := range Default().Values() {
		text := ""
		switch v.Value.(type) {
		case []string, string:
			text = map[string]string{"output": "json", "scale": "mission", "ingest.zone": "Asia/Tokyo", "ingest.interval": "3s", "alert.webhook.url": "http://h/", "actuator.url": "http://h/", "ingest.clock_offset": "1s"}[v.Key]
			if text == "" {
				text = "word"
			}
		case bool:
			text = map[bool]string{true: "false", false: "true"}[v.Value.(bool)]
		default:
			continue // numbers and durations: TestPrecedence
		}
		t.Run(v.Key, func(t *testing.T) {
			t.Setenv(EnvName(v.Key), text)
			_, got, err := Load("", nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range got {
				if (g.Key == v.Key) != (g.Source == FromEnv) || g.Key == v.Key && reflect.DeepEqual(g.Value, v.Value) {
					t.Errorf("%s is %v from %s", g.Key, g.Value, g.Source)
				}
			}
		})
	}
}
