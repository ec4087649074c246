package bucket

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"gocloud.dev/blob"
)

// cache keeps the blocks that were used last. A block that several ask for at
// once is fetched once.
type cache struct {
	most  int
	mu    sync.Mutex
	by    map[blockName]*block
	order list.List // of *block, the one used last first
}

type blockName struct {
	key    string
	number int64
}

type block struct {
	name  blockName
	ready chan struct{}
	of    version
	data  []byte
	err   error
	place *list.Element
}

// take gives a block, and whether it is the caller's to fill.
func (c *cache) take(name blockName) (b *block, fill bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.by[name]; b != nil {
		c.order.MoveToFront(b.place)
		return b, false
	}
	if c.by == nil {
		c.by = map[blockName]*block{}
	}
	for c.order.Len() >= c.most { // one that is being fetched is finished by those who wait for it
		c.drop(c.order.Back().Value.(*block))
	}
	b = &block{name: name, ready: make(chan struct{})}
	b.place = c.order.PushFront(b)
	c.by[name] = b
	return b, true
}

func (c *cache) drop(b *block) {
	c.order.Remove(b.place)
	if c.by[b.name] == b {
		delete(c.by, b.name)
	}
}

// forget drops what is kept of an object, or one block of it that failed.
func (c *cache) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.order.Front(); e != nil; {
		b := e.Value.(*block)
		e = e.Next()
		if b.name.key == key {
			c.drop(b)
		}
	}
}

// Forget drops all blocks that are kept: others may have written what they are of.
func (b *Bucket) Forget() {
	c := &b.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.order.Len() > 0 {
		c.drop(c.order.Back().Value.(*block))
	}
}

// block gives a block of an object.
func (b *Bucket) block(ctx context.Context, key string, number int64) (*block, error) {
	for {
		o, fill := b.cache.take(blockName{key, number})
		if fill {
			o.data, o.of, o.err = b.fetch(ctx, key, number)
			if o.err != nil {
				b.cache.mu.Lock()
				if b.cache.by[o.name] == o {
					b.cache.drop(o)
				}
				b.cache.mu.Unlock()
			}
			close(o.ready)
			return o, o.err
		}
		select {
		case <-ctx.Done():
			return nil, failed("read", b.url(key), ctx.Err())
		case <-o.ready:
		}
		if o.err == nil {
			return o, nil
		}
		if ctx.Err() != nil {
			return nil, o.err
		}
		if final(o.err) {
			return nil, o.err
		}
		// The one who fetched it may have been told to stop: try ourselves.
	}
}

// fetch reads a block.
func (b *Bucket) fetch(ctx context.Context, key string, number int64) (data []byte, of version, err error) {
	return b.span(ctx, key, number*int64(b.o.BlockBytes), b.o.BlockBytes)
}

// Range reads so many bytes of an object, from one on; the error of one that ends
// before them is io.ErrUnexpectedEOF. Nothing of it is kept.
func (b *Bucket) Range(ctx context.Context, key string, from int64, n int) ([]byte, error) {
	data, _, err := b.span(ctx, key, from, n)
	var f failure
	if err == nil && len(data) < n || errors.As(err, &f) && noRange(f.err) {
		err = failed("read", b.url(key), fmt.Errorf("%d of %d bytes from byte %d on: %w", len(data), n, from, io.ErrUnexpectedEOF))
	}
	return data, err
}

// span reads bytes of an object, at most as far as it goes. A read that breaks off
// goes on where it stopped.
func (b *Bucket) span(ctx context.Context, key string, first int64, most int) (data []byte, of version, err error) {
	have := 0
	deadline := b.o.Deadline + time.Duration(most/slowest)*time.Second
	err = b.again(ctx, "read", key, deadline, func(ctx context.Context) error {
		r, err := b.rangeOf(ctx, key, first+int64(have), int64(most-have))
		if err != nil {
			return err
		}
		defer r.Close()
		now := versionOf(r)
		if have > 0 && now != of {
			return ErrChanged
		}
		of = now
		want := int(min(int64(most), max(0, of.size-first)))
		if data == nil {
			data = make([]byte, want)
		}
		n, err := io.ReadFull(r, data[have:])
		have += n
		b.received.Add(int64(n))
		if err == io.EOF && have < want {
			err = io.ErrUnexpectedEOF
		}
		if have == want {
			return nil
		}
		return err
	})
	return data, of, err
}

// rangeOf asks for bytes of an object. An object without any has no range: it
// is asked for as a whole.
func (b *Bucket) rangeOf(ctx context.Context, key string, from, length int64) (*blob.Reader, error) {
	r, err := b.blob.NewRangeReader(ctx, key, from, length, nil)
	if err != nil && from == 0 && noRange(err) {
		return b.blob.NewRangeReader(ctx, key, 0, -1, nil)
	}
	return r, err
}
