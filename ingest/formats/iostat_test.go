package formats

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/iopathy/iopathy/ingest"
)

// decodeAll reads an input as the reading loop does, in steps of the given
// number of bytes where the format is a stream.
func decodeAll(t testing.TB, f ingest.Format, path string, data []byte, o ingest.Options, step int) *ingest.Out {
	t.Helper()
	src := &ingest.Source{Path: path, Head: data[:min(len(data), ingest.SniffBytes)], Host: "input-00000000", Options: o}
	out := &ingest.Out{Lineno: 1}
	lines := func(line func([]byte, *ingest.Out)) {
		for l := range bytes.Lines(data) {
			line(bytes.TrimSuffix(l, []byte("\n")), out)
			out.Tally.Lines++
			out.Position += int64(len(l))
			out.Lineno++
		}
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	switch {
	case f.Line != nil:
		d, err := f.Line(src)
		check(err)
		lines(d.Line)
	case f.Lines != nil:
		d, err := f.Lines(src)
		check(err)
		lines(d.Line)
		d.End(out)
	default:
		d, err := f.Stream(src)
		check(err)
		for begin, end := 0, 0; begin < len(data) || end == 0; {
			end = min(len(data), end+step)
			took := d.Decode(data[begin:end], end == len(data), out)
			out.Position += int64(took)
			begin += took
			if end == len(data) && took == 0 {
				break
			}
		}
		d.End(out)
	}
	if got, want := out.Tally.Accounted(), out.Tally.Lines; got != want {
		t.Errorf("%s: %d of %d lines accounted for: %+v", path, got, want, out.Tally)
	}
	return out
}

// iostatOf is the text or the JSON format, by the content.
func iostatOf(data []byte) ingest.Format {
	if bytes.Contains(data, []byte(`{"sysstat"`)) {
		return IostatJSON
	}
	return Iostat
}

// only fails for rejects of any reason but since-boot, and for a number of those
// that differs.
func only(t *testing.T, out *ingest.Out, sinceBoot int64) {
	t.Helper()
	if got := out.Tally.Rejected(); got != sinceBoot || out.Tally.Rejects["since-boot"] != sinceBoot {
		t.Errorf("rejects %v, want %d since-boot", out.Tally.Rejects, sinceBoot)
	}
}

// diskstats are the counters of one device, read from /proc/diskstats.
type diskstats struct {
	reads, readMerges, readSectors, readMS     int64
	writes, writeMerges, writeSectors, writeMS int64
	inFlight, busyMS, weightedMS               int64
	discards, discardMerges, discardSectors    int64
	discardMS, flushes, flushMS                int64
}

func (a diskstats) minus(b diskstats) diskstats {
	return diskstats{
		a.reads - b.reads, a.readMerges - b.readMerges, a.readSectors - b.readSectors, a.readMS - b.readMS,
		a.writes - b.writes, a.writeMerges - b.writeMerges, a.writeSectors - b.writeSectors, a.writeMS - b.writeMS,
		a.inFlight, a.busyMS - b.busyMS, a.weightedMS - b.weightedMS,
		a.discards - b.discards, a.discardMerges - b.discardMerges, a.discardSectors - b.discardSectors,
		a.discardMS - b.discardMS, a.flushes - b.flushes, a.flushMS - b.flushMS,
	}
}

// readDiskstats gives the counters by device, in the order of the lines.
func readDiskstats(t *testing.T, data []byte) map[string][]diskstats {
	t.Helper()
	m := make(map[string][]diskstats)
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 14 || f[0] == "#" {
			continue
		}
		var v [17]int64
		for i := range min(len(v), len(f)-3) {
			n, err := strconv.ParseInt(f[3+i], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			v[i] = n
		}
		m[f[2]] = append(m[f[2]], diskstats{
			v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10],
			v[11], v[12], v[13], v[14], v[15], v[16],
		})
	}
	return m
}

