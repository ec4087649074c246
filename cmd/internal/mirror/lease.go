package mirror

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/ingest/lake"
)

const (
	writerDir = ".writer/"
	probeDir  = ".probe/"
)

// lease is the right to write in a lake of a bucket: the object .writer/N that
// was put when there was no other, or in place of N-1 that nobody renewed any
// more. Whose number is the highest holds it.
type lease struct {
	s      shelf
	length time.Duration
	number int
	holder holder

	mu      sync.Mutex
	renewed time.Time // by our own clock, before the request
	lost    error
	stop    context.CancelFunc
	done    chan struct{}
}

// holder is what the object says.
type holder struct {
	lake.Holder
	Token string        `json:"token"`
	Lease time.Duration `json:"lease_ns"` // after which without renewal others may take over
}

// Busy is the error of a lease that another holds.
type Busy struct {
	lake.Busy
	Wait time.Duration // until it may be taken over, if it is not renewed
}

func (b *Busy) Error() string {
	return fmt.Sprintf("%v; unless it is renewed, it is taken over in %v", b.Busy.Error(), b.Wait.Round(time.Second))
}

// Unwrap lets others know it as that of any lake.
func (b *Busy) Unwrap() error { return &b.Busy }

// number of the lease at a path; 0 for what is none.
func numberOf(rel string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(rel, writerDir))
	if err != nil || n < 1 || leasePath(n) != rel {
		return 0
	}
	return n
}

func leasePath(n int) string { return fmt.Sprintf("%s%08d", writerDir, n) }

// latest gives the lease with the highest number, zero if there is none, and all
// numbers.
func (s shelf) latest(ctx context.Context) (top bucket.Object, all []int, err error) {
	objects, err := s.list(ctx, writerDir)
	for _, o := range objects {
		if n := numberOf(o.Key); n > 0 {
			all, top = append(all, n), o
		}
	}
	return top, all, err
}

// take takes the lease, or says who holds it. old is whom it was taken over from.
func (s shelf) take(ctx context.Context, length time.Duration) (l *lease, old *lake.Holder, err error) {
	for try := 1; ; try++ {
		l, old, err = s.tryTake(ctx, length)
		if busy := (*Busy)(nil); try == 3 || !errors.As(err, &busy) || busy.Wait > 0 {
			return l, old, err
		}
		// It was given back while we looked.
	}
}

func (s shelf) tryTake(ctx context.Context, length time.Duration) (l *lease, old *lake.Holder, err error) {
	top, _, err := s.latest(ctx)
	if err != nil {
		return nil, nil, err
	}
	number := 1
	if top.Key != "" {
		was, err := s.standing(ctx, top.Key, length)
		if err != nil {
			return nil, nil, err
		}
		number, old = numberOf(top.Key)+1, &was.Holder
	}
	host, _ := os.Hostname() // a word for people only
	l = &lease{s: s, length: length, number: number, done: make(chan struct{}), renewed: time.Now()}
	l.holder = holder{lake.Holder{PID: os.Getpid(), Host: host, Since: time.Now().UTC().Truncate(time.Second)}, rand.Text(), length}
	data, err := json.Marshal(l.holder)
	if err != nil {
		return nil, nil, err
	}
	ok, err := s.b.PutNew(ctx, s.key(leasePath(number)), data)
	if err != nil {
		return nil, nil, err
	}
	if !ok { // another was quicker
		was, err := s.standing(ctx, leasePath(number), length)
		return nil, nil, cmp.Or(err, error(s.busy(leasePath(number), was, 0)))
	}
	if err := l.alone(ctx, length); err != nil {
		return nil, nil, errors.Join(err, s.b.Delete(ctx, s.key(leasePath(number))))
	}
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	go l.renew(renewing)
	return l, old, nil
}

