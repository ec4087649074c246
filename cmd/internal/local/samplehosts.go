package local

import (
	"cmp"
	"container/heap"
	"errors"
	"io"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reduce"
)

// sampled is what a fit must know of a share of hosts beside the windows that it may
// take. They lie in a file a family, in their turns.
type sampled struct{ Families []sampledFamily }

type sampledFamily struct {
	Kind           ingest.LatencyKind
	TickNS, Length int64
	N              int // windows
	StartNS, EndNS int64
	Devices        []features.Key
}

// SampleHosts leaves in dir what FitSamples needs of a share: of each family no more
// windows than a fit takes. What is there is removed.
func (j *Job) SampleHosts(share HostShare, rules *cluster.Rules, dir string) (err error) {
	defer Rescue(&err)
	if err := freshDir(dir); err != nil {
		return err
	}
	windows, err := j.windowsOfHosts(share, rules)
	if err != nil {
		return err
	}
	defer windows.Close()
	var out sampled
	for n, f := range families(windows) {
		out.Families = append(out.Families, sampledFamily{f.kind, f.tick, f.length, f.n, f.startNS, f.endNS, f.devices})
		if err := f.writeSample(rowsFile(dir, n), j.Config.Reduce.Sample); err != nil {
			return err
		}
	}
	return keepGob(sampleFile(dir), out)
}

// writeSample writes at most most of the family's windows, in their turns.
func (f *family) writeSample(path string, most int) error {
	file, err := namedRows(path)
	if err != nil {
		return err
	}
	turns := reduce.InTurn(f.windows)
	var row rowWriter
	for _, t := range turns[:min(most, len(turns))] {
		w := f.windows.At(int(t.At))
		row.b = row.b[:0]
		row.turn(t.Turn)
		row.text(w.Host)
		row.text(w.Device)
		at := len(row.b)
		row.u32(0) // the length of the window
		putWindow(&row, 0, w)
		row.length(at)
		putReadings(&row, w.Evidence)
		if err := file.add(row.b); err != nil {
			return errors.Join(err, file.done())
		}
	}
	return file.done()
}

// sampleStream is the sample of a family in a share.
type sampleStream struct {
	rows  *rowStream
	share int // its place among all
	turn  reduce.Turn
	w     *features.Window // nil: there is none any more
	last  features.Key
}

// sampleTurns are samples by the turns of their next windows, as a heap.
type sampleTurns []*sampleStream

func (t sampleTurns) Len() int      { return len(t) }
func (t sampleTurns) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t sampleTurns) Less(i, j int) bool {
	return cmp.Or(t[i].turn.Compare(t[j].turn), cmp.Compare(t[i].share, t[j].share)) < 0
}
func (t *sampleTurns) Push(x any) { *t = append(*t, x.(*sampleStream)) }
func (t *sampleTurns) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}

func (s *sampleStream) next() error {
	s.w = nil
	row, err := s.rows.next()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	r := rowReader{row}
	s.turn = r.turn()
	if k := (features.Key{Host: r.text(), Device: r.text()}); k != s.last {
		s.last = k
	}
	s.w = windowOf(r.take(int(r.u32())), []features.Key{s.last})
	if len(r.b) > lengthOf {
		s.w.Evidence = readingsOf(r.b)
	}
	return nil
}