// TestIostatDecimalComma: MB columns, decimal commas, dates by day, device-mapper
// names beside their disk; the recipe of a bug that several monitoring tools had.
func TestIostatDecimalComma(t *testing.T) {
	const header = "Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\n"
	var b strings.Builder
	b.WriteString("Linux 4.9.0 (db3) \t19.09.2016 \t_x86_64_\t(4 CPU)\n\n")
	for i, rows := range []string{
		"sda 0,00 11,20 31,17 99,41 0,61 2,02 41,20 0,39 2,41 1,04 2,84 0,58 7,57\nvg0-home 0,00 0,00 30,02 97,33 0,60 2,01 41,99 0,41 3,21 1,15 3,85 0,61 7,77\n",
		"sda 0,00 7,00 20,00 180,00 0,23 8,75 91,96 2,60 13,00 2,50 14,17 1,90 38,00\nvg0-home 0,00 0,00 20,00 187,00 0,23 8,75 88,85 2,70 13,04 2,50 14,17 1,84 38,00\n",
		"sda 0,00 0,00 6,00 1021,00 0,05 1031,71 2057,36 140,25 136,40 4,00 137,18 0,97 100,00\nvg0-home 0,00 0,00 6,00 1022,00 0,05 1031,71 2055,36 141,00 137,00 4,00 137,78 0,97 100,00\n",
	} {
		fmt.Fprintf(&b, "19.09.2016 13:48:0%d\navg-cpu:  %%user   %%nice %%system %%iowait  %%steal   %%idle\n           5,14    0,00    1,22    0,87    0,00   92,77\n\n%s%s\n", i+1, header, rows)
	}
	out := decodeAll(t, Iostat, "x", []byte(b.String()), ingest.DefaultOptions(), 0)
	only(t, out, 2)
	if len(out.Samples) != 4 {
		t.Fatalf("%d samples, want 4", len(out.Samples))
	}
	check := func(i int, device string, second int, reads, readBytes, writes, writeBytes int64, await, util float64) {
		t.Helper()
		s := &out.Samples[i]
		if got := out.Names.String(s.Device); got != device || out.Names.String(s.Host) != "db3" {
			t.Errorf("sample %d of %s/%s", i, out.Names.String(s.Host), got)
		}
		if want := time.Date(2016, 9, 19, 13, 48, second, 0, time.UTC).UnixNano(); s.TimeNS != want || s.IntervalNS != 1e9 {
			t.Errorf("sample %d at %d over %d", i, s.TimeNS, s.IntervalNS)
		}
		if s.Reads != reads || s.ReadBytes != readBytes || s.Writes != writes || s.WriteBytes != writeBytes {
			t.Errorf("sample %d: %d reads of %d, %d writes of %d", i, s.Reads, s.ReadBytes, s.Writes, s.WriteBytes)
		}
		if got := float64(s.ReadNS+s.WriteNS) / float64(s.Reads+s.Writes) / 1e6; math.Abs(got-await) > 0.02 {
			t.Errorf("sample %d: await %g, want %g", i, got, await)
		}
		if got := float64(s.BusyNS) / 1e7; got != util {
			t.Errorf("sample %d: util %g, want %g", i, got, util)
		}
	}
	// 0.23 MiB = 241172 bytes, 8.75 MiB = 9175040, 0.05 MiB = 52429, 1031.71 MiB = 1081826345.
	check(0, "sda", 2, 20, 241172, 180, 9175040, 13.00, 38)
	check(1, "vg0-home", 2, 20, 241172, 187, 9175040, 13.04, 38)
	check(2, "sda", 3, 6, 52429, 1021, 1081826345, 136.40, 100)
	check(3, "vg0-home", 3, 6, 52429, 1022, 1081826345, 137.00, 100)
}

