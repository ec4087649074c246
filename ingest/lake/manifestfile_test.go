package lake

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// The file of a manifest is what encoding/json writes and reads.
func TestManifestFile(t *testing.T) {
	part := func(path string) Part {
		return Part{Path: path, Rows: 3, Bytes: 9, Blocks: []string{"ab", "cd"}}
	}
	full := Manifest{
		Schema: Schema, Run: "r<1>", Sequence: 7, Version: "v1 & \"more\"", Options: json.RawMessage(`{"a":[1,{"b":null}],"inputs":[]}`),
		Inputs: []Input{
			{ID: "x", Path: "a\n\u2028b", Tally: json.RawMessage(`{"lines":2}`), Parts: []Part{part("events/1"), part("events/2")}},
			{ID: "y", Below: map[string][]string{"dm-0": {"sda", "sdb"}}, Parts: []Part{}},
		},
		Parts: []Part{part("windows/1")}, Removed: []string{"ticks/<0>", "ticks/1"},
		Cells:   []Cell{{Host: "h", Date: "2026-01-02", Of: "00", Devices: json.RawMessage(`[{"host":"h"}]`)}, {}},
		Bundles: []Part{{Path: "b", Blocks: []string{"2"}}}, Judged: []Judged{{Day{"h", "d"}, "of"}}, Closed: []Day{{"h", "c"}}, Folded: true,
	}
	for v, i := reflect.ValueOf(full), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Fatalf("the full manifest has no %s: is it written and read?", v.Type().Field(i).Name)
		}
	}
	for name, m := range map[string]Manifest{"full": full, "empty": {Inputs: []Input{}}, "one": {Run: "1", Inputs: full.Inputs[:1]}} {
		var got bytes.Buffer
		if m.Folded { // a line for each element, and the same when it is read
			if err := m.encode(&got); err != nil {
				t.Fatal(err)
			}
			var back Manifest
			if err := back.decode(&got); err != nil || !reflect.DeepEqual(plain(t, m), plain(t, back)) {
				t.Errorf("%s, folded: read %+v, %v, want %+v", name, back, err, m)
			}
			got.Reset()
			m.Folded = false
		}
		want, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := m.encode(&got); err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want)+"\n" {
			t.Errorf("%s: written\n%s\nwant\n%s", name, got.String(), want)
		}
		var one, two Manifest
		if err := json.Unmarshal(want, &one); err != nil {
			t.Fatal(err)
		}
		if err := two.decode(&got); err != nil || !reflect.DeepEqual(one, two) {
			t.Errorf("%s: read %+v, %v, want %+v", name, two, err, one)
		}
		for cut := range len(want) {
			var m Manifest
			if err := m.decode(bytes.NewReader(want[:cut])); err == nil {
				t.Fatalf("%s: its first %d bytes are a manifest", name, cut)
			}
		}
	}
	for _, text := range []string{"[]", "{} {}", `{"inputs":{}}`, `{"inputs":[1]}`, `{"parts":"x"}`, `{"run":1}`, "null", `{"cells":[{}}`} {
		var m Manifest
		if err := m.decode(strings.NewReader(text)); err == nil {
			t.Errorf("%s is a manifest: %+v", text, m)
		}
	}
	var m Manifest
	if err := m.decode(strings.NewReader(`{"later":{"x":[]},"run":"1","inputs":null}`)); err != nil || m.Run != "1" {
		t.Error("a field of a later version:", err)
	}
}

// plain is a manifest as encoding/json writes it.
func plain(t *testing.T, m Manifest) string {
	t.Helper()
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
