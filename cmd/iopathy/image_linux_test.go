package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"
)

// image makes by hand what the Dockerfile's last stage makes: a root directory, the user
// and the entry point. With build its own command builds the program; else the test's
// binary takes its place, and there are folders for the libraries that it asks for.
func image(t *testing.T, build bool) (root string, uid, gid uint32, entry string) {
	t.Helper()
	work := t.TempDir()
	root = filepath.Join(work, "root")
	made := filepath.Join(work, "out") // the build stage's /out
	for _, d := range []string{root, made} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	copied := regexp.MustCompile(`^COPY --from=build (?:--chown=(\d+):(\d+) )?(\S+) (\S+)$`)
	stage := 0
	for line := range strings.Lines(strings.ReplaceAll(example(t, "Dockerfile"), "\\\n", " ")) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "FROM":
			stage++
		case stage == 1 && word == "RUN" && build:
			cmd := exec.Command("/bin/sh", "-c", strings.ReplaceAll(rest, "/out/", made+"/"))
			cmd.Dir = "../.."
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", rest, err, said)
			}
		case stage == 1 && word == "RUN" && strings.Contains(rest, "go build"):
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			if said, err := exec.Command("cp", self, filepath.Join(made, "iopathy")).CombinedOutput(); err != nil {
				t.Fatal(err, string(said))
			}
			for _, d := range []string{filepath.Join(made, "state"), filepath.Join(root, "lib"), filepath.Join(root, "lib64"), filepath.Join(root, "usr/lib")} {
				if err := os.MkdirAll(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		case stage == 2 && word == "COPY":
			m := copied.FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("%q", line)
			}
			from, to := m[3], filepath.Join(root, m[4])
			if below, ok := strings.CutPrefix(from, "/out/"); ok {
				from = filepath.Join(made, below)
			} else if !exists(from) {
				continue // of the build image: certificates
			}
			if strings.HasSuffix(m[4], "/") {
				to = filepath.Join(to, filepath.Base(from))
			}
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if said, err := exec.Command("cp", "-rL", from, to).CombinedOutput(); err != nil {
				t.Fatal(err, string(said))
			}
			if m[1] != "" {
				if said, err := exec.Command("chown", "-R", m[1]+":"+m[2], to).CombinedOutput(); err != nil {
					t.Fatal(err, string(said))
				}
			}
		case stage == 2 && word == "USER":
			if _, err := fmt.Sscanf(rest, "%d:%d", &uid, &gid); err != nil {
				t.Fatal(line, err)
			}
		case stage == 2 && word == "ENTRYPOINT":
			entry = strings.Trim(rest, `[]"`)
		}
	}
	return root, uid, gid, entry
}

