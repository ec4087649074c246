package local

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// readOne reads one input: nothing of one that the lake holds to the last byte,
// of a grown one what lies behind its final chunks, of others all.
func (j *Job) readOne(ctx context.Context, in ingest.Input, c *claim, w *chunkWriter, mend *repair) (ingest.Report, error) {
	if rep, ok := unread(in, c); ok {
		return rep, nil
	}
	in.Checkpoints = !in.Duplicate && w.pseudonyms == nil // a checkpoint holds names, and torn lines
	note := ""
	if c.grown && mend == nil {
		in.Resume, note = j.resumption(in, c, w)
	}
	rep, err := ingest.Read(ctx, in, j.Config.Ingest, j.workers(), w.write)
	if err != nil && in.Resume != nil && ctx.Err() == nil { // a checkpoint is never why an input can't be read
		if derr := w.discard(); derr != nil {
			return rep, errors.Join(err, derr)
		}
		in.Resume, note = nil, "read from its start: from the checkpoint it failed: "+err.Error()
		rep, err = ingest.Read(ctx, in, j.Config.Ingest, j.workers(), w.write)
	}
	rep.Note = cmp.Or(rep.Note, note)
	if rep.Checkpoint != nil {
		rep.Checkpoint.Writer = j.writer(w)
	}
	return rep, err
}

// unread is the report of an input that is to the last byte what the lake holds:
// as if it had been read, and all its lines found to be repeated.
func unread(in ingest.Input, c *claim) (rep ingest.Report, ok bool) {
	old := &c.old
	var tally ingest.Tally
	if !in.Duplicate || !c.same || once(in) || old.Torn || old.Problem != "" || json.Unmarshal(old.Tally, &tally) != nil {
		return rep, false
	}
	if len(old.Clock) > 0 && json.Unmarshal(old.Clock, &rep.Clock) != nil {
		return rep, false
	}
	rep.Path, rep.ID, rep.SeenID, rep.HeadBytes, rep.Format = in.Path, c.id, c.seen, c.bytes, old.Format
	rep.CompressedBytes, rep.Bytes, rep.Chunks = in.Size, old.Bytes, int(old.Chunks)
	rep.Tally = ingest.Tally{Lines: tally.Lines, Duplicate: tally.Lines}
	return rep, true
}

// resumption gives the checkpoint that the reading of a grown input goes on
// from, or says why there is none of use. What can be read but once is read
// from its start: there is no second try.
func (j *Job) resumption(in ingest.Input, c *claim, w *chunkWriter) (*ingest.Checkpoint, string) {
	file := c.old.Checkpoint
	if file == nil || once(in) {
		return nil, ""
	}
	const from = "read from its start: "
	if err := j.Fetch(file.Path); err != nil {
		return nil, from + err.Error()
	}
	data, err := lake.ReadCheckpoint(j.Lake, *file, ingest.CheckpointBytes)
	if err != nil {
		return nil, from + err.Error()
	}
	at, err := ingest.DecodeCheckpoint(data)
	switch {
	case err != nil:
		return nil, from + err.Error()
	case at.Writer != j.writer(w):
		return nil, from + "the checkpoint was made by another version, or with other names of devices"
	}
	for _, p := range w.before(at.Chunk) {
		if !lake.Present(j.Lake, p) {
			return nil, from + p.Path + " is not whole"
		}
	}
	return at, ""
}

// writer tells what rows depend on beside the input and the options of ingest.
func (j *Job) writer(w *chunkWriter) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", j.Version)
	for _, k := range sortedKeys(w.names) {
		fmt.Fprintf(h, "%q %q\n", k, w.names[k])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// before lists the parts that the lake has of the chunks before one, by chunk.
func (w *chunkWriter) before(chunk int64) []lake.Part {
	chunks := map[string]int{}
	var parts []lake.Part
	for _, path := range sortedKeys(w.live) {
		if name, err := lake.ParsePart(path); err == nil && int64(name.Chunk) < chunk {
			chunks[path] = name.Chunk
			parts = append(parts, w.live[path])
		}
	}
	slices.SortStableFunc(parts, func(a, b lake.Part) int { return cmp.Compare(chunks[a.Path], chunks[b.Path]) })
	return parts
}

// keep takes the parts of the chunks that were not read again, and writes the
// checkpoint that the next reading goes on from.
func (w *chunkWriter) keep(lock *lake.Lock, rep *ingest.Report, c *claim) error {
	if rep.Kept > 0 {
		w.parts = append(w.before(rep.Kept), w.parts...)
	}
	at := rep.Checkpoint
	if at == nil || len(w.parts) == 0 {
		return nil
	}
	if old := c.old.Checkpoint; rep.Kept == at.Chunk && old != nil { // the one that was gone on from
		w.checkpoint = old
		return nil
	}
	data, err := at.Encode()
	if err != nil || len(data) > ingest.CheckpointBytes {
		return err
	}
	file, err := lock.WriteCheckpoint(rep.ID, at.Chunk, data)
	if err != nil {
		return err
	}
	w.checkpoint = &file
	return nil
}

// forget removes the checkpoints that others have taken the place of.
func forget(lock *lake.Lock, claims []claim, writers []*chunkWriter) error {
	for i, c := range claims {
		old, now := c.old.Checkpoint, writers[i].checkpoint
		if old == nil || c.id != c.old.ID || len(writers[i].parts) == 0 || now != nil && now.Path == old.Path {
			continue
		}
		if err := lock.RemoveCheckpoint(*old); err != nil {
			return err
		}
	}
	return nil
}
