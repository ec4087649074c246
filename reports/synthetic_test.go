package reports

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/heatmap"
	"github.com/iopathy/iopathy/reduce"
)

// epoch is 2026-03-14 02:00:00 UTC, on the grid of 10 s windows.
const epoch = int64(1773453600) * 1e9

const windowNS = int64(10e9)

// illness is how a pathology shows in the made data: factors on the healthy
// level, and the direction of its deviation.
type illness struct {
	slug, name, colour, symptom string
	iops, latency, depth        float64
	z                           map[int]float64
	evidence, cause             string
}

var illnesses = []illness{
	{"queue-saturation", "Queue saturation", "#D55E00", "The queue is deep while throughput no longer rises; latency grows with depth.", 1.1, 9, 14, map[int]float64{4: 7, 0: 2, 6: 3}, "mean depth 96 at flat throughput", "Too many jobs for the device"},
	{"burst-congestion", "Burst congestion", "#E69F00", "Periodic bursts queue behind one another while mean use stays low.", 0.6, 3, 5, map[int]float64{7: 6, 5: 4, 2: 4}, "period of 1.2 s, peak depth 22 times the mean", "Synchronised ranks"},
	{"media-degradation", "Media degradation", "#CC79A7", "Latency is high and throughput low although little is in flight.", 0.12, 22, 0.8, map[int]float64{0: 8, 1: 3, 6: 2}, "71 % of slow reads fall in one region; latency is 22 times that of like devices at this depth", "Read retries on a region"},
	{"bandwidth-saturation", "Bandwidth saturation", "#0072B2", "Large I/O runs against a flat ceiling; latency stays on a plateau.", 0.5, 3, 6, map[int]float64{3: 8, 6: 3, 4: 3}, "throughput flat at 480 MB/s", "Link or slot limit"},
	{"metadata-storm", "Metadata storm", "#009E73", "Many tiny synchronous writes and flushes, journal commits.", 1.4, 2.4, 1.2, map[int]float64{9: 8, 6: 2}, "62 % of I/O is flush, FUA or metadata", "fsync for each record"},
	{"cache-thrash", "Cache thrash", "#56B4E9", "The same blocks are read again and again without staying in memory.", 2.2, 1.2, 2, map[int]float64{10: 8, 6: 3}, "58 % of reads fetch a block read within 30 s", "Working set above the memory limit"},
	{"sudden-stall", "Sudden stall", "#7B3FA0", "Completions stop, then drain in a burst.", 0.3, 40, 9, map[int]float64{11: 8, 1: 5, 5: 3}, "nothing completed for 4.1 s with 31 in flight", "Controller reset"},
	{"writeback-stall", "Writeback stall", "#8C6D31", "Periodic floods of big writes delay the rest.", 0.7, 7, 8, map[int]float64{8: 8, 7: 3, 4: 2}, "91 % of written bytes fall in 4 of 100 ticks", "Checkpoint of an application"},
}

func madeCatalogue() cluster.Catalogue {
	var c cluster.Catalogue
	for i, l := range illnesses {
		c.Pathologies = append(c.Pathologies, cluster.Pathology{
			ID: i + 1, Slug: l.slug, Name: l.name, Symptom: l.symptom, Colour: l.colour,
			Tells:  []cluster.Tell{{Fact: "mean_depth", From: 4, Says: "{} requests are in flight on average"}, {Fact: "latency_over_normal", From: 1.15, Says: "a request takes {} times its normal latency"}},
			Advice: []string{"Look at the processes that queue most on this device in the sick windows.", "Repeat the load at half the depth; the latency should fall in proportion if this is the cause."},
		})
	}
	return c
}

