package bucket

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A Place is a URL of a bucket, taken apart. Keys are literal, not
// percent-encoded, as in the stores' own tools; a '?' ends them.
type Place struct {
	Scheme string // "s3", "gs", "azblob"
	Bucket string
	Key    string // an object, or what the keys of several begin with; may be ""
	Query  string // how the store is reached; no secrets
}

// parameters are what the query of a URL may say, by scheme: where the store
// is and how to talk to it. Nothing that is secret is among them.
var parameters = map[string][]string{
	"s3": {"region", "endpoint", "use_path_style", "s3ForcePathStyle", "disable_https", "hostname_immutable", "profile", "anonymous", "dualstack", "fips",
		"accelerate", "ssetype", "kmskeyid", "rate_limiter_capacity", "request_checksum_calculation", "response_checksum_validation"},
	"gs":     {"anonymous", "grpc", "zonal"},
	"azblob": {"storage_account", "domain", "protocol", "localemu", "cdn"},
}

// IsURL says whether a source or a lake is named by a bucket's URL.
func IsURL(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	return ok && parameters[scheme] != nil
}

// LocalPath is the path that a file:// URL names, or s itself.
func LocalPath(s string) (string, error) {
	if !strings.HasPrefix(s, "file://") {
		return s, nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Host != "" && u.Host != "localhost" || u.RawQuery != "" || u.Path == "" {
		return "", fmt.Errorf("%s is no file URL such as file:///var/log/io", Redact(s))
	}
	return u.Path, nil
}

// Parse takes a bucket's URL apart. It refuses parameters that it does not
// know, and so every secret, without saying their values.
func Parse(s string) (Place, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || parameters[scheme] == nil {
		return Place{}, fmt.Errorf("bucket: %s is no URL of a bucket", Redact(s))
	}
	rest, query, _ := strings.Cut(rest, "?")
	p := Place{Scheme: scheme, Query: query}
	p.Bucket, p.Key, _ = strings.Cut(rest, "/")
	if p.Bucket == "" || strings.ContainsAny(p.Bucket, "@:#") {
		return Place{}, fmt.Errorf("bucket: %s names no bucket: %s://BUCKET/PREFIX/ is wanted, and credentials by the environment", Redact(s), scheme)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Place{}, fmt.Errorf("bucket: %s: its query can't be read", Redact(s))
	}
	for name := range values {
		if !slices.Contains(parameters[scheme], name) {
			return Place{}, fmt.Errorf("bucket: %s: %q is no parameter of %s URLs (there are %s); credentials come by the environment",
				Redact(s), shown(name), scheme, strings.Join(parameters[scheme], ", "))
		}
	}
	return p, nil
}

// shown is a name that is no value in disguise.
func shown(name string) string {
	if len(name) > 32 {
		return name[:32] + "..."
	}
	return name
}

// String is the URL without its query.
func (p Place) String() string { return p.URL(p.Key) }

// URL is that of a key in the same bucket, without a query.
func (p Place) URL(key string) string { return p.Scheme + "://" + p.Bucket + "/" + key }

// Pattern says whether the key is a glob, and what all its matches begin with.
func (p Place) Pattern() (prefix string, ok bool) {
	at := strings.IndexAny(p.Key, "*[")
	if at < 0 {
		return p.Key, false
	}
	return p.Key[:at], true
}

// Matches says whether a key fits the glob.
func (p Place) Matches(key string) bool {
	ok, err := path.Match(p.Key, key)
	return ok && err == nil
}

var (
	userinfo  = regexp.MustCompile(`(://)[^/@\s"']*@`)
	parameter = regexp.MustCompile(`([?&;])([^=&?;\s"']{1,64})=([^&\s"']*)`)
	plainWord = regexp.MustCompile(`^[A-Za-z0-9._:/\[\]%-]{0,200}$`)
)

// Redact takes out of a text what a URL in it may hold of secrets: user names
// with passwords, and the values of all parameters that are not known to be
// harmless.
func Redact(text string) string {
	text = userinfo.ReplaceAllString(text, "${1}***@")
	return parameter.ReplaceAllStringFunc(text, func(s string) string {
		m := parameter.FindStringSubmatch(s)
		for _, known := range parameters {
			if slices.Contains(known, m[2]) && plainWord.MatchString(m[3]) && !strings.Contains(m[3], "%40") {
				return s
			}
		}
		return m[1] + m[2] + "=***"
	})
}