// TestIostatInterval prints made counters the way iostat does, over intervals
// that it does not print, and wants the counters back.
func TestIostatInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 4))
	wrong := 0
	for round := range 200 {
		period := []int64{100, 200, 500, 1000}[round%4]
		stamps := round%3 > 0
		var b strings.Builder
		b.WriteString("Linux 6.1.0 (made) \t03/05/24 \t_x86_64_\t(2 CPU)\n\n")
		at := time.Date(2024, 3, 5, 1, 2, 3, r.IntN(1e9), time.UTC)
		var want []diskstats
		var over []int64
		for i := range 12 {
			cs := period
			if r.IntN(4) == 0 {
				cs += int64(r.IntN(3))
			}
			d := diskstats{
				reads: int64(r.IntN(900)), readMerges: int64(r.IntN(20)), readSectors: 8 * int64(r.IntN(20000)), readMS: int64(r.IntN(9000)),
				writes: int64(r.IntN(400)), writeSectors: int64(r.IntN(90000)), writeMS: int64(r.IntN(9000)), busyMS: int64(r.IntN(int(10 * cs))),
			}
			if i == 0 { // since boot
				d = diskstats{reads: 917_331, readSectors: 88_111_222, readMS: 9_111_111, writes: 7_654_321, writeSectors: 11_223_344, writeMS: 9_999_999, busyMS: 700_001}
				cs = 1_234_567
			} else {
				at = at.Add(time.Duration(cs) * 10 * time.Millisecond)
				want, over = append(want, d), append(over, cs)
			}
			if stamps {
				b.WriteString(at.Format("01/02/06 15:04:05\n"))
			}
			t := float64(cs) / 100
			await := func(ms, n int64) float64 { return float64(ms) / float64(max(n, 1)) }
			if d.reads == 0 {
				d.readMS = 0
			}
			fmt.Fprintf(&b, "Device            r/s     rkB/s   rrqm/s r_await     w/s     wkB/s   wrqm/s w_await  %%util\nsda %.2f %.2f %.2f %.2f %.2f %.2f %.2f %.2f %.2f\n\n",
				float64(d.reads)/t, float64(d.readSectors)/2/t, float64(d.readMerges)/t, await(d.readMS, d.reads),
				float64(d.writes)/t, float64(d.writeSectors)/2/t, 0.0, await(d.writeMS, d.writes), float64(d.busyMS)/t/10)
		}
		out := decodeAll(t, Iostat, "made", []byte(b.String()), ingest.DefaultOptions(), 0)
		only(t, out, 1)
		if len(out.Samples) != len(want) {
			t.Fatalf("round %d: %d samples, want %d", round, len(out.Samples), len(want))
		}
		for i, d := range want {
			s := &out.Samples[i]
			if s.IntervalNS != over[i]*1e7 {
				wrong++
				continue
			}
			if s.Reads != d.reads || s.Writes != d.writes || s.ReadMerges != d.readMerges || s.ReadBytes != d.readSectors*512 || s.WriteBytes != d.writeSectors*512 {
				t.Errorf("round %d, sample %d: %+v, want %+v", round, i, *s, d)
			}
		}
	}
	// At 10 s the digits need not tell 10.00 from 10.01 s each time.
	if wrong > 200*11/100 {
		t.Errorf("%d of %d intervals missed", wrong, 200*11)
	}
	t.Logf("%d of %d intervals missed", wrong, 200*11)
}

// TestIostatFirstReport: -y has no report since boot; the rates tell where they
// can, and the option where they can't.
func TestIostatFirstReport(t *testing.T) {
	text := func(first string) string {
		s := "Linux 6.1.0 (n1) \t03/05/24 \t_x86_64_\t(2 CPU)\n\n"
		for i, row := range []string{first, "sda 3.00 12.00 1.00 4.00 0.00", "sda 5.00 20.00 0.00 0.00 0.10"} {
			s += fmt.Sprintf("03/05/24 10:00:0%d\nDevice r/s rkB/s w/s wkB/s %%util\n%s\n\n", i, row)
		}
		return s
	}
	check := func(first string, option bool, samples int) {
		t.Helper()
		out := decodeAll(t, Iostat, "y", []byte(text(first)), ingest.Options{FirstReport: option}, 0)
		if len(out.Samples) != samples || int64(3-samples) != out.Tally.Rejected() {
			t.Errorf("first %q, option %v: %d samples, rejects %v; want %d", first, option, len(out.Samples), out.Tally.Rejects, samples)
		}
	}
	check("sda 4.37 83.20 2.91 51.10 0.40", false, 2) // averages over an uptime
	check("sda 117.00 468.00 31.00 124.00 5.40", false, 3)
	check("sda 0.00 0.00 0.00 0.00 0.00", false, 3)  // true either way
	check("sda 0.00 0.01 0.00 0.00 0.00", false, 2)  // something was read since boot
	check("sda 7.00 28.00 0.00 0.00 0.00", false, 2) // may be chance: 1 in 100
	check("sda 7.00 28.00 0.00 0.00 0.00", true, 3)
	check("sda 4.37 83.20 2.91 51.10 0.40", true, 3)
}

