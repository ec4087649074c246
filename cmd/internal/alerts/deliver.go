package alerts

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/configs"
)

// The headers of a request. The signature is "sha256=" and the HMAC-SHA256
// (RFC 2104) of the body in hexadecimal, as GitHub signs its webhooks.
const (
	SignatureHeader = "X-Iopathy-Signature-256"
	IDHeader        = "X-Iopathy-Id"
)

// errRefused is the end of a message that its receiver will never take.
var errRefused = errors.New("refused")

// receiver takes one message, or says why it did not.
type receiver interface {
	take(ctx context.Context, id string, body []byte) error
}

// byHTTP is a receiver at an address. Redirects are not followed: they would
// carry a message to where nobody said that it may go.
type byHTTP struct {
	client  *http.Client
	url     string
	secret  configs.Secret
	timeout time.Duration
	agent   string
}

func newByHTTP(w configs.Webhook, key, version string) (*byHTTP, error) {
	secret, err := w.ReadSecret(key)
	if err != nil {
		return nil, err
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &byHTTP{client, w.URL, secret, w.Timeout, "iopathy/" + version}, nil
}

// Sign is the value of the signature's header.
func Sign(secret, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body) // never fails
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func (h *byHTTP) take(ctx context.Context, id string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address can't be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", h.agent)
	req.Header.Set(IDHeader, id)
	if s := h.secret.Bytes(); len(s) > 0 {
		req.Header.Set(SignatureHeader, Sign(s, body))
	}
	res, err := h.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the address is a secret
		}
		return err
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10) // so that the connection can be used again; what it says is not needed
	switch {
	case res.StatusCode >= 200 && res.StatusCode < 300:
		return nil
	case res.StatusCode == http.StatusBadRequest, res.StatusCode == http.StatusRequestEntityTooLarge, res.StatusCode == http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: status %d", errRefused, res.StatusCode)
	}
	return fmt.Errorf("status %d", res.StatusCode)
}

// byCommand is a program that reads a message on its standard input.
type byCommand struct {
	argv    []string
	timeout time.Duration
}

// saidBytes is how much of what a command that failed has said is told.
const saidBytes = 500

func (c byCommand) take(ctx context.Context, id string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Stdin = bytes.NewReader(body)
	var said tail
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second // children that hold its output open
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, configs.EnvPrefix+"_")
	}), "IOPATHY_ACTION_ID="+id)
	endGroup(cmd)
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("took more than %v", c.timeout)
	}
	if s := strings.TrimSpace(string(said.kept)); s != "" {
		return fmt.Errorf("%w: %s", err, inert(s))
	}
	return err
}

// tail keeps the end of what is written.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-saidBytes):]
	return len(p), nil
}

// Waits between tries: doubling from the first to the longest, each shortened
// by up to a half, at random by a seed, so that many hosts don't come at once.
const (
	firstWait   = time.Second
	longestWait = time.Minute
)

// backOff is the wait after the n-th try that failed, n from 0.
func backOff(rng *rand.Rand, n int) time.Duration {
	d := longestWait
	if n < 10 {
		d = min(d, firstWait<<n)
	}
	return d - time.Duration(rng.Int64N(int64(d)/2+1))
}

// sender empties a queue into a receiver.
type sender struct {
	queue queue
	to    receiver
	tries int
	rng   *rand.Rand
	wait  func(context.Context, time.Duration) error
	what  string // in words
	say   func(format string, args ...any)
}

// pause waits, or ends with the context.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// send sends what waits, the oldest first, until the receiver does not take
// one: that and those after it wait for the next night.
func (s *sender) send(ctx context.Context) error {
	st, waiting, err := s.queue.load()
	if err != nil {
		return err
	}
	for i, e := range waiting {
		body, err := os.ReadFile(e.path)
		if err != nil {
			return fmt.Errorf("alerts: queue: %w", err)
		}
		var failed error
		if !slices.Contains(st.Sent, e.id) {
			failed = s.try(ctx, e.id, body)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(failed, errRefused):
			s.say("%s: message %s is given up: %v", s.what, e.id, failed)
		case failed != nil:
			s.say("%s: %s left waiting for the next night: %v", s.what, cluster.Counted(len(waiting)-i, "message"), failed)
			return nil
		}
		if err := s.queue.taken(e, failed != nil); err != nil {
			return err
		}
	}
	return nil
}

// try sends one message until it is taken, refused, or has been tried enough.
func (s *sender) try(ctx context.Context, id string, body []byte) (err error) {
	for n := range s.tries {
		if err = s.to.take(ctx, id, body); err == nil || errors.Is(err, errRefused) || ctx.Err() != nil {
			return err
		}
		if n+1 < s.tries {
			if stopped := s.wait(ctx, backOff(s.rng, n)); stopped != nil {
				return stopped
			}
		}
	}
	return fmt.Errorf("%d tries: %w", s.tries, err)
}
