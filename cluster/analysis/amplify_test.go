package analysis

import (
	"math"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
)

// Two devices and one program of a host over three windows of 10 s; faults are of
// the host, so that both devices repeat them. All figures are by hand.
func TestAmplifications(t *testing.T) {
	window := func(device string, at int, kind ingest.LatencyKind, readPerS, writtenPerS, faults float64) features.Window {
		w := features.Window{Key: features.Key{Host: "h", Device: device}, StartNS: int64(at) * 10e9, EndNS: int64(at+1) * 10e9, Kind: kind, TickNS: 100e6, CoveredTicks: 100}
		w.Context[features.CtxBytesPerS] = readPerS + writtenPerS
		w.Context[features.CtxWriteBytesShare] = writtenPerS / (readPerS + writtenPerS)
		if !math.IsNaN(faults) {
			w.Evidence = []features.Reading{{Query: cluster.FaultQuery, Value: faults}}
		}
		return w
	}
	nan := math.NaN()
	check := func(what string, windows []features.Window, want map[Kind]float64, holds map[Kind]bool, says string) {
		t.Helper()
		all := Amplifications("h", features.List(windows))
		if len(all) != len(want) {
			t.Errorf("%s: %d findings, want %d: %+v", what, len(all), len(want), all)
		}
		for _, f := range all {
			v := nan
			if len(f.Figures) == 3 {
				v = f.Figures[2].Value
			}
			w, ok := want[f.Kind]
			if !ok || !(math.Abs(v-w) <= 1e-12*w || math.IsNaN(v) && math.IsNaN(w)) || f.Holds != holds[f.Kind] || !strings.Contains(f.Says, says) || f.Host != "h" || f.Device != "" {
				t.Errorf("%s: %s is %v, holds %v, want %v: %s", what, f.Kind, v, f.Holds, w, f.Says)
			}
		}
	}
	both := func(faults float64) (ws []features.Window) {
		for at := range 3 {
			ws = append(ws, window("sda", at, ingest.KindQ2C, 4096*300, 5e6, faults), window("sdb", at, ingest.KindQ2C, 4096*100, 0, faults))
		}
		return ws
	}
	// 400 pages a second from both; 320 faults a second: 0.8 a page.
	check("a fault for nearly each page", both(320), map[Kind]float64{FaultAmplification: 0.8}, map[Kind]bool{FaultAmplification: true}, "one by one")
	check("read-ahead helps", both(40), map[Kind]float64{FaultAmplification: 0.1}, nil, "several pages")
	check("no counters", both(nan), nil, nil, "")
	check("counters, nothing read", []features.Window{window("sda", 0, ingest.KindQ2C, 1, 5e6, 900)}, nil, nil, "")

	// The program read 100,000 bytes a second in two of the three windows: of the
	// devices' 1,638,400 a second those two count.
	program := func(kind ingest.LatencyKind, readPerS float64) []features.Window {
		return append(both(nan), window("db", 0, kind, readPerS, 1, nan), window("db", 1, kind, readPerS, 1, nan))
	}
	check("amplified", program(ingest.KindSyscall, 100000), map[Kind]float64{ReadAmplification: 1638400. / 100000}, map[Kind]bool{ReadAmplification: true}, "small reads")
	check("cached", program(ingest.KindApp, 16384000), map[Kind]float64{ReadAmplification: 0.1}, nil, "memory served")
	check("the lower layer is heard", append(program(ingest.KindSyscall, 1638400), window("fio", 0, ingest.KindApp, 1, 1, nan)), map[Kind]float64{ReadAmplification: 1}, nil, "1 bytes")
	check("others read", program(ingest.KindApp, 1), map[Kind]float64{ReadAmplification: nan}, nil, "others read")
}
