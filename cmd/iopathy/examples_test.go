package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const examples = "../../configs/examples/"

func example(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(examples + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// runs checks that words are a command line of iopathy: a verb, and flags that it has.
func runs(t *testing.T, where string, words []string) {
	t.Helper()
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	cmd, rest, err := a.root().Find(words)
	if err != nil || !cmd.Runnable() {
		t.Errorf("%s: %q is no verb: %v", where, words, err)
		return
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%s: %q: %v", where, words, err)
	}
}

func TestExampleSettings(t *testing.T) {
	in(t, exitFine, "config", "validate", examples+"iopathy.yaml")
	path := filepath.Join(t.TempDir(), "all.yaml")
	all, _ := in(t, exitFine, "config", "default")
	if err := os.WriteFile(path, []byte(all), 0o666); err != nil {
		t.Fatal(err)
	}
	in(t, exitFine, "config", "validate", path)
	if err := os.WriteFile(path, []byte("windw: 3\nseed: -x\nalert:\n  severity: -2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, said := in(t, exitUsage, "config", "validate", path)
	for _, want := range []string{path + ":1: ", path + ":2: ", path + ":4: "} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
}

// The unit files are read by systemd itself where it is, and have what keeps
// the service in.
func TestSystemdExample(t *testing.T) {
	unit := func(text string) map[string][]string {
		keys := map[string][]string{}
		section := ""
		for n, line := range strings.Split(text, "\n") {
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
				continue
			}
			if line[0] == '[' {
				section = strings.Trim(line, "[]")
				continue
			}
			k, v, ok := strings.Cut(line, "=")
			if !ok || section == "" {
				t.Errorf("line %d: %q", n+1, line)
			}
			keys[section+"."+k] = append(keys[section+"."+k], v)
		}
		return keys
	}
	service, timer := unit(example(t, "iopathy.service")), unit(example(t, "iopathy.timer"))
	for k, want := range map[string]string{"Type": "oneshot", "DynamicUser": "yes", "StateDirectory": "iopathy", "ProtectSystem": "strict", "ProtectHome": "yes", "NoNewPrivileges": "yes", "PrivateDevices": "yes",
		"PrivateTmp": "yes", "MemoryDenyWriteExecute": "yes", "CapabilityBoundingSet": "", "RestrictNamespaces": "yes"} {
		if got := service["Service."+k]; !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %q, want %q", k, got, want)
		}
	}
	if len(timer["Timer.OnCalendar"]) != 1 || timer["Timer.Persistent"] == nil || timer["Install.WantedBy"] == nil {
		t.Errorf("timer: %v", timer)
	}
	words := strings.Fields(strings.Join(service["Service.ExecStart"], " "))
	if len(words) < 2 || words[0] != "/usr/bin/iopathy" {
		t.Fatalf("ExecStart: %q", words)
	}
	runs(t, "iopathy.service", words[1:])

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("no systemd-analyze here: the units were parsed only")
		return
	}
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"iopathy.service", "iopathy.timer"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(example(t, name), "/usr/bin/iopathy", "/bin/true")), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	if out, err := exec.Command(analyze, append([]string{"verify"}, paths...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

func TestCronExample(t *testing.T) {
	line := regexp.MustCompile(`^([0-9*,/-]+\s+){5}([a-z][a-z0-9-]*)\s+/usr/bin/iopathy\s+(.*)$`) // crontab(5), of /etc/cron.d
	jobs := 0
	for _, l := range strings.Split(strings.TrimSpace(example(t, "iopathy.cron")), "\n") {
		if strings.HasPrefix(l, "#") || strings.HasPrefix(l, "MAILTO=") {
			continue
		}
		m := line.FindStringSubmatch(l)
		if m == nil || strings.Contains(l, "%") {
			t.Errorf("no line of cron: %q", l)
			continue
		}
		runs(t, "iopathy.cron", strings.Fields(m[3]))
		jobs++
	}
	if jobs != 1 {
		t.Errorf("%d jobs", jobs)
	}
}

func TestCronJobExample(t *testing.T) {
	dec := yaml.NewDecoder(strings.NewReader(example(t, "cronjob.yaml")))
	var settings struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Name string }
		Data       map[string]string
	}
	if err := dec.Decode(&settings); err != nil || settings.Kind != "ConfigMap" || settings.APIVersion != "v1" {
		t.Fatalf("%+v, %v", settings, err)
	}
	path := filepath.Join(t.TempDir(), "iopathy.yaml")
	if err := os.WriteFile(path, []byte(settings.Data["iopathy.yaml"]), 0o666); err != nil {
		t.Fatal(err)
	}
	in(t, exitFine, "config", "validate", path)
	// The fields of batch/v1 that it has, and no others.
	type named struct{ Name string }
	var job struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   named
		Spec       struct {
			Schedule                   string
			TimeZone                   string `yaml:"timeZone"`
			ConcurrencyPolicy          string `yaml:"concurrencyPolicy"`
			StartingDeadlineSeconds    int    `yaml:"startingDeadlineSeconds"`
			SuccessfulJobsHistoryLimit int    `yaml:"successfulJobsHistoryLimit"`
			FailedJobsHistoryLimit     int    `yaml:"failedJobsHistoryLimit"`
			JobTemplate                struct {
				Spec struct {
					BackoffLimit int `yaml:"backoffLimit"`
					Template     struct {
						Spec struct {
							RestartPolicy  string `yaml:"restartPolicy"`
							ServiceAccount *bool  `yaml:"automountServiceAccountToken"`
							Grace          int    `yaml:"terminationGracePeriodSeconds"`
							Security       struct {
								RunAsNonRoot bool           `yaml:"runAsNonRoot"`
								User         int            `yaml:"runAsUser"`
								Group        int            `yaml:"runAsGroup"`
								FSGroup      int            `yaml:"fsGroup"`
								Seccomp      map[string]any `yaml:"seccompProfile"`
							} `yaml:"securityContext"`
							Containers []struct {
								Name, Image string
								Args        []string
								Env         []struct {
									Name      string
									ValueFrom struct {
										SecretKeyRef struct {
											Name, Key string
											Optional  bool
										} `yaml:"secretKeyRef"`
									} `yaml:"valueFrom"`
								}
								Resources map[string]map[string]string
								Security  struct {
									Escalation   *bool `yaml:"allowPrivilegeEscalation"`
									ReadOnly     bool  `yaml:"readOnlyRootFilesystem"`
									Capabilities struct{ Drop []string }
								} `yaml:"securityContext"`
								VolumeMounts []struct {
									Name      string
									MountPath string `yaml:"mountPath"`
									ReadOnly  bool   `yaml:"readOnly"`
								} `yaml:"volumeMounts"`
							}
							Volumes []struct {
								Name      string
								ConfigMap *named `yaml:"configMap"`
								Claim     *struct {
									Name string `yaml:"claimName"`
								} `yaml:"persistentVolumeClaim"`
								EmptyDir map[string]any               `yaml:"emptyDir"`
								Host     *struct{ Path, Type string } `yaml:"hostPath"`
							}
						}
					}
				}
			} `yaml:"jobTemplate"`
		}
	}
	dec.KnownFields(true)
	if err := dec.Decode(&job); err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.JobTemplate.Spec.Template.Spec
	if job.Kind != "CronJob" || job.APIVersion != "batch/v1" || job.Spec.ConcurrencyPolicy != "Forbid" || pod.RestartPolicy != "Never" || len(strings.Fields(job.Spec.Schedule)) != 5 || len(pod.Containers) != 1 {
		t.Fatalf("%+v", job)
	}
	c := pod.Containers[0]
	if !pod.Security.RunAsNonRoot || pod.Security.User == 0 || !c.Security.ReadOnly || c.Security.Escalation == nil || *c.Security.Escalation || !slices.Equal(c.Security.Capabilities.Drop, []string{"ALL"}) || c.Resources["limits"]["memory"] == "" {
		t.Errorf("it is not kept in: %+v", c)
	}
	runs(t, "cronjob.yaml", c.Args)
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = v.ConfigMap != nil || v.Claim != nil || v.Host != nil || v.EmptyDir != nil
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("no volume %s", m.Name)
		}
	}
}