// alone holds that no other lease is alive: another process may have found none
// at all when ours was to take the place of one that was just given back. Who sees
// such a one gives way. What was let go is removed.
func (l *lease) alone(ctx context.Context, length time.Duration) error {
	_, all, err := l.s.latest(ctx)
	if err != nil {
		return err
	}
	for _, n := range all {
		if n == l.number {
			continue
		}
		if n > l.number {
			return l.s.busy(leasePath(n), l.s.holderOf(ctx, leasePath(n)), length)
		}
		if n < l.number-1 { // the one before was looked at already
			if _, err := l.s.standing(ctx, leasePath(n), length); err != nil {
				return err
			}
		}
		if err := l.s.b.Delete(ctx, l.s.key(leasePath(n))); err != nil {
			return err
		}
	}
	return nil
}

func (s shelf) busy(rel string, h holder, wait time.Duration) *Busy {
	return &Busy{lake.Busy{Dir: s.b.Name() + "/" + s.prefix, Path: rel, Holder: h.Holder}, wait}
}

// holderOf reads who holds a lease: best effort.
func (s shelf) holderOf(ctx context.Context, rel string) (h holder) {
	if data, err := s.b.Get(ctx, s.key(rel), 4<<10); err != nil || json.Unmarshal(data, &h) != nil {
		return holder{}
	}
	return h
}

// standing gives who let a lease go; the error of one that is renewed is a *Busy.
// How old it is the store's own clock tells, by an object that is written now: no
// two machines need agree on the time.
func (s shelf) standing(ctx context.Context, rel string, length time.Duration) (was holder, err error) {
	was = s.holderOf(ctx, rel)
	if was.Lease > 0 {
		length = was.Lease
	}
	probe := s.key(probeDir + rand.Text())
	if err := s.b.Put(ctx, probe, 0, fromMemory(nil)); err != nil {
		return was, err
	}
	now, err := s.b.Stat(ctx, probe)
	if err = errors.Join(err, s.b.Delete(ctx, probe)); err != nil {
		return was, err
	}
	still, err := s.b.Stat(ctx, s.key(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return was, s.busy(rel, was, 0)
	}
	if err != nil {
		return was, err
	}
	if age := time.Duration(now.ChangedNS - still.ChangedNS); age < length {
		return was, s.busy(rel, was, length-age)
	}
	return was, nil
}

// renew writes the lease anew, again and again, so that its time is a late one.
func (l *lease) renew(ctx context.Context) {
	defer close(l.done)
	t := time.NewTicker(l.length / 4)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		began := time.Now()
		err := l.ours(ctx)
		if err == nil {
			var data []byte
			if data, err = json.Marshal(l.holder); err == nil {
				err = l.s.b.Put(ctx, l.s.key(leasePath(l.number)), int64(len(data)), fromMemory(data))
			}
		}
		l.mu.Lock()
		switch {
		case errors.Is(err, errLost):
			l.lost = err
			l.mu.Unlock()
			return
		case err == nil:
			l.renewed = began
		}
		l.mu.Unlock() // of another error the next try may be free; held tells if it never is
	}
}

var errLost = errors.New("another has taken over the lake")

// ours asks the bucket whether the lease is still ours.
func (l *lease) ours(ctx context.Context) error {
	top, _, err := l.s.latest(ctx)
	if err == nil && (numberOf(top.Key) != l.number || l.s.holderOf(ctx, top.Key).Token != l.holder.Token) {
		err = errLost
	}
	return err
}

// held says that nobody else can have taken the lease over, by our own clock:
// long before its end, so that a request that is on its way comes in time.
func (l *lease) held() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost != nil {
		return fmt.Errorf("mirror: %w: nothing more is published", l.lost)
	}
	if since := time.Since(l.renewed); since > l.length/2 {
		return fmt.Errorf("mirror: the right to write could not be renewed for %v: nothing more is published", since.Round(time.Second))
	}
	return nil
}

// giveBack ends the lease, so that others need not wait.
func (l *lease) giveBack(ctx context.Context) error {
	l.stop()
	<-l.done
	if err := l.ours(ctx); err != nil {
		if errors.Is(err, errLost) {
			return nil
		}
		return err
	}
	_, all, err := l.s.latest(ctx)
	if err != nil {
		return err
	}
	for _, n := range all { // the lowest first: ours is the last to go
		if n <= l.number {
			err = errors.Join(err, l.s.b.Delete(ctx, l.s.key(leasePath(n))))
		}
	}
	return err
}