// bind shows a directory at another place until the test ends.
func bind(t *testing.T, from, to string, readOnly bool) {
	t.Helper()
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(from, to, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("a mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(to, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if readOnly {
		if err := syscall.Mount("", to, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// TestImage does nights in what the Dockerfile makes, as the CronJob has it done: its
// arguments, its settings, its user, its mounts, a root file system that can't be written, no
// network, no capabilities. There is no runtime of containers in it: chroot and mounts do
// what one does.
func TestImage(t *testing.T) {
	if testing.Short() || os.Getuid() != 0 {
		t.Skip("needs root for mounts, and some seconds")
	}
	build := os.Getenv("IOPATHY_SOAK_IMAGE") != ""
	root, uid, gid, entry := image(t, build)
	if build {
		if said, err := exec.Command("file", "-b", filepath.Join(root, entry)).Output(); err == nil && !strings.Contains(string(said), "statically linked") {
			t.Errorf("the program: %s", said)
		}
	}
	var settings struct{ Data map[string]string }
	var job struct {
		Spec struct {
			JobTemplate struct {
				Spec struct {
					Template struct {
						Spec struct {
							Containers []struct {
								Args         []string
								VolumeMounts []struct {
									Name      string
									MountPath string `yaml:"mountPath"`
									ReadOnly  bool   `yaml:"readOnly"`
								} `yaml:"volumeMounts"`
							}
							Security struct {
								User  uint32 `yaml:"runAsUser"`
								Group uint32 `yaml:"runAsGroup"`
							} `yaml:"securityContext"`
						}
					}
				}
			} `yaml:"jobTemplate"`
		}
	}
	dec := yaml.NewDecoder(strings.NewReader(example(t, "cronjob.yaml")))
	for _, part := range []any{&settings, &job} {
		if err := dec.Decode(part); err != nil {
			t.Fatal(err)
		}
	}
	pod := job.Spec.JobTemplate.Spec.Template.Spec
	if pod.Security.User != uid || pod.Security.Group != gid || uid == 0 {
		t.Errorf("the CronJob runs it as %d:%d, the image as %d:%d", pod.Security.User, pod.Security.Group, uid, gid)
	}
	volumes := map[string]string{}
	for _, m := range pod.Containers[0].VolumeMounts {
		dir := t.TempDir()
		volumes[m.Name] = dir
		if !m.ReadOnly {
			if err := os.Chown(dir, int(uid), int(gid)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(filepath.Join(root, m.MountPath), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, filepath.Join(root, "usr/bin"))
	bind(t, root, root, true)
	for _, m := range pod.Containers[0].VolumeMounts {
		bind(t, volumes[m.Name], filepath.Join(root, m.MountPath), m.ReadOnly)
	}
	if !build {
		for _, d := range []string{"/lib", "/lib64", "/usr/lib"} {
			if exists(d) {
				bind(t, d, filepath.Join(root, d), true)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(volumes["settings"], "iopathy.yaml"), []byte(settings.Data["iopathy.yaml"]), 0o644); err != nil {
		t.Fatal(err)
	}
	eventFile(t, filepath.Join(volumes["logs"], "a.csv"), 1, 3, 300_000)
	start := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.Command(entry, args...)
		cmd.Dir, cmd.Env = "/", []string{asMain + "=1"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uid, Gid: gid}, Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWPID}
		said, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Skipf("a process of its own: %v", err)
		}
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Fatalf("%v: exit code %d, want %d: %s", args, code, want, said)
		}
		return string(said)
	}
	if said := start(exitFine, "--help"); !strings.Contains(said, "nightly") {
		t.Errorf("--help: %s", said)
	}
	start(exitFine, "version")
	args := pod.Containers[0].Args
	start(exitFine, args...)
	state := volumes["state"]
	for _, name := range []string{"index.html", "iopathy.prom", "nights/2023-11-14/report.html", "nights/2023-11-14/report.json", "lake/registry.json"} {
		info, err := os.Stat(filepath.Join(state, name))
		if err != nil {
			t.Error(err)
		} else if owner := info.Sys().(*syscall.Stat_t).Uid; owner != uid {
			t.Errorf("%s belongs to user %d", name, owner)
		}
	}
	idle := stamps(t, filepath.Join(state, "lake"))
	start(exitFine, args...)
	if !maps.Equal(idle, stamps(t, filepath.Join(state, "lake"))) {
		t.Error("the second night, with nothing new, changed the lake")
	}
	eventFile(t, filepath.Join(volumes["logs"], "b.csv"), 25, 3, 300_000)
	start(exitFine, args...)
	start(exitFine, "verify", "/var/lib/iopathy/lake", "--quiet")
	if said := start(exitFailed, "run", "/var/log/io", "--out", "/elsewhere"); !strings.Contains(said, "read-only file system") {
		t.Errorf("it writes beside its volumes: %s", said)
	}
	if files, err := os.ReadDir(volumes["tmp"]); err != nil || len(files) > 0 {
		t.Errorf("left in /tmp: %v, %v", files, err)
	}
	if !maps.Equal(before, tree(t, filepath.Join(root, "usr/bin"))) {
		t.Error("the image is another than before")
	}
}
