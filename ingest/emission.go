package ingest

// besideBytes is the most that the rows of a chunk may take for the next chunk to
// be read before they are done with: two such take less than one of the largest.
const besideBytes = 40 << 20

// emission is a chunk that is handed on while the next one is read.
type emission struct {
	done  chan error // nil if none is
	alone chan struct{}
	out   *Out // its rows
}

// begins hands on a chunk, in a goroutine of its own, whose rows stand in out.
func (e *emission) begins(c *Chunk, emit func(*Chunk) error, out *Out) {
	done := make(chan error, 1)
	e.done, e.alone, e.out = done, make(chan struct{}), out
	c.Alone = e.alone
	go func() { done <- emit(c) }()
}

// handed waits until the chunk that is handed on is done with.
func (e *emission) handed() error {
	if e.done == nil {
		return nil
	}
	close(e.alone)
	err := <-e.done
	e.out.Reset()
	outPool.Put(e.out)
	*e = emission{}
	return err
}

// bytes is about what the rows of a batch take.
func (b *Batch) bytes() int {
	const event, sample, evidence = 88, 192, 56
	return event*len(b.Events) + sample*len(b.Samples) + evidence*len(b.Evidence)
}
