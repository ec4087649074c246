package ingest

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(paths ...string) {
		for _, p := range paths {
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, []byte(p), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("logs/b.csv", "logs/a.csv", "logs/.hidden", "logs/.git/config", "logs/x.parquet", "logs/labels.csv",
		"logs/host=h%20/n/c.csv", "logs/host=h2/host=h3/d.csv", "logs/lake/.lock", "logs/lake/runs/1.json",
		"out/report.json", "out/report.html", "out/labels.csv", "out/trace.txt", "one[1].csv")
	if err := os.Symlink("../logs", "logs/loop"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.csv", "logs/link.csv"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", "logs/dangling"); err != nil {
		t.Fatal(err)
	}
	check := func(sources, host, want, wantSkips string) {
		t.Helper()
		inputs, skips, err := Resolve(strings.Fields(sources), strings.NewReader("stdin"), Options{Host: host})
		if err != nil {
			t.Errorf("%s: %v", sources, err)
		}
		var got, left []string
		for _, in := range inputs {
			s := filepath.ToSlash(in.Path)
			if in.Host != "" {
				s += "(" + in.Host + ")"
			}
			got = append(got, s)
		}
		for _, s := range skips {
			left = append(left, filepath.ToSlash(s.Path)+": "+s.Reason)
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: inputs\n%s, want\n%s", sources, g, want)
		}
		if l := strings.Join(left, "; "); l != wantSkips {
			t.Errorf("%s: left out\n%s, want\n%s", sources, l, wantSkips)
		}
	}
	check("logs", "", "logs/a.csv logs/b.csv logs/host=h%20/n/c.csv(h ) logs/host=h2/host=h3/d.csv(h3) logs/labels.csv logs/link.csv",
		"logs/.git: hidden; logs/.hidden: hidden; logs/dangling: a link to nothing; logs/lake: a lake of iopathy; logs/loop: a link to a directory; logs/x.parquet: a Parquet file")
	check("out", "me", "out/trace.txt(me)", "out/labels.csv: written by iopathy; out/report.html: written by iopathy; out/report.json: written by iopathy")
	check("logs/b.csv logs/a.csv ./logs/a.csv", "", "logs/a.csv logs/b.csv", "")
	check("logs/?.csv -", "", "- logs/a.csv logs/b.csv", "")
	check("logs/* -", "", "- logs/a.csv logs/b.csv logs/host=h%20/n/c.csv(h ) logs/host=h2/host=h3/d.csv(h3) logs/labels.csv logs/link.csv",
		"logs/.git: hidden; logs/.hidden: hidden; logs/dangling: a link to nothing; logs/lake: a lake of iopathy; logs/loop: a link to a directory; logs/x.parquet: a Parquet file")
	check("logs/loop/host=h2", "", "logs/loop/host=h2/host=h3/d.csv(h3)", "")
	check("logs/loop/", "", "logs/loop/a.csv logs/loop/b.csv logs/loop/host=h%20/n/c.csv(h ) logs/loop/host=h2/host=h3/d.csv(h3) logs/loop/labels.csv logs/loop/link.csv",
		"logs/loop/.git: hidden; logs/loop/.hidden: hidden; logs/loop/dangling: a link to nothing; logs/loop/lake: a lake of iopathy; logs/loop/loop: a link to a directory; logs/loop/x.parquet: a Parquet file")
	check("one[1].csv", "", "one[1].csv", "")
	check("out/report.json logs/.hidden", "", "logs/.hidden out/report.json", "") // named, so wanted

	fails := func(source, want string) {
		t.Helper()
		if _, _, err := Resolve([]string{"logs", source}, nil, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", source, err, want)
		}
	}
	fails("absent.csv", "source absent.csv does not exist")
	fails("*.log", "source *.log matches nothing")
	fails("-", "there is no standard input")

	inputs, _, _ := Resolve([]string{"-", "logs/a.csv"}, strings.NewReader("stdin"), Options{})
	for i, want := range []string{"stdin", "logs/a.csv"} {
		r, err := inputs[i].Open()
		if err != nil {
			t.Fatal(err)
		}
		if data, _ := io.ReadAll(r); string(data) != want {
			t.Errorf("%s holds %q", inputs[i].Path, data)
		}
		r.Close()
	}
	if _, err := inputs[0].Open(); err == nil {
		t.Error("the standard input was opened twice")
	}
}

func TestIdentity(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 2*IdentityBytes/16)
	open := func(data string) Input {
		return Input{Path: "in", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(data)), nil }}
	}
	check := func(name string, in Input, n int, want string, bytes int) {
		t.Helper()
		id, got, err := Identify(in, Options{ReadBytes: 1000}, n)
		if err != nil || id != want || got != bytes {
			t.Errorf("%s: %s of %d bytes, %v; want %s of %d", name, id, got, err, want, bytes)
		}
	}
	// Oracle: printf abc | sha256sum.
	const abc = "ba7816bf8f01cfea414140de5dae2223"
	check("abc", open("abc"), 0, abc, 3)
	check("grown", open("abcdef"), 3, abc, 3)
	check("compressed", open(string(gzipped([]byte("abc")))), 0, abc, 3)
	check("head", open(long), 0, Identity([]byte(long[:IdentityBytes])), IdentityBytes)
	check("head of a longer one", open(long+"x"), 0, Identity([]byte(long[:IdentityBytes])), IdentityBytes)
}
