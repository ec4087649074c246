package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The example for Slurm does with sbatch what one run does: a stand-in for sbatch runs
// each array one task after the other, with the program itself.
func TestSlurmExample(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which has others of its kind")
	}
	logs, _ := unpackDemo(t)
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("../../configs/examples/slurm.sh")
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put("iopathy", "#!/bin/sh\nexec \"$IOPATHY\" \"$@\" --host demo --quiet\n")
	put("sbatch", `#!/bin/sh
echo "$@" >>"$DIR/calls"
last=0
for a; do case "$a" in --array=0-*) last=${a#--array=0-} ;; --*) ;; *) break ;; esac; shift; done
i=0
while [ $i -le $last ]; do SLURM_ARRAY_TASK_ID=$i bash "$@" >>"$DIR/log" 2>&1 || exit 1; i=$((i+1)); done
echo 77
`)
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), asMain+"=1", "IOPATHY="+self, "DIR="+dir, "N=3", "LOGS="+logs, "OUT="+filepath.Join(dir, "out"), "PATH="+dir+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatalf("%s: %v\n%s%s", name, err, out, log)
		}
	}
	run("bash", script)
	run(self, "run", logs, "--host", "demo", "--quiet", "--out", filepath.Join(dir, "one"))
	for _, name := range []string{"report.json", "labels.csv", "labels.parquet"} {
		a, err1 := os.ReadFile(filepath.Join(dir, "one", name))
		b, err2 := os.ReadFile(filepath.Join(dir, "out", name))
		if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: %v %v, differs from that of one run", name, err1, err2)
		}
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil || strings.Count(string(calls), "--dependency=afterok:77") != 2 || strings.Count(string(calls), "--array=0-2") != 2 {
		t.Errorf("sbatch was called so: %v\n%s", err, calls)
	}
}

// The Jobs of the example for Kubernetes are three, and what they run are verbs and
// flags that there are.
func TestKubernetesExample(t *testing.T) {
	f, err := os.Open("../../configs/examples/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	type job struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct {
			Name   string
			Labels map[string]string
		}
		Spec struct {
			CompletionMode string `yaml:"completionMode"`
			Completions    int
			Parallelism    int
			Template       struct {
				Spec struct {
					RestartPolicy string `yaml:"restartPolicy"`
					Containers    []struct {
						Command, Args []string
						VolumeMounts  []struct{ Name string } `yaml:"volumeMounts"`
					}
					Volumes []struct{ Name string }
				}
			}
		}
	}
	var steps []string
	for dec := yaml.NewDecoder(f); ; {
		var j job
		if err := dec.Decode(&j); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pod := j.Spec.Template.Spec
		if j.Kind != "Job" || j.APIVersion != "batch/v1" || pod.RestartPolicy != "OnFailure" || len(pod.Containers) != 1 || len(pod.Volumes) != 1 || pod.Volumes[0] != pod.Containers[0].VolumeMounts[0] {
			t.Errorf("%+v", j)
			continue
		}
		steps = append(steps, j.Metadata.Labels["step"])
		words := strings.Fields(pod.Containers[0].Args[0])
		indexed := j.Spec.CompletionMode == "Indexed"
		if got := strings.Contains(pod.Containers[0].Args[0], fmt.Sprintf(`--shard "$JOB_COMPLETION_INDEX/%d"`, j.Spec.Completions)); got != indexed || j.Spec.Parallelism != j.Spec.Completions {
			t.Errorf("%s: indexed %v, %v", j.Metadata.Name, indexed, words)
		}
		root := (&app{}).root()
		cmd, _, err := root.Find(words[1:])
		if err != nil || words[0] != "iopathy" || cmd == root {
			t.Errorf("%v: no verb: %v", words, err)
			continue
		}
		for _, w := range words {
			if name, ok := strings.CutPrefix(w, "--"); ok && cmd.Flags().Lookup(name) == nil && root.PersistentFlags().Lookup(name) == nil {
				t.Errorf("%s has no flag --%s", cmd.Name(), name)
			}
		}
	}
	if fmt.Sprint(steps) != "[read fold merge]" {
		t.Errorf("the steps are %v", steps)
	}
}