// made builds an Input of the given size: the first sick devices each have an
// illness from some window on; one device has gaps, one lost samples, one
// idles.
func made(devices, windows, sick int, seed uint64) *Input {
	rng := rand.New(rand.NewPCG(seed, 1))
	in := &Input{Version: "v0.1.0-test", Catalogue: madeCatalogue(), Config: "window: 10s\ntick: 100ms\ncluster:\n  k: 8\n", Model: "fitted on this input; priors of the shipped model", Seed: 7}
	var ws []features.Window
	var points []reduce.Point
	var said []cluster.Diagnosis
	members := map[int]int{}
	classDevices := map[int]map[features.Key]bool{}
	for d := range devices {
		key := features.Key{Host: fmt.Sprintf("h%02d", 1+d*7%31), Device: fmt.Sprintf("sd%c%d", 'a'+d%16, d)}
		if d%5 == 2 {
			key.Device = fmt.Sprintf("nvme%dn1", d%9+d)
		}
		ill := -1
		if d < sick {
			ill = d % len(illnesses)
			if d == sick-1 {
				ill = len(illnesses) // unrecognised
			}
		}
		from, to := windows/4+d%9, windows
		if d%3 == 1 {
			to = windows - windows/5
		}
		level := 400 + 3600*rng.Float64()
		rest := 0.15 + 1.5*rng.Float64()
		var episode cluster.Episode
		for t := range windows {
			if d == devices-1 && (t < windows/5 || t > windows*4/5) {
				continue
			}
			w := features.Window{Key: key, StartNS: epoch + int64(t)*windowNS, EndNS: epoch + int64(t+1)*windowNS, TickNS: 1e8, Coverage: 1, Known: 1, CoveredTicks: 100}
			for k := range w.Context {
				w.Context[k] = math.NaN()
			}
			wave := 1 + 0.35*math.Sin(float64(t)/6+float64(d)) + 0.1*rng.NormFloat64()
			iops, latency, depth := level*math.Max(wave, 0.05), rest*(0.9+0.2*rng.Float64()), 1+3*rng.Float64()
			dia := cluster.Diagnosis{Key: key, StartNS: w.StartNS, EndNS: w.EndNS, Verdict: cluster.Healthy, Severity: 0.2 + 0.5*rng.Float64(), Confidence: 0.94, Coverage: 1, Model: "fitted"}
			p := reduce.Point{Normal: reduce.Normal{Value: 6.1, Source: "group", Group: "SSD-A", Windows: 412}}
			for k := range p.Z {
				p.Z[k] = 0.6 * rng.NormFloat64()
				p.Vector[k] = 0.1 + 0.05*rng.NormFloat64()
			}
			switch {
			case ill >= 0 && t >= from && t < to:
				severity := math.Min(1.5+float64(d*5%8)+0.7*rng.Float64()+float64(t-from)/float64(windows), 10)
				dia.Verdict, dia.Severity, dia.Confidence, dia.Margin, dia.ClassID = cluster.Sick, severity, 0.7+0.25*rng.Float64(), 0.31, ill+1
				scaleZ := severity / 6
				if ill < len(illnesses) {
					l := illnesses[ill]
					iops, latency, depth = iops*l.iops, latency*l.latency, depth*l.depth
					dia.Pathology, dia.Nearest, dia.Evidence = l.slug, l.slug, []string{l.evidence, "like devices show nothing of the kind"}
					dia.RootCause, dia.RootCauseShare = "cause-a", 0.72
					dia.Causes = []cluster.Cause{{ID: "cause-a", Name: l.cause, Votes: 18, Of: 25, Share: 0.72, Low: 0.524, High: 0.857}, {ID: "cause-b", Name: "Another load on the same device", Votes: 7, Of: 25, Share: 0.28, Low: 0.143, High: 0.476}}
					for k, z := range l.z {
						p.Z[k] += z * scaleZ
						p.Vector[k] += 0.08 * z * scaleZ
					}
				} else {
					iops, latency = iops*0.4, latency*6
					dia.Pathology, dia.Nearest, dia.Confidence = cluster.Unrecognised, "sudden-stall", 0.38
					p.Z[1] += 5 * scaleZ
					p.Z[2] += 4 * scaleZ
				}
				members[ill+1]++
				if classDevices[ill+1] == nil {
					classDevices[ill+1] = map[features.Key]bool{}
				}
				classDevices[ill+1][key] = true
				if episode.Windows == 0 {
					episode = cluster.Episode{Key: key, FromNS: w.StartNS, Pathology: dia.Pathology, ClassID: ill + 1, Causes: dia.Causes, Evidence: dia.Evidence, Confidence: dia.Confidence}
				}
				episode.Windows++
				episode.ToNS = w.EndNS
				episode.Severity = math.Max(episode.Severity, severity)
				episode.SickSeconds += 10
				episode.DelayedBytes += iops * 10 * 16384
			case d == devices-2 && t%2 == 0, d == devices-3:
				w.Idle, dia.Verdict, dia.Severity, dia.Confidence = true, cluster.Idle, 0, 0
				iops, latency, depth = 0.1, math.NaN(), 0
				p = reduce.Point{Normal: p.Normal}
			case d == devices-4 && t > windows/2 && t < windows/2+4:
				w.Coverage, dia.Coverage, dia.Verdict, dia.Confidence = 0.41, 0.41, cluster.Artefact, 0
			}
			w.Requests = int64(iops * 10)
			w.Context[features.CtxIOPS], w.Context[features.CtxLatencyMean], w.Context[features.CtxMeanDepth] = iops, latency, depth
			w.Context[features.CtxBytesPerS], w.Context[features.CtxLatencyP50], w.Context[features.CtxLatencyP99] = iops*16384, latency*0.8, latency*4
			w.Context[features.CtxPeakDepth], w.Context[features.CtxReadShare] = math.Ceil(depth*3), 0.7
			w.Context[features.CtxSizeP50], w.Context[features.CtxErrors] = 16384, 0
			w.Vector = p.Vector
			if d%11 == 4 {
				w.Missing |= 1 << features.SyncMetadataShare
			}
			p.Y = make([]float64, 3)
			for k, z := range p.Z {
				p.Y[0] += z * math.Cos(float64(k)*0.9) / 2
				p.Y[1] += z * math.Sin(float64(k)*1.7) / 2
				p.Y[2] += z / 6
			}
			ws, points, said = append(ws, w), append(points, p), append(said, dia)
		}
		if episode.Windows > 0 {
			s := episode.Severity
			episode.Level = map[bool]string{true: "critical"}[s >= 7]
			if s < 7 && s >= 4 {
				episode.Level = "bad"
			} else if s < 4 && s >= 2 {
				episode.Level = "warn"
			}
			in.Result.Episodes = append(in.Result.Episodes, episode)
		}
	}
	for i := range points {
		points[i].Window = &ws[i]
	}
	in.Windows, in.Points, in.Result.Diagnoses = features.List(ws), features.List(points), features.List(said)
	sortEpisodes(in.Result.Episodes)
	in.Result.Model, in.Result.Why = "fitted", ""
	in.Result.Silhouette = 0.41
	for id := 1; id <= len(illnesses)+1; id++ {
		if members[id] == 0 {
			continue
		}
		c := cluster.Class{ID: id, Pathology: cluster.Unrecognised, Nearest: "sudden-stall", Score: 0.41, Members: members[id], Devices: len(classDevices[id]), Purity: 0.93, Silhouette: 0.46, Deciding: []int{1, 2}}
		c.Prototype[1], c.Prototype[2] = 5, 4
		if id <= len(illnesses) {
			l := illnesses[id-1]
			c.Pathology, c.Nearest, c.Score = l.slug, l.slug, 0.83
			c.Deciding, c.Prototype = nil, features.Vector{}
			for k := range features.N {
				if z := l.z[k]; z != 0 {
					c.Prototype[k] = z
					c.Deciding = append(c.Deciding, k)
				}
			}
			slices.SortStableFunc(c.Deciding, func(a, b int) int { return cmp.Compare(c.Prototype[b], c.Prototype[a]) })
			c.Causes = []cluster.Cause{{ID: "cause-a", Name: l.cause, Votes: 31, Of: 44, Share: 0.705, Low: 0.558, High: 0.818}, {ID: "cause-b", Name: "Another load on the same device", Votes: 10, Of: 44, Share: 0.227, Low: 0.128, High: 0.370}, {ID: "cause-c", Name: "Firmware or thermal throttling", Votes: 3, Of: 44, Share: 0.068, Low: 0.023, High: 0.182}}
		}
		in.Result.Classes = append(in.Result.Classes, c)
	}
	n := 200
	for i := range 15 {
		m := cluster.Merge{A: n + n - 3 - i, B: i, Height: 0.92 - 0.05*float64(i) - 0.004*float64(i*i%7), Size: float64(n - 6*i)}
		in.Result.Top = append(in.Result.Top, m)
	}
	// A tree with two arms: the top merge joins steps 197 and 196.
	in.Result.Top[0].B = n + n - 4
	in.Result.Top[1].A, in.Result.Top[1].B = n+n-5, n+n-7
	in.Result.Top[2].A, in.Result.Top[2].B = n+n-6, n+n-8
	for i := 3; i < 15; i++ {
		in.Result.Top[i].A = n + n - 6 - i
	}
	for k := 6; k <= 10; k++ {
		in.Result.Cuts = append(in.Result.Cuts, cluster.Cut{K: k, Classes: k, Stability: 0.97 - 0.03*math.Abs(float64(k-8)), Silhouette: 0.41 - 0.02*math.Abs(float64(k-8)), Height: 0.62 - 0.05*float64(k-6)})
	}
	for a := range 10 {
		axis := Axis{Share: []float64{0.31, 0.2, 0.14, 0.1, 0.08, 0.05, 0.04, 0.03, 0.02, 0.017}[a]}
		for k := range axis.Loading {
			axis.Loading[k] = math.Cos(float64((a+1)*(k+1))*0.8) * 0.6
		}
		in.Axes = append(in.Axes, axis)
	}
	for i := range 6 {
		in.Ingest.Sources = append(in.Ingest.Sources, Source{
			Name: fmt.Sprintf("night/trace-%02d.blkparse.gz", i), Format: "blkparse", Clock: "relative by --clock-offset", SHA256: fmt.Sprintf("%064x", 0x9e3779b97f4a7c15*uint64(i+1)),
			Lines: 120000, Events: 28000, EventLines: 112000, Merged: 1800, Notes: 6100,
			Rejects: map[string]int64{"bad-time": 40, "short-line": int64(3 * i)}, Unpaired: map[string]int64{"no-complete": int64(60 - 3*i)},
		})
	}
	in.Ingest.Devices = []DeviceSources{{
		Host: in.Windows.At(0).Host, Device: in.Windows.At(0).Device, Coverage: 0.995,
		Recordings: []Recording{
			{Inputs: []string{"trace.blkparse"}, Format: "blkparse", Rank: "block trace", Kind: "q2c", FromNS: in.Windows.At(0).StartNS, ToNS: in.Windows.At(0).EndNS,
				Requests: 4000, Bytes: 16384000, UsedNS: 10e9, Used: [][2]int64{{in.Windows.At(0).StartNS, in.Windows.At(0).EndNS}}, Stretches: 1, Counters: "iostat"},
			{Inputs: []string{"snoop.txt"}, Format: "biosnoop", Rank: "driver trace", Kind: "d2c", FromNS: in.Windows.At(0).StartNS, ToNS: in.Windows.At(0).EndNS,
				Requests: 3990, Bytes: 16343040, Check: Check{3990, 16343040, 4000, 16384000}},
		},
	}}
	in.Ingest.Problems = []string{"the clock went backwards by 0.4 s in night/trace-03.blkparse.gz"}
	in.Scale = heatmap.Scale{}
	return in
}

func sortEpisodes(e []cluster.Episode) {
	for i := range e {
		for k := i; k > 0 && e[k].Severity > e[k-1].Severity; k-- {
			e[k], e[k-1] = e[k-1], e[k]
		}
	}
}

// gathered is gather of an input that belongs together.
func gathered(t testing.TB, in *Input) *facts {
	t.Helper()
	f, err := gather(in)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