// TestIostatStamps reads one moment in the ways that locales write it.
func TestIostatStamps(t *testing.T) {
	check := func(want, zone string, lines ...string) {
		t.Helper()
		z, err := newIOStamps(&ingest.Source{Options: ingest.Options{Zone: zone}})
		if err != nil {
			t.Fatal(err)
		}
		z.banner([]byte("11/29/26"))
		var got int64
		ok := false
		for _, l := range lines {
			got, ok = z.parse([]byte(l))
		}
		if s := time.Unix(0, got).UTC().Format(time.RFC3339); !ok && want != "" || ok && s != want {
			t.Errorf("%q: %s %v, want %s", lines, s, ok, want)
		}
	}
	const want = "2026-11-29T12:38:44Z"
	check(want, "", "11/29/26 12:38:44")
	check(want, "", "11/29/2026 12:38:44 PM")
	check("2026-11-29T00:38:44Z", "", "11/29/2026 12:38:44 AM")
	check("2026-11-29T13:38:44Z", "", "11/29/2026 01:38:44 PM")
	check(want, "", "29.11.2026 12:38:44")
	check(want, "", "29/11/2026 12:38:44")
	check(want, "", "29/11/26 12:38:44")
	check(want, "", "29-11-26 12:38:44")
	check(want, "", "2026-11-29T12:38:44+0000")
	check(want, "", "2026-11-29T13:38:44+0100")
	check(want, "", "2026-11-29T12:38:44Z")
	check(want, "", "2026-11-29 12.38.44")
	check(want, "", "2026年11月29日 12時38分44秒")
	check(want, "", "Time: 12:38:44 PM")
	check(want, "Europe/Berlin", "29.11.2026 13:38:44")
	check(want, "Europe/Berlin", "2026-11-29T12:38:44+0000")
	check("2026-11-05T10:00:00Z", "", "11/05/26 10:00:00")
	check("2026-05-11T10:00:00Z", "", "11/05/2026 10:00:00")                    // four digits of year, 24 hours
	check("2026-05-12T00:00:00Z", "", "11/05/26 23:59:59", "12/05/26 00:00:00") // as month first it would jump a month
	check("2026-11-30T00:00:01Z", "", "Time: 11:59:59 PM", "Time: 12:00:01 AM") // past midnight
	check("2026-06-05T10:00:00Z", "", "13/05/26 10:00:00", "05/06/26 10:00:00") // settled by the 13
	check("", "", "8.59 222.14 57.08 0.00 1597749 sda")
	check("", "", "13/13/26 10:00:00")
	check("", "", "11/29/26 25:00:00")
	check("", "", "11/29/26 12:38:44 sda")
}

func TestIostatOptions(t *testing.T) {
	check := func(o ingest.Options, want string) {
		t.Helper()
		if _, err := Iostat.Lines(&ingest.Source{Options: o}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
		if _, err := IostatJSON.Stream(&ingest.Source{Options: o}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	check(ingest.Options{Zone: "Mars/Base"}, `zone "Mars/Base"`)
	check(ingest.Options{Interval: "five"}, `interval "five"`)
	check(ingest.Options{Interval: "0s"}, `interval "0s"`)
}
