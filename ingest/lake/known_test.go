package lake

import "testing"

func TestKnown(t *testing.T) {
	in := func(path, head, seen string, parts ...Part) Input {
		i := Input{Path: path, ID: headID([]byte(head)), HeadBytes: len(head), Parts: parts}
		if seen != "" {
			i.SeenID, i.SeenBytes = headID([]byte(seen)), len(seen)
		}
		return i
	}
	part := Part{Path: "events/x"}
	k := NewKnown([]Manifest{
		{Inputs: []Input{in("empty", "", ""), in("long", "time,host\n1,a\n", "", part), in("header", "time,host\n", "")}},
		{Inputs: []Input{in("one", "time,host\n2,b\n", "", part), in("other", "x", "", part)}},
		{Inputs: []Input{in("grown", "time,host\n2,b\n", "time,host\n2,b\n3,c\n", part), in("again", "x", "", part)}},
		{Inputs: []Input{in("copy", "time,host\n2,b\n", "time,host\n2,", nil...)}}, // an older copy, read beside the other
	})
	for head, want := range map[string]string{
		"time,host\n1,a\n":           "long",
		"time,host\n1,a\n2,b\n":      "long",
		"time,host\n2,b\n3,c\n4,d\n": "grown", // begins with all that was seen of it
		"time,host\n2,b\n":           "grown", // an older copy
		"time,host\n2,":              "grown",
		"time,host\n2,b\n9,z\n":      "", // goes on otherwise than what was seen
		"time,host\n9,z\n":           "", // no more than the header is known
		"time,host\n":                "",
		"xyz":                        "again",
		"time":                       "",
		"":                           "",
	} {
		got, ok := k.Find([]byte(head))
		if got.Path != want || ok != (want != "") {
			t.Errorf("%q is known as %q, %v, want %q", head, got.Path, ok, want)
		}
	}
}
