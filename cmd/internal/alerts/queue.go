package alerts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/iopathy/iopathy/ingest/lake"
)

// queue is messages on disk that a receiver has not taken yet, in the order in
// which they were put. One process works on it at a time: the night's lock says
// which.
//
//	DIR/0000000007-ID.json   a message
//	DIR/state.json           the last number, ids that were sent, how many were dropped
type queue struct {
	dir  string
	most int // messages; what comes beyond takes the place of the oldest
}

// state is what a queue remembers.
type state struct {
	Last    int64    `json:"last"`
	Sent    []string `json:"sent"`    // ids, the latest last
	Dropped int64    `json:"dropped"` // messages that had no room or were refused, over all time
}

// sentIDs bounds the ids that a queue remembers.
const sentIDs = 1000

const stateFile = "state.json"

// entry is a message that waits.
type entry struct {
	number int64
	id     string
	path   string
}

func (q queue) load() (s state, waiting []entry, err error) {
	files, err := os.ReadDir(q.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil, nil
	}
	if err != nil {
		return s, nil, fmt.Errorf("alerts: queue: %w", err)
	}
	if b, err := os.ReadFile(filepath.Join(q.dir, stateFile)); err == nil {
		if json.Unmarshal(b, &s) != nil {
			s = state{} // a damaged one costs that a message may be sent twice
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return s, nil, fmt.Errorf("alerts: queue: %w", err)
	}
	for _, f := range files {
		name, isJSON := strings.CutSuffix(f.Name(), ".json")
		number, id, ok := strings.Cut(name, "-")
		n, err := strconv.ParseInt(number, 10, 64)
		if !isJSON || !ok || err != nil || n <= 0 || !f.Type().IsRegular() {
			continue
		}
		waiting = append(waiting, entry{n, id, filepath.Join(q.dir, f.Name())})
		s.Last = max(s.Last, n)
	}
	slices.SortFunc(waiting, func(a, b entry) int { return int(min(max(a.number-b.number, -1), 1)) })
	return s, waiting, nil
}

func (q queue) store(s state) error {
	s.Sent = slices.Clone(s.Sent[max(0, len(s.Sent)-sentIDs):])
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("alerts: queue: %w", err)
	}
	return lake.WriteFileAtomic(filepath.Join(q.dir, stateFile), append(b, '\n'))
}

// put adds a message, unless it waits already or was sent. dropped are those
// that had to make room for it.
func (q queue) put(id string, body []byte) (dropped int, err error) {
	s, waiting, err := q.load()
	if err != nil {
		return 0, err
	}
	if slices.Contains(s.Sent, id) || slices.ContainsFunc(waiting, func(e entry) bool { return e.id == id }) {
		return 0, nil
	}
	s.Last++
	dropped = max(0, len(waiting)+1-q.most)
	s.Dropped += int64(dropped)
	path := filepath.Join(q.dir, fmt.Sprintf("%010d-%s.json", s.Last, id))
	if err := lake.WriteFileAtomic(path, body); err != nil {
		return 0, err
	}
	if err := q.store(s); err != nil {
		return 0, err
	}
	for _, e := range waiting[:dropped] {
		if err := os.Remove(e.path); err != nil {
			return dropped, fmt.Errorf("alerts: queue: %w", err)
		}
	}
	return dropped, nil
}

// taken notes that a message was sent, or refused for good, and forgets it.
func (q queue) taken(e entry, refused bool) error {
	s, _, err := q.load()
	if err != nil {
		return err
	}
	s.Sent = append(s.Sent, e.id)
	if refused {
		s.Dropped++
	}
	if err := q.store(s); err != nil {
		return err
	}
	if err := os.Remove(e.path); err != nil {
		return fmt.Errorf("alerts: queue: %w", err)
	}
	return nil
}
