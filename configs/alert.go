package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"
)

// Alert is what a pager is told after a night.
type Alert struct {
	Severity float64 `mapstructure:"severity"` // of an episode, at least, for the webhook and the text
	Metrics  string  `mapstructure:"metrics"`  // file for node_exporter's textfile collector
	Webhook  Webhook `mapstructure:"webhook"`
	Text     Text    `mapstructure:"text"`
}

// Webhook is a receiver of JSON by HTTP.
type Webhook struct {
	URL        string        `mapstructure:"url"`         // http or https; empty: none
	SecretFile string        `mapstructure:"secret_file"` // holds the key of the signature; the environment may, too
	Timeout    time.Duration `mapstructure:"timeout"`     // of one request
	Tries      int           `mapstructure:"tries"`       // of a message in a night
	Queue      int           `mapstructure:"queue"`       // messages that wait for a receiver that is down, at most
}

// Text is the words for a chat or an e-mail.
type Text struct {
	Template string `mapstructure:"template"` // file, text/template; empty: the shipped one
	File     string `mapstructure:"file"`     // that a night's words are written to; empty: none
}

// Actuator is a system that acts on episodes: a command, or a receiver by HTTP.
type Actuator struct {
	Command    []string `mapstructure:"command"`    // program and arguments, no shell; JSON on its standard input
	Severity   float64  `mapstructure:"severity"`   // of an episode, at least
	Confidence float64  `mapstructure:"confidence"` // of an episode, at least
	DryRun     bool     `mapstructure:"dry_run"`    // only write down what would be sent

	URL        string        `mapstructure:"url"`
	SecretFile string        `mapstructure:"secret_file"`
	Timeout    time.Duration `mapstructure:"timeout"` // of one command or request
	Tries      int           `mapstructure:"tries"`
	Queue      int           `mapstructure:"queue"`
}

// Webhook is how an actuator is reached by HTTP.
func (a Actuator) Webhook() Webhook {
	return Webhook{a.URL, a.SecretFile, a.Timeout, a.Tries, a.Queue}
}

func defaultAlert() Alert {
	return Alert{Severity: 4, Webhook: Webhook{Timeout: 10 * time.Second, Tries: 5, Queue: 100}}
}

func defaultActuator() Actuator {
	return Actuator{Command: []string{}, Severity: 4, Confidence: 0.8, DryRun: true, Timeout: 10 * time.Second, Tries: 3, Queue: 1000}
}

// A Secret is never printed.
type Secret struct{ text []byte }

// Bytes is the secret itself.
func (s Secret) Bytes() []byte { return s.text }

// String hides it.
func (s Secret) String() string { return hidden(len(s.text) > 0) }

// GoString hides it.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func hidden(set bool) string {
	if set {
		return "(hidden)"
	}
	return ""
}

// SecretEnv is the environment variable that may hold the secret of a receiver,
// "alert.webhook" or "actuator".
func SecretEnv(key string) string { return EnvName(key + ".secret") }

// Secrets are those that the environment holds, hidden: what else there is to
// show of the settings.
func Secrets() []Value {
	var all []Value
	for _, key := range []string{"actuator", "alert.webhook"} {
		if s := os.Getenv(SecretEnv(key)); s != "" {
			all = append(all, Value{Key: key + ".secret", Value: Secret{[]byte(s)}, Source: FromEnv})
		}
	}
	return all
}

// shortestKey is the least bytes of the key of pseudonyms: with a shorter one, names
// could be tried out.
const shortestKey = 16

// AnonymiseKey reads the key of the pseudonyms; an empty one if names stay.
func (c *Config) AnonymiseKey() (Secret, error) {
	if c.Anonymise == "" {
		return Secret{}, nil
	}
	s, err := readSecret("anonymise", c.Anonymise)
	if err == nil && len(s.text) < shortestKey {
		return Secret{}, fmt.Errorf("config: anonymise: the key in %s has %d bytes, it needs %d: head -c 32 /dev/urandom | base64 makes one", c.Anonymise, len(s.text), shortestKey)
	}
	return s, err
}

// largestSecret bounds the file of a secret.
const largestSecret = 4096

// ReadSecret gives the secret of the receiver that the settings call key: that
// of the environment, else that of the file; without its last line end. None is
// an empty one.
func (w Webhook) ReadSecret(key string) (Secret, error) {
	if s := os.Getenv(SecretEnv(key)); s != "" {
		return Secret{[]byte(s)}, nil
	}
	if w.SecretFile == "" {
		return Secret{}, nil
	}
	return readSecret(key+".secret_file", w.SecretFile)
}

// readSecret reads the file that a setting names.
func readSecret(key, path string) (Secret, error) {
	f, err := os.Open(path)
	if err != nil {
		return Secret{}, fmt.Errorf("config: %s: %w", key, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, largestSecret+1))
	if err != nil {
		return Secret{}, fmt.Errorf("config: %s: %w", key, err)
	}
	if b = bytes.TrimRight(b, "\r\n"); len(b) == 0 || len(b) > largestSecret {
		return Secret{}, fmt.Errorf("config: %s: %s holds no secret, or one of more than %d bytes", key, path, largestSecret)
	}
	return Secret{b}, nil
}

// checkURL says what is wrong with the address of a receiver. It does not
// repeat it: addresses of chats are secrets.
func checkURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return errors.New("is no URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("want http or https, a host and a path")
	case u.User != nil:
		return errors.New("a name and a password don't belong into it")
	}
	return nil
}

// check gives what is wrong with the settings below key.
func (w Webhook) check(key string, bad func(key, format string, args ...any)) {
	if err := checkURL(w.URL); err != nil {
		bad(key+".url", "%v", err)
	}
	if w.Timeout <= 0 {
		bad(key+".timeout", "%v is not a positive duration", w.Timeout)
	}
	if w.Tries < 1 || w.Tries > 100 {
		bad(key+".tries", "%d is not between 1 and 100", w.Tries)
	}
	if w.Queue < 1 || w.Queue > 100_000 {
		bad(key+".queue", "%d is not between 1 and 100000", w.Queue)
	}
}

func (c *Config) checkAlerts(bad func(key, format string, args ...any)) {
	if !(c.Alert.Severity >= 0) {
		bad("alert.severity", "%v is negative", c.Alert.Severity)
	}
	c.Alert.Webhook.check("alert.webhook", bad)
	a := &c.Actuator
	if !(a.Severity >= 0) {
		bad("actuator.severity", "%v is negative", a.Severity)
	}
	if !(a.Confidence >= 0 && a.Confidence <= 1) {
		bad("actuator.confidence", "%v is not between 0 and 1", a.Confidence)
	}
	if len(a.Command) > 0 && a.Command[0] == "" {
		bad("actuator.command", "its first word is empty")
	}
	if len(a.Command) > 0 && a.URL != "" {
		bad("actuator.url", "there is a command, too: give one of them")
	}
	a.Webhook().check("actuator", bad)
}

// secretKeys are settings whose values are not to be seen by all.
var secretKeys = map[string]bool{"alert.webhook.url": true, "actuator.url": true}

// Shown is the value as it may be printed: of an address scheme and host.
func (v Value) Shown() string {
	if s, is := v.Value.(string); is && secretKeys[v.Key] && s != "" {
		if u, err := url.Parse(s); err == nil && u.Host != "" {
			return u.Scheme + "://" + u.Host + "/(hidden)"
		}
		return hidden(true)
	}
	return fmt.Sprint(v.Value)
}