// joinSamples gives the family of all shares, with the windows that a fit takes, and
// the room that these take.
func (j *Job) joinSamples(of []sampledFamily, files []string) (f *family, windows *Windows, err error) {
	f = &family{kind: of[0].Kind, tick: of[0].TickNS, length: of[0].Length, startNS: of[0].StartNS}
	for i := range of {
		f.n += of[i].N
		f.startNS, f.endNS = min(f.startNS, of[i].StartNS), max(f.endNS, of[i].EndNS)
		f.devices = append(f.devices, of[i].Devices...)
	}
	var all []*sampleStream
	var turns sampleTurns
	defer func() {
		for _, s := range all {
			err = errors.Join(err, s.rows.r.Close())
		}
	}()
	for _, path := range files {
		rows, err := openRows(path)
		if err != nil {
			return nil, nil, err
		}
		s := &sampleStream{rows: rows}
		all = append(all, s)
		if err := s.next(); err != nil {
			return nil, nil, err
		}
		s.share = len(all)
		if s.w != nil {
			turns = append(turns, s)
		}
	}
	heap.Init(&turns)
	taken := j.pile()
	defer func() {
		if err != nil {
			taken.drop()
		}
	}()
	told := map[windowKey][]features.Reading{}
	most := j.Config.Reduce.Sample
	for n := 0; n < most && len(turns) > 0; n++ {
		first := turns[0]
		if f.n > most && first.turn.Idle {
			break
		}
		if err := taken.add(first.w); err != nil {
			return nil, nil, err
		}
		if len(first.w.Evidence) > 0 {
			told[keyOf(first.w)] = first.w.Evidence
		}
		if err := first.next(); err != nil {
			return nil, nil, err
		}
		if first.w == nil {
			heap.Pop(&turns)
		} else {
			heap.Fix(&turns, 0)
		}
	}
	if windows, err = taken.windows(); err != nil {
		return nil, nil, err
	}
	if windows.inFile() && len(told) > 0 {
		answers := make([][]features.Reading, windows.Len())
		for i := range answers {
			answers[i] = told[keyOf(windows.At(i))]
		}
		if err := windows.hear(0, answers); err != nil {
			return nil, nil, err
		}
	}
	f.among, f.windows = windows, windows.Rows
	return f, windows, nil
}

// FitSamples fits on what SampleHosts has left in the directories, those of all shares
// in the order of their hosts, or takes the model that the config names. What it gives
// is for LabelHosts and DiagnoseHosts.
func (j *Job) FitSamples(dirs []string, inv reduce.Inventory, rules *cluster.Rules, refit bool) (_ *Fit, err error) {
	defer Rescue(&err)
	type share struct {
		of    []sampledFamily
		files []string
	}
	var order []*share
	for _, dir := range dirs {
		var s sampled
		if err := readGob(sampleFile(dir), &s); err != nil {
			return nil, err
		}
		for n, f := range s.Families {
			at := slices.IndexFunc(order, func(o *share) bool {
				return o.of[0].Kind == f.Kind && o.of[0].TickNS == f.TickNS && o.of[0].Length == f.Length
			})
			if at < 0 {
				at = len(order)
				order = append(order, &share{})
			}
			order[at].of, order[at].files = append(order[at].of, f), append(order[at].files, rowsFile(dir, n))
		}
	}
	shipped, err := shippedModel()
	if err != nil {
		return nil, err
	}
	var known []KindModel
	if j.Config.Model != "" {
		if known, err = readModels(j.Config.Model); err != nil {
			return nil, err
		}
	}
	size := func(s *share) (n int) {
		for i := range s.of {
			n += s.of[i].N
		}
		return n
	}
	slices.SortStableFunc(order, func(a, b *share) int {
		x, y := &a.of[0], &b.of[0]
		return cmp.Or(cmp.Compare(size(b), size(a)), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.TickNS, y.TickNS), cmp.Compare(x.Length, y.Length))
	})
	out := &Fit{}
	var registry cluster.Registry // an empty one: the lake's is so
	for _, s := range order {
		f, windows, err := j.joinSamples(s.of, s.files)
		if err != nil {
			return nil, err
		}
		km, why, err := KindModel{}, "", error(nil)
		if j.Config.Model == "" {
			km, why, err = j.fitFamily(f, f.windows, inv, rules, shipped, forced(refit))
		} else if m, merr := f.modelIn(known); merr != nil {
			err = merr
		} else {
			km, err = *m, m.Reduce.Check(f.windows)
		}
		windows.Close()
		if err != nil {
			return nil, err
		}
		grouping := km.Cluster.Grouping()
		var ids map[int]int
		registry, ids, _ = registry.Match(cluster.Family{Kind: km.Kind, TickNS: km.TickNS, WindowNS: km.WindowNS}, km.Cluster.Kind, km.Cluster.Unlabelled(), 0)
		km.Cluster = km.Cluster.Renumbered(ids)
		out.Models, out.Whys, out.Groupings = append(out.Models, km), append(out.Whys, why), append(out.Groupings, grouping)
	}
	return out, nil
}
