package bucket

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestCredentials holds what S3's server is sent against where the credentials lie: in
// the environment, in the shared file, in a profile of it that the environment or the
// URL names, or nowhere.
func TestCredentials(t *testing.T) {
	var mu sync.Mutex
	var sent string
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		sent = r.Header.Get("Authorization")
		mu.Unlock()
		w.Header().Set("ETag", `"one"`)
		http.ServeContent(w, r, "", time.Unix(1e9, 0), strings.NewReader("data"))
	})}
	go func() { _ = srv.Serve(l) }() // ends with Close
	t.Cleanup(func() { srv.Close() })
	dir := t.TempDir()
	shared, config := filepath.Join(dir, "credentials"), filepath.Join(dir, "config")
	for path, text := range map[string]string{
		shared: "[default]\naws_access_key_id = IDSHARED\naws_secret_access_key = hush\n[work]\naws_access_key_id = IDWORK\naws_secret_access_key = hush\n",
		config: "[default]\nregion = eu-1\n[profile work]\nregion = eu-2\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		env   map[string]string
		query string
		want  string // the beginning of Credential=; "": the request is not signed
		err   string
	}{
		"environment":                {env: map[string]string{"AWS_ACCESS_KEY_ID": "IDENV", "AWS_SECRET_ACCESS_KEY": "hush", "AWS_REGION": "eu-9"}, want: "IDENV/*/eu-9/"},
		"environment before file":    {env: map[string]string{"AWS_ACCESS_KEY_ID": "IDENV", "AWS_SECRET_ACCESS_KEY": "hush", "AWS_SHARED_CREDENTIALS_FILE": shared, "AWS_CONFIG_FILE": config}, want: "IDENV/*/eu-1/"},
		"shared file":                {env: map[string]string{"AWS_SHARED_CREDENTIALS_FILE": shared, "AWS_CONFIG_FILE": config}, want: "IDSHARED/*/eu-1/"},
		"profile by the environment": {env: map[string]string{"AWS_SHARED_CREDENTIALS_FILE": shared, "AWS_CONFIG_FILE": config, "AWS_PROFILE": "work"}, want: "IDWORK/*/eu-2/"},
		"profile by the URL":         {env: map[string]string{"AWS_SHARED_CREDENTIALS_FILE": shared, "AWS_CONFIG_FILE": config}, query: "&profile=work", want: "IDWORK/*/eu-2/"},
		"anonymous":                  {env: map[string]string{"AWS_REGION": "eu-9"}, query: "&anonymous=true"},
		"none":                       {env: map[string]string{"AWS_REGION": "eu-9"}, err: "there are no credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, key := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"} {
				t.Setenv(key, "")
			}
			t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
			t.Setenv("AWS_CONFIG_FILE", os.DevNull)
			for key, value := range c.env {
				t.Setenv(key, value)
			}
			mu.Lock()
			sent = ""
			mu.Unlock()
			p, err := Parse("s3://b?endpoint=http://" + l.Addr().String() + "&use_path_style=true" + c.query)
			if err != nil {
				t.Fatal(err)
			}
			b, err := Open(context.Background(), p, Options{Tries: 1})
			if err == nil {
				defer b.Close()
				_, err = b.Get(context.Background(), "k", 10)
			}
			if c.err != "" {
				if !Wrong(err) || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want one of %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			who, where, _ := strings.Cut(c.want, "*")
			if c.want == "" && sent != "" || !strings.Contains(sent, who) || !strings.Contains(sent, where) || strings.Contains(sent, "hush") || c.want != "" && !strings.Contains(sent, "Credential="+who) {
				t.Errorf("signed by %q, want %q", sent, c.want)
			}
		})
	}
}
