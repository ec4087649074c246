package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// partBytes is the size of the parts in which a large object is sent.
const partBytes = 8 << 20

// slowest is the pace, in bytes a second, below which the sending of an object
// is given up and begun anew.
const slowest = 256 << 10

// Put writes an object as a whole: a reader sees the old one or the new, never
// a part. Large ones go in parts (multipart). open gives the bytes, anew for
// every try; size is how many there are.
func (b *Bucket) Put(ctx context.Context, key string, size int64, open func() (io.ReadCloser, error)) error {
	b.cache.forget(key)
	deadline := b.o.Deadline + time.Duration(size/slowest)*time.Second
	return b.again(ctx, "write", key, deadline, func(ctx context.Context) error {
		return b.put(ctx, key, size, open, false)
	})
}

// PutNew is Put of a small object if there is none of its key; else it says
// false. Of many that try at once one has its way.
func (b *Bucket) PutNew(ctx context.Context, key string, data []byte) (bool, error) {
	b.cache.forget(key)
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	tried := 0
	err := b.again(ctx, "write", key, b.o.Deadline, func(ctx context.Context) error {
		tried++
		return b.put(ctx, key, int64(len(data)), open, true)
	})
	var f failure
	if errors.As(err, &f) && (gcerrors.Code(f.err) == gcerrors.FailedPrecondition || gcerrors.Code(f.err) == gcerrors.AlreadyExists) {
		if tried == 1 {
			return false, nil
		}
		// An earlier try may have come through without its answer.
		now, rerr := b.Get(ctx, key, int64(len(data))+1)
		return rerr == nil && string(now) == string(data), rerr
	}
	return err == nil, err
}

func (b *Bucket) put(ctx context.Context, key string, size int64, open func() (io.ReadCloser, error), ifNew bool) (err error) {
	from, err := open()
	if err != nil {
		return err
	}
	defer from.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := b.blob.NewWriter(ctx, key, &blob.WriterOptions{
		BufferSize: partBytes, MaxConcurrency: 2, IfNotExist: ifNew,
		ContentType: "application/octet-stream",
	})
	if err != nil {
		return err
	}
	n, err := io.Copy(w, from)
	if err == nil && n != size {
		err = fmt.Errorf("%d of %d bytes were there to be sent", n, size)
	}
	if err != nil {
		cancel() // else Close would make an object of what was sent
		return errors.Join(err, w.Close())
	}
	return w.Close()
}

// Get reads a small object, of at most so many bytes.
func (b *Bucket) Get(ctx context.Context, key string, most int64) ([]byte, error) {
	b.cache.forget(key) // it may have been written by others
	r, err := b.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = failed("read", b.url(key), fmt.Errorf("it has more than %d bytes", most))
	}
	return data, err
}

// Copy makes an object of another within the store.
func (b *Bucket) Copy(ctx context.Context, to, from string) error {
	b.cache.forget(to)
	return b.again(ctx, "copy", to, 4*b.o.Deadline, func(ctx context.Context) error { return b.blob.Copy(ctx, to, from, nil) })
}

// Delete removes an object; one that is gone already is no error.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	b.cache.forget(key)
	return b.again(ctx, "delete", key, b.o.Deadline, func(ctx context.Context) error {
		if err := b.blob.Delete(ctx, key); gcerrors.Code(err) != gcerrors.NotFound {
			return err
		}
		return nil
	})
}
