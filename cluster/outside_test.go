package cluster

import (
	"strings"
	"testing"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/reduce"
)

// Six sick windows after six healthy ones, with what other sources tell of each:
// what explains an episode by other than storage is said where it holds while the
// device is sick and not before, and never without its source.
func TestOutside(t *testing.T) {
	r := shippedRules(t)
	check := func(what string, residual float64, tell func(sick bool) []features.Reading, want string) {
		t.Helper()
		var points []reduce.Point
		var d []Diagnosis
		for at := range 12 {
			w := healthyWindow("sda", at)
			w.Evidence = tell(at >= 6)
			p := reduce.Point{Window: &w}
			p.Vector[features.LatencyLoadResidual] = residual
			x := Diagnosis{Key: w.Key, StartNS: w.StartNS, EndNS: w.EndNS, Verdict: Healthy}
			if at >= 6 {
				x.Verdict, x.Pathology = Sick, "queue-saturation"
			}
			points, d = append(points, p), append(d, x)
		}
		e := []Episode{{Key: d[6].Key, FromNS: d[6].StartNS, ToNS: d[11].EndNS, Pathology: "queue-saturation"}}
		a := asides{w: r.Witness()}
		for i := range points {
			a.add(int32(i), &points[i], d[i].Verdict)
			if i >= 6 && i <= 11 {
				a.belongs(int32(i), 0)
			}
		}
		a.end(e)
		got := ""
		for i := range e[0].Outside {
			got += e[0].Outside[i].ID + ": " + e[0].Outside[i].Words() + "; "
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	of := func(name string, healthy, sick float64) func(bool) []features.Reading {
		q := query(t, r, name)
		return func(ill bool) []features.Reading {
			if ill {
				return []features.Reading{{Query: q, Value: sick}}
			}
			return []features.Reading{{Query: q, Value: healthy}}
		}
	}
	steal, gpu, cpu := `level("cpu_steal_share")`, `level("gpu_sm_share")`, `level("psi_cpu_some_share")`
	check("the hypervisor takes the CPUs while it is sick", 0.8, of(steal, 0.01, 0.5),
		`cpu-stolen: the hypervisor takes the CPUs away for a tenth of the time or more, so that completions wait for a CPU of the guest, in 6 of 6 of its windows (level("cpu_steal_share") up to 0.5), against 0 of 6 healthy ones; `)
	check("it takes them all the time", 0.8, of(steal, 0.5, 0.5), "")
	check("it hardly takes any", 0.8, of(steal, 0.01, 0.02), "")
	check("nothing tells of them", 0.8, func(bool) []features.Reading { return nil }, "")
	check("only the sick windows have a source", 0.8, func(ill bool) []features.Reading {
		if ill {
			return of(steal, 0, 0.5)(true)
		}
		return nil
	}, "cpu-stolen: the hypervisor takes the CPUs away for a tenth of the time or more, so that completions wait for a CPU of the guest, in 6 of 6 of its windows (level(\"cpu_steal_share\") up to 0.5); no healthy window")
	check("programs wait for CPUs and the device is quick", 0, of(cpu, 0.01, 0.6), "cpu-queue: ")
	check("programs wait for CPUs, but the device is slow", 0.8, of(cpu, 0.01, 0.6), "")
	check("the GPUs are always busy", 0.8, of(gpu, 0.97, 0.97), "gpu-bound: ")
	check("the GPUs wait for the data", 0.8, of(gpu, 0.97, 0.2), "")
}
