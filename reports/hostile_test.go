package reports

import (
	"strings"

	"github.com/iopathy/iopathy/features"
)

// hostileNames are what a log may call a device.
var hostileNames = []features.Key{
	{Host: "</script><img onerror=alert(1)>", Device: "<img src=x onerror=alert(1)>"},
	{Host: "\u202egnp.exe", Device: "a\nb\r\u2028c\x00d"},
	{Host: strings.Repeat("long ", 2000), Device: "\"'`;${alert(1)}{{.}}"},
	{Host: "&#34;});alert(1);//", Device: "__f__alert(1)__f__"},
	{Host: "\xff\xfe", Device: "<!--"},
}

// hostile renames the first devices of in, their diagnoses and episodes, and
// lets evidence, causes and inputs speak hostile words too.
func hostile(in *Input) {
	names := map[features.Key]features.Key{}
	for i := range in.Windows.Len() {
		k := in.Windows.At(i).Key
		if _, ok := names[k]; !ok {
			names[k] = k
			if n := len(names) - 1; n < len(hostileNames) {
				names[k] = hostileNames[n]
			}
		}
		in.Windows.At(i).Key = names[k]
		in.Result.Diagnoses.At(i).Key = names[k]
		for e := range in.Result.Diagnoses.At(i).Evidence {
			in.Result.Diagnoses.At(i).Evidence[e] = "</script><img onerror=alert(2)>"
		}
		for c := range in.Result.Diagnoses.At(i).Causes {
			in.Result.Diagnoses.At(i).Causes[c].Name = "<b onmouseover=alert(3)>cause</b>"
		}
	}
	for i := range in.Result.Episodes {
		in.Result.Episodes[i].Key = names[in.Result.Episodes[i].Key]
	}
	in.Title = "</title><script>alert(4)</script>"
	in.Config = "</pre><script>alert(5)</script>"
	in.Ingest.Problems = append(in.Ingest.Problems, "<script>alert(6)</script>")
	in.Ingest.Sources[0].Name = "</script><img onerror=alert(7)>"
	in.Ingest.Sources[0].Rejects["<script>alert(8)</script>"] = 3
	in.Catalogue.Pathologies[0].Name = "</script><script>alert(9)</script>"
	in.Catalogue.Pathologies[0].Colour = "red;background:url(http://x/)"
}
