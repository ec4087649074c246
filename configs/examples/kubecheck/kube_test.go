package kubecheck

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// objects decodes all that a file describes, strictly: a field that the API does not
// have, or that has another type, fails.
func objects(t *testing.T, file string) (jobs []batch.JobSpec, kinds string) {
	t.Helper()
	text, err := os.ReadFile("../" + file)
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq("\n"+string(text), "\n---\n") {
		var head struct {
			APIVersion, Kind string
			Metadata         struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(part), &head); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		kinds += fmt.Sprintf("%s/%s %s\n", head.APIVersion, head.Kind, head.Metadata.Name)
		strict := func(into any) {
			if err := yaml.UnmarshalStrict([]byte(part), into); err != nil {
				t.Errorf("%s: %s: %v", file, head.Kind, err)
			}
		}
		switch head.Kind {
		case "ConfigMap":
			strict(&core.ConfigMap{})
		case "Job":
			var j batch.Job
			strict(&j)
			jobs = append(jobs, j.Spec)
		case "CronJob":
			var j batch.CronJob
			strict(&j)
			if j.Spec.ConcurrencyPolicy != batch.ForbidConcurrent {
				t.Errorf("%s: nights may overlap: %q", file, j.Spec.ConcurrencyPolicy)
			}
			jobs = append(jobs, j.Spec.JobTemplate.Spec)
		default:
			t.Errorf("%s: a %s", file, head.Kind)
		}
	}
	return jobs, kinds
}

func TestExamples(t *testing.T) {
	for file, want := range map[string]string{
		"cronjob.yaml":    "v1/ConfigMap iopathy\nbatch/v1/CronJob iopathy\n",
		"kubernetes.yaml": "batch/v1/Job iopathy-read\nbatch/v1/Job iopathy-fold\nbatch/v1/Job iopathy-merge\n",
	} {
		jobs, kinds := objects(t, file)
		if kinds != want {
			t.Errorf("%s holds %q, want %q", file, kinds, want)
		}
		for _, j := range jobs {
			pod := j.Template.Spec
			// What the API server refuses of jobs.
			if pod.RestartPolicy != core.RestartPolicyNever && pod.RestartPolicy != core.RestartPolicyOnFailure {
				t.Errorf("%s: a job does not restart by %q", file, pod.RestartPolicy)
			}
			if j.CompletionMode != nil && *j.CompletionMode == batch.IndexedCompletion && (j.Completions == nil || j.Parallelism == nil) {
				t.Errorf("%s: an indexed job without completions and parallelism", file)
			}
			volumes := map[string]bool{}
			for _, v := range pod.Volumes {
				volumes[v.Name] = true
			}
			for _, c := range pod.Containers {
				for _, m := range c.VolumeMounts {
					if !volumes[m.Name] {
						t.Errorf("%s: no volume %s", file, m.Name)
					}
				}
				for name, q := range c.Resources.Requests {
					if most, ok := c.Resources.Limits[name]; ok && q.Cmp(most) > 0 {
						t.Errorf("%s: more %s is asked for than allowed", file, name)
					}
				}
				if c.Resources.Limits.Memory().IsZero() {
					t.Errorf("%s: no limit of memory", file)
				}
			}
		}
	}
}

// The check can fail.
func TestStrict(t *testing.T) {
	text, err := os.ReadFile("../cronjob.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, job, _ := bytes.Cut(text, []byte("\n---\n"))
	for _, wrong := range [][2]string{{"concurrencyPolicy", "concurencyPolicy"}, {"runAsNonRoot: true", "runAsNonRoot: perhaps"}, {"backoffLimit: 2", "backoffLimit: few"}, {"claimName", "claim"}, {"memory: 1Gi", "memory: much"}} {
		bad := bytes.Replace(job, []byte(wrong[0]), []byte(wrong[1]), 1)
		if bytes.Equal(bad, job) || yaml.UnmarshalStrict(bad, &batch.CronJob{}) == nil {
			t.Errorf("%q in the place of %q is taken", wrong[1], wrong[0])
		}
	}
}
