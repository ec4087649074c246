package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// Options are how patient a Bucket is and how much it keeps; zero values take
// the defaults.
type Options struct {
	BlockBytes int           // of one ranged read (1 MiB)
	Blocks     int           // that are kept in memory (64)
	Tries      int           // of a request without any progress (8)
	Pause      time.Duration // before the second try; doubles up to 100 times it (100 ms)
	Deadline   time.Duration // for a request to be answered, or to go on (30 s)
}

func (o Options) filled() Options {
	if o.BlockBytes <= 0 {
		o.BlockBytes = 1 << 20
	}
	if o.Blocks <= 0 {
		o.Blocks = 64
	}
	if o.Tries <= 0 {
		o.Tries = 8
	}
	if o.Pause <= 0 {
		o.Pause = 100 * time.Millisecond
	}
	if o.Deadline <= 0 {
		o.Deadline = 30 * time.Second
	}
	return o
}

// A Bucket is one bucket of a store. It is safe for concurrent use.
type Bucket struct {
	blob  *blob.Bucket
	name  string // its URL, for messages
	o     Options
	cache cache

	received atomic.Int64
	known    atomic.Bool // the store has answered once
}

// Received is how many bytes of objects came so far.
func (b *Bucket) Received() int64 { return b.received.Load() }

// Over makes a Bucket of one that is open; name is its URL for messages. The
// Bucket closes it.
func Over(b *blob.Bucket, name string, o Options) *Bucket {
	o = o.filled()
	return &Bucket{blob: b, name: name, o: o, cache: cache{most: o.Blocks}}
}

// Open opens the bucket of a place. It makes no request yet.
func Open(ctx context.Context, p Place, o Options) (*Bucket, error) {
	name := p.Scheme + "://" + p.Bucket
	url := name
	if p.Query != "" {
		url += "?" + p.Query
	}
	b, err := blob.OpenBucket(ctx, url)
	if err != nil {
		if strings.Contains(err.Error(), "no driver registered") {
			return nil, failure{fmt.Sprintf("bucket: this iopathy was built without %s:// (go build -tags gcs,azure links Google's and Azure's stores)", p.Scheme), err, true}
		}
		return nil, failed("open", name, err)
	}
	if b, err = quiet(ctx, b, p); err != nil {
		return nil, failed("open", name, err)
	}
	return Over(b, name, o), nil
}

// Name is its URL, without parameters.
func (b *Bucket) Name() string { return b.name }

// Close gives its connections back.
func (b *Bucket) Close() error { return b.blob.Close() }

// failure is an error of a store without what its text may hold of secrets.
type failure struct {
	text  string
	err   error
	wrong bool // see Wrong
}

func (f failure) Error() string { return f.text }

// Is lets errors.Is know what is missing.
func (f failure) Is(target error) bool {
	return target == fs.ErrNotExist && gcerrors.Code(f.err) == gcerrors.NotFound ||
		(target == context.Canceled || target == context.DeadlineExceeded || target == io.ErrUnexpectedEOF || target == ErrChanged) && errors.Is(f.err, target)
}

func failed(op, url string, err error) error {
	text, wrong := why(err)
	if text == "" {
		text = chatter.ReplaceAllString(err.Error(), "")
	}
	text = strings.Join(strings.Fields(Redact(text)), " ")
	if len(text) > 600 {
		text = text[:600] + " ..."
	}
	return failure{fmt.Sprintf("bucket: %s %s: %s", op, url, text), err, wrong}
}

func (b *Bucket) url(key string) string { return b.name + "/" + key }

// final says of an error that another try can't mend it.
func final(err error) bool {
	switch gcerrors.Code(err) {
	case gcerrors.NotFound, gcerrors.AlreadyExists, gcerrors.InvalidArgument, gcerrors.Unimplemented, gcerrors.FailedPrecondition, gcerrors.PermissionDenied:
		return true
	}
	return errors.Is(err, ErrChanged) || refused(err)
}

