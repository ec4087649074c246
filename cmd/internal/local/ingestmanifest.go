package local

import (
	"cmp"
	"encoding/json"
	"path/filepath"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/lake"
)

// keptRejects bounds the rejects file of a run.
const keptRejects = 100000

// writeRejects keeps the bad lines, with their input, beside the manifest.
func (j *Job) writeRejects(reports []ingest.Report, writers []*chunkWriter) error {
	var data []byte
	n := 0
	for i, w := range writers {
		for _, r := range w.rejects {
			if n == keptRejects {
				break
			}
			if w.pseudonyms != nil {
				r.Text = "" // it may hold any name
			}
			line, err := json.Marshal(struct {
				Path   string `json:"path"`
				ID     string `json:"input"`
				Line   int64  `json:"line"`
				At     int64  `json:"byte"`
				Reason string `json:"reason"`
				Text   string `json:"text"`
			}{reports[i].Path, reports[i].ID, r.Line, r.Position, r.Reason, r.Text})
			if err != nil {
				return err
			}
			data = append(append(data, line...), '\n')
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return lake.WriteFileAtomic(filepath.Join(j.Lake, filepath.FromSlash(lake.RejectsPath(j.RunID))), data)
}

func (j *Job) manifest(lock *lake.Lock, out *Ingested, claims []claim, writers []*chunkWriter, removed []string) (*lake.StagedManifest, error) {
	m := lake.Manifest{Run: j.RunID, Version: j.Version, Removed: removed}
	for i, r := range out.Reports {
		tally, err := json.Marshal(r.Tally)
		if err != nil {
			return nil, err
		}
		var clock json.RawMessage
		if r.Clock.Base != "" {
			if clock, err = json.Marshal(r.Clock); err != nil {
				return nil, err
			}
		}
		head := r.HeadBytes
		if r.ID != r.SeenID {
			head = claims[i].headBytes
		}
		gone, checkpoint := closedOnly(writers[i], &claims[i])
		m.Inputs = append(m.Inputs, lake.Input{
			Gone: gone,
			ID:   r.ID, HeadBytes: head, SeenID: r.SeenID, SeenBytes: r.HeadBytes, Path: r.Path, Format: r.Format,
			Bytes: r.Bytes, CompressedBytes: r.CompressedBytes, Chunks: int64(r.Chunks), Tally: tally, Parts: writers[i].parts,
			NewBytes: r.NewBytes, Checkpoint: cmp.Or(writers[i].checkpoint, checkpoint), Note: r.Note,
			Problem: r.Problem, Torn: r.Torn != "", FirstNS: r.FirstNS, LastNS: r.LastNS,
			Clock: clock, Host: claims[i].host, Names: claims[i].names,
			Below: writers[i].below,
		})
	}
	return lock.StageManifest(m)
}

// closedOnly is what a record says of an input that gave rows of closed days
// alone, so that it is known, and not read again each night: what was known
// of it, and where its reading goes on.
func closedOnly(w *chunkWriter, c *claim) (*lake.Gone, *lake.CheckpointFile) {
	if len(w.parts) > 0 || len(w.late) == 0 {
		return nil, nil
	}
	if !c.grown {
		return &lake.Gone{}, nil
	}
	return &lake.Gone{EventRows: c.old.EventRows()}, c.old.Checkpoint
}
