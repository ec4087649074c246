package formats

import (
	"strconv"
	"strings"
	"testing"

	"github.com/iopathy/iopathy/ingest"
)

// TestEscapedNames: a name is the same whichever tool tells it and however it
// escapes what it must.
func TestEscapedNames(t *testing.T) {
	check := func(f ingest.Format, log string, want ...string) {
		t.Helper()
		out := decodeAll(t, f, "log", []byte(log), ingest.Options{}, 1<<16)
		var w strings.Builder
		dump(&w, &ingest.Batch{Events: out.Events, Samples: out.Samples, Names: out.Names})
		for _, name := range want {
			if !strings.Contains(w.String(), " "+strconv.Quote(name)+" ") {
				t.Errorf("%s: no %q in\n%s", f.Name, name, w.String())
			}
		}
	}
	check(Dftracer, `{"id":1,"name":"HH","cat":"dftracer","pid":1,"tid":1,"ph":"M","args":{"name":"node\u00e9","value":7}}
{"id":2,"name":"FH","cat":"dftracer","pid":1,"tid":1,"ph":"M","args":{"name":"/data/\"\ud83d\ude00\\x","value":9}}
{"id":3,"name":"read","cat":"POSIX","pid":1,"tid":1,"ts":1700000000000000,"dur":120,"ph":"X","args":{"hhash":7,"fhash":9,"ret":4096,"count":8192}}
`, "nodeé", `/data/"😀\x`)
	check(Dftracer, `{"name":"read","cat":"POSIX","pid":1,"tid":1,"ts":"1700000000000000","dur":"120","ph":"X","args":{"hostname":"a\u002fb","fname":"\/d\u00fc","ret":"4096"}}
`, "/dü")
	series := func(line func(name, value string) string) string {
		var w strings.Builder
		for _, name := range []string{"reads_completed", "read_bytes", "read_time_seconds", "writes_completed", "written_bytes", "write_time_seconds", "io_time_seconds"} {
			w.WriteString(line("node_disk_"+name+"_total", "10"))
		}
		return w.String()
	}
	text := func(name, _ string) string { return name + `{device="dm\\0\"a",instance="h:9100"} ` }
	check(Prometheus, "# 1700000000\n"+series(func(n, v string) string { return text(n, v) + "10\n" })+"# 1700000015\n"+series(func(n, v string) string { return text(n, v) + "20\n" }), `dm\0"a`)
	check(PrometheusJSON, `{"status":"success","data":{"resultType":"matrix","result":[`+strings.TrimSuffix(series(func(n, _ string) string {
		return `{"metric":{"__name__":"` + n + `","device":"dm\\0\"\u0061","instance":"h:9100"},"values":[[1700000000,"10"],[1700000015,"20"]]},`
	}), ",")+`]}}`, `dm\0"a`)
}