// pause waits before try n (from 1): twice as long each time, and up to half of
// it less, so that many that were refused at once do not come back at once.
func (b *Bucket) pause(ctx context.Context, n int) error {
	d := min(b.o.Pause<<min(n-1, 10), 100*b.o.Pause)
	d -= time.Duration(rand.Int64N(int64(d)/2 + 1))
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// again makes a request until it is answered, each try within the deadline.
func (b *Bucket) again(ctx context.Context, op, key string, deadline time.Duration, request func(ctx context.Context) error) error {
	for n := 1; ; n++ {
		one, cancel := context.WithTimeout(ctx, deadline)
		err := request(one)
		cancel()
		if answered(err) {
			b.known.Store(true)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil || final(err) || n >= b.o.Tries || !b.known.Load() && hopeless(err):
			return failed(op, b.url(key), err)
		}
		if err := b.pause(ctx, n); err != nil {
			return failed(op, b.url(key), err)
		}
	}
}

// Object is one of a listing.
type Object struct {
	Key       string
	Size      int64
	ChangedNS int64
}

// List gives the objects whose keys begin with prefix, in order of their keys.
func (b *Bucket) List(ctx context.Context, prefix string) ([]Object, error) {
	return b.ListSome(ctx, prefix, math.MaxInt)
}

// ListSome is List of the first objects: as many as that, or some more.
func (b *Bucket) ListSome(ctx context.Context, prefix string, n int) ([]Object, error) {
	var all []Object
	for token := blob.FirstPageToken; len(token) > 0 && len(all) < n; {
		err := b.again(ctx, "list", prefix, b.o.Deadline, func(ctx context.Context) error {
			page, next, err := b.blob.ListPage(ctx, token, 1000, &blob.ListOptions{Prefix: prefix})
			if err != nil {
				return err
			}
			for _, o := range page {
				if !o.IsDir && !strings.HasSuffix(o.Key, "/") { // a folder that some tools make
					all = append(all, Object{o.Key, o.Size, o.ModTime.UnixNano()})
				}
			}
			token = next
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Stat gives what a listing would of one object; the error of one that does not
// exist is fs.ErrNotExist.
func (b *Bucket) Stat(ctx context.Context, key string) (o Object, err error) {
	err = b.again(ctx, "look at", key, b.o.Deadline, func(ctx context.Context) error {
		a, err := b.blob.Attributes(ctx, key)
		if err == nil {
			o = Object{key, a.Size, a.ModTime.UnixNano()}
		}
		return err
	})
	return o, err
}

// Opened are buckets by URL, each opened once. The zero value is ready.
type Opened struct {
	Options Options
	mu      sync.Mutex
	by      map[string]*Bucket
}

// Of gives the bucket of a place. A place without parameters is reached as one
// of the same bucket was that had some.
func (s *Opened) Of(ctx context.Context, p Place) (*Bucket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := p.Scheme + "://" + p.Bucket
	b := s.by[name+"?"+p.Query]
	if b == nil && p.Query == "" {
		b = s.by[name]
	}
	if b != nil {
		return b, nil
	}
	b, err := Open(ctx, p, s.Options)
	if err != nil {
		return nil, err
	}
	if s.by == nil {
		s.by = map[string]*Bucket{}
	}
	s.by[name+"?"+p.Query], s.by[name] = b, b
	return b, nil
}

// Close closes them all.
func (s *Opened) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	done := map[*Bucket]bool{}
	for _, b := range s.by {
		if !done[b] {
			done[b] = true
			err = errors.Join(err, b.Close())
		}
	}
	s.by = nil
	return err
}

// Take gives the bucket of a place that is open already.
func (s *Opened) Take(p Place, b *Bucket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[string]*Bucket{}
	}
	s.by[p.Scheme+"://"+p.Bucket] = b
}
