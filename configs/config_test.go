package configs

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestDefaultIsValid(t *testing.T) {
	c := Default()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	got, values, err := Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, c) {
		t.Errorf("Load of nothing is\n%+v\nwant Default\n%+v", got, c)
	}
	for _, v := range values {
		if v.Source != FromDefault {
			t.Errorf("%s: source %s", v.Key, v.Source)
		}
	}
}

// Flag over environment over file over default, each shown with its source.
func TestPrecedence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "iopathy.yaml")
	if err := os.WriteFile(path, []byte("seed: 5\nwindow: 20s\nmax_rejects: 0.5\nsources: [Logs/A, b]\ningest:\n  zone: Europe/Berlin\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("IOPATHY_WINDOW", "30s")
	t.Setenv("IOPATHY_INGEST_ZONE", "Asia/Tokyo")
	t.Setenv("IOPATHY_MAX_REJECTS", "0.25")
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.Duration("window", time.Second, "")
	flags.Uint64("seed", 1, "")
	if err := flags.Parse([]string{"--window", "40s"}); err != nil {
		t.Fatal(err)
	}
	c, values, err := Load(path, flags)
	if err != nil {
		t.Fatal(err)
	}
	if c.Window != 40*time.Second || c.Features.WindowNS != 40e9 {
		t.Errorf("window %v, features %d: want the flag's 40s", c.Window, c.Features.WindowNS)
	}
	if c.Seed != 5 || c.Features.Seed != 5 {
		t.Errorf("seed %d, want the file's 5", c.Seed)
	}
	if c.Ingest.Zone != "Asia/Tokyo" || c.MaxRejects != 0.25 {
		t.Errorf("zone %q, max_rejects %v: want the environment's", c.Ingest.Zone, c.MaxRejects)
	}
	if !reflect.DeepEqual(c.Sources, []string{"Logs/A", "b"}) {
		t.Errorf("sources %v: case must be kept", c.Sources)
	}
	want := map[string]Source{"window": FromFlag, "seed": FromFile, "ingest.zone": FromEnv, "tick": FromDefault, "max_rejects": FromEnv}
	for _, v := range values {
		if s, ok := want[v.Key]; ok && s != v.Source {
			t.Errorf("%s: source %s, want %s", v.Key, v.Source, s)
		}
	}
}

// Each *.bad.yaml is refused with the words of its *.bad.txt.
func TestBadFiles(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.bad.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal("no bad files", err)
	}
	for _, p := range paths {
		want, err := os.ReadFile(strings.TrimSuffix(p, "yaml") + "txt")
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = Load(p, nil)
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(string(want))) {
			t.Errorf("%s: got %v, want %q", p, err, strings.TrimSpace(string(want)))
		}
	}
	if _, _, err := Load("testdata/absent.yaml", nil); err == nil {
		t.Error("want an error for a file that does not exist")
	}
}

// Every key has a flag name and an environment name of its own.
func TestNames(t *testing.T) {
	flags, envs := map[string]string{}, map[string]string{}
	for _, v := range flatten("", reflect.ValueOf(Default())) {
		f, e := FlagName(v.Key), EnvName(v.Key)
		if old := flags[f]; old != "" {
			t.Errorf("%s and %s have one flag --%s", old, v.Key, f)
		}
		if old := envs[e]; old != "" {
			t.Errorf("%s and %s have one variable %s", old, v.Key, e)
		}
		flags[f], envs[e] = v.Key, v.Key
	}
	for _, key := range []string{"sources", "lake", "out", "inventory", "window", "tick", "seed", "workers", "output", "max_rejects", "fail_on", "budget", "catalogue", "model", "scale", "report.echarts_js", "retention.events", "retention.ticks", "retention.labels", "alert.severity"} {
		if flags[FlagName(key)] != key {
			t.Errorf("no key %s", key)
		}
	}
}