// The Dockerfile's lines are instructions that there are; the last stage is
// empty but for a static binary, and not run by root.
func TestDockerfileExample(t *testing.T) {
	text := strings.ReplaceAll(example(t, "Dockerfile"), "\\\n", " ")
	last, copied := map[string]string{}, 0
	stages := 0
	built := ""
	for n, l := range strings.Split(text, "\n") {
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		word, rest, _ := strings.Cut(l, " ")
		if !slices.Contains([]string{"FROM", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "ENTRYPOINT", "CMD"}, word) || rest == "" {
			t.Errorf("line %d: %q", n+1, l)
		}
		switch word {
		case "FROM":
			stages++
			last, copied = map[string]string{}, 0
		case "COPY":
			copied++
			if from, ok := strings.CutPrefix(rest, "--from="); stages == 2 && (!ok || !strings.HasPrefix(from, "build ")) {
				t.Errorf("line %d copies from outside of the build: %q", n+1, l)
			}
		case "RUN":
			built += rest + "\n"
		}
		last[word] = rest
	}
	if stages != 2 || last["FROM"] != "scratch" || last["RUN"] != "" || copied == 0 || last["ENTRYPOINT"] != `["/usr/bin/iopathy"]` {
		t.Errorf("last stage: %v", last)
	}
	if user, _, _ := strings.Cut(last["USER"], ":"); user == "" || user == "0" || user == "root" {
		t.Errorf("it is run by %q", last["USER"])
	}
	if !strings.Contains(built, "CGO_ENABLED=0 go build") {
		t.Errorf("the binary is not static: %s", built)
	}
}
