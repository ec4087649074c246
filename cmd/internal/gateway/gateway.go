// Package gateway starts a real server of S3 for tests: versitygw, over a directory.
// Nothing but tests imports it.
package gateway

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Command is how the server is installed.
const Command = "go install github.com/versity/versitygw/cmd/versitygw@v1.8.0"

// Bucket is the bucket that it has.
const Bucket = "lakes"

// Query is what a URL of the bucket needs behind it for a server at an address.
func Query(addr string) string {
	return "?endpoint=http://" + addr + "&use_path_style=true&region=us-east-1"
}

// Start gives the address of a server, and the directory that the bucket's objects lie
// in. The test's environment has the credentials from then on. IOPATHY_VERSITYGW names
// the command, where it has another name or place; where there is none the test is
// skipped.
func Start(t *testing.T) (addr, dir string) {
	t.Helper()
	command := os.Getenv("IOPATHY_VERSITYGW")
	if command == "" {
		command = "versitygw"
	}
	path, err := exec.LookPath(command)
	if err != nil {
		t.Skip("there is no versitygw: " + Command)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	dir = filepath.Join(root, Bucket)
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	var words bytes.Buffer
	cmd := exec.Command(path, "--port", addr, "posix", root)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY=who", "ROOT_SECRET_KEY=hush-hush")
	cmd.Stdout, cmd.Stderr = &words, &words
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has no state of ours
		_ = cmd.Wait()
	})
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "who", "AWS_SECRET_ACCESS_KEY": "hush-hush", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	for range 600 {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return addr, dir
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("versitygw does not answer")
	return "", ""
}
