package formats

import (
	"fmt"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// BenchmarkCounters reads series of counters and rates that grow, which a log
// that is repeated does not: 8 MB of each format. -cpu 1 gives one core's speed.
func BenchmarkCounters(b *testing.B) {
	const size, devices = 8_000_000, 12
	clock := func(i int) string { i %= 86400; return fmt.Sprintf("%02d:%02d:%02d", i/3600, i/60%60, i%60) }
	series := func(head string, snapshot func(w *strings.Builder, i int)) []byte {
		var w strings.Builder
		w.WriteString(head)
		for i := 0; w.Len() < size; i++ {
			snapshot(&w, i)
		}
		return []byte(w.String())
	}
	each := func(w *strings.Builder, line func(d int)) {
		for d := range devices {
			line(d)
		}
	}
	for _, c := range []struct {
		format ingest.Format
		data   []byte
	}{
		{Diskstats, series("", func(w *strings.Builder, i int) {
			fmt.Fprintf(w, "# %d.305930349\n", 1_700_000_000+i)
			each(w, func(d int) {
				fmt.Fprintf(w, "   8 %7d sd%c %d 10 %d %d %d 20 %d %d 0 %d %d 35 26 872228 10 %d 45\n", d*16, 'a'+d, 254637+i*100, 1003346126+i*800,
					18492372+i*30, 284447+i*50, 505697032+i*400, 63877960+i*12, 9653880+i*300, 82621804+i*50, 90+i)
			})
		})},
		{CgroupIO, series("", func(w *strings.Builder, i int) {
			fmt.Fprintf(w, "# %d\n", 1_700_000_000+i)
			each(w, func(d int) {
				fmt.Fprintf(w, "254:%d rbytes=%d wbytes=%d rios=%d wios=%d dbytes=0 dios=0\n", d, 598016+i*4096, 227002702848000+i*65536, 146+i, 124342581+i)
			})
		})},
		{Sar, series("Linux 6.1.0 (vm) \t2026-11-29 \t_x86_64_\t(2 CPU)\n\n", func(w *strings.Builder, i int) {
			fmt.Fprintf(w, "%s          tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %%util DEV\n", clock(i))
			each(w, func(d int) {
				fmt.Fprintf(w, "%s %12d.00 %6d.00      0.00      0.00      4.00      0.06      0.37     30.80 loop%d\n", clock(i+1), 100+i%150, 4*(100+i%150), d)
			})
		})},
		{SadfCSV, series("# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util\n", func(w *strings.Builder, i int) {
			each(w, func(d int) {
				fmt.Fprintf(w, "vm;1;2026-11-29 %s UTC;loop%d;%d.00;%d.00;0.00;0.00;4.00;0.06;0.37;30.80\n", clock(i), d, 100+i%150, 4*(100+i%150))
			})
		})},
		{Prometheus, series("", func(w *strings.Builder, i int) {
			fmt.Fprintf(w, "# %d\n", 1_700_000_000+15*i)
			for k, name := range []string{"reads_completed_total", "read_bytes_total", "read_time_seconds_total", "writes_completed_total", "io_time_seconds_total"} {
				fmt.Fprintf(w, "# HELP node_disk_%s What it counts.\n# TYPE node_disk_%s counter\n", name, name)
				each(w, func(d int) { fmt.Fprintf(w, "node_disk_%s{device=\"sd%c\"} %d\n", name, 'a'+d, 7000+(k+1)*i*10) })
			}
		})},
		{SadfJSON, series("{\"sysstat\": {\"hosts\": [{\"nodename\": \"vm\", \"file-date\": \"2026-11-29\", \"statistics\": [\n", func(w *strings.Builder, i int) {
			fmt.Fprintf(w, "\t{\n\t\t\"timestamp\": {\"date\": \"2026-11-29\", \"time\": \"%s\", \"utc\": 1, \"interval\": 1},\n\t\t\"disk\": [\n", clock(i))
			each(w, func(d int) {
				fmt.Fprintf(w, "\t\t\t{\"disk-device\": \"loop%d\", \"tps\": %d.00, \"rd_sec\": %d.00, \"wr_sec\": 0.00, \"rkB\": 4.00, \"wkB\": 0.00, \"avgrq-sz\": 8.00, \"aqu-sz\": 0.05, \"await\": 0.50, \"util-percent\": 18.00},\n", d, 100+i%150, 8*(100+i%150))
			})
			w.WriteString("\t\t]\n\t},\n")
		})},
		{PrometheusJSON, series(`{"status":"success","data":{"resultType":"matrix","result":[`, func(w *strings.Builder, i int) {
			for k, name := range []string{"reads_completed_total", "read_bytes_total", "io_time_seconds_total"} {
				fmt.Fprintf(w, `{"metric":{"__name__":"node_disk_%s","device":"sd%d","instance":"h:9100"},"values":[`, name, i)
				for j := range 2000 {
					fmt.Fprintf(w, `[%d,"%d"],`, 1_700_000_000+15*j, (k+1)*j*10)
				}
				w.WriteString("]},")
			}
		})},
	} {
		s := sample{format: c.format, path: "series", data: c.data, o: ingest.DefaultOptions()}
		b.Run("format="+c.format.Name, func(b *testing.B) {
			b.SetBytes(int64(len(s.data)))
			b.ReportAllocs()
			for range b.N {
				if rep := read(b, s, 1, func(*ingest.Chunk) {}).rep; rep.Samples == 0 || rep.Tally.Rejected() > 0 {
					b.Fatalf("%d samples, %s", rep.Samples, fates(rep.Tally))
				}
			}
		})
	}
}
