package local

import (
	"cmp"
	"context"
	"math"
	"path/filepath"
	"slices"
	"sync"

	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/ingest/align"
)

// What several logs of one run tell of one another's clocks and hosts, by the I/Os that
// more than one of them has. A log is moved only if the match is beyond doubt: the rules
// of align.Estimate (12 I/Os, one difference of the clocks that is clearly the densest),
// and these.
const (
	togetherError = int64(1e6) // ns that the offset may be wrong, beyond what stamps resolve
	togetherShare = 0.2        // of the I/Os of the sparser log, of the time common to both, that match
	togetherDates = int64(1e9) // ns by which the dates of two logs of one host may differ
	togetherLogs  = 32         // of a group that are looked at, traces of the block layer first
	togetherRefs  = 8          // that the others are aligned with
	togetherIOs   = 1 << 15    // kept of each
	togetherRows  = 1 << 16    // samples kept of each
)

// group is the logs of one host; or, where none is named, of one folder, of which
// each is a host of its own until I/Os tell otherwise.
type group struct {
	unnamed bool
	logs    []*groupLog // single I/Os, by rank
	seen    []seenAs
	samples []*groupLog
}

// groupLog is a log of a group.
type groupLog struct {
	at     int // among the inputs
	id     string
	name   string
	format string
	kind   ingest.LatencyKind
	unsaid bool // its format counts from a boot or a start, and nobody said from which

	// Once it is read:
	source  *align.Source
	rows    map[string][]ingest.Sample
	moments map[string][]align.Moment
	held    int
	loose   bool   // nothing dates it
	host    string // that its content names; "" if none, or several
	many    bool   // hosts

	root  *groupLog // of those that are aligned with one another; itself at first
	clock ingest.Clock
	moved bool // clock was found
}

func (l *groupLog) block() bool { return l.kind == ingest.KindQ2C || l.kind == ingest.KindD2C }

func (l *groupLog) top() *groupLog {
	for l.root != l {
		l = l.root
	}
	return l
}

// meet dates logs whose clocks count from a boot or a start by others of the same
// host that saw the same I/Os, and finds out which inputs that name no host are of one. Only logs that
// the lake does not hold take part: what it holds keeps its times and its host. It depends on the
// set of inputs alone; nothing is read where every log has a date and a host, or
// stands alone.
func (j *Job) meet(ctx context.Context, inputs []ingest.Input, claims []claim, beside besides) (warnings []string, err error) {
	for i := range inputs {
		if inputs[i].Host == "" && claims[i].known {
			inputs[i].Host, claims[i].host = claims[i].old.Host, claims[i].old.Host
		}
		if claims[i].known {
			claims[i].names = claims[i].old.Names
		}
	}
	if !j.Config.Ingest.ClockAlign {
		return nil, nil
	}
	groups, err := j.groups(ctx, inputs, claims)
	if err != nil {
		return nil, err
	}
	for _, key := range sortedKeys(groups) {
		g := groups[key]
		clocks := g.asks()
		if !clocks && !g.callsDiffer() {
			continue
		}
		if err := j.readGroup(ctx, g, inputs, beside); err != nil {
			return nil, err
		}
		if clocks {
			g.align()
			g.count()
		} else {
			g.learnDated(map[[2]*groupLog]bool{})
		}
		for _, l := range slices.Concat(g.logs, g.samples) {
			if l.moved {
				inputs[l.at].Clock = l.clock
			}
		}
		warnings = append(warnings, g.join(inputs, claims)...)
		if j.Config.Anonymise == "" { // what is learned stands in manifests
			warnings = append(warnings, g.rename(claims)...)
		}
	}
	return warnings, nil
}

// groups puts the new inputs of one host together, those of formats that take part.
func (j *Job) groups(ctx context.Context, inputs []ingest.Input, claims []claim) (map[string]*group, error) {
	key := func(in *ingest.Input) string {
		if in.Host != "" {
			return "host " + in.Host
		}
		return "folder " + filepath.Dir(in.Path)
	}
	size := map[string]int{}
	fresh := func(i int) bool { return !inputs[i].Duplicate && !claims[i].known && claims[i].id != "" }
	for i := range inputs {
		if fresh(i) {
			size[key(&inputs[i])]++
		}
	}
	formats := make([]ingest.Format, len(inputs))
	err := j.each(ctx, len(inputs), func(i int) {
		if in := &inputs[i]; fresh(i) && size[key(in)] > 1 && !once(*in) {
			formats[i], _ = ingest.FormatOf(*in, j.Config.Ingest) // what is wrong, reading it says
		}
	})
	groups := map[string]*group{}
	for i := range inputs {
		in, f := &inputs[i], &formats[i]
		l := &groupLog{at: i, id: claims[i].id, name: filepath.Base(in.Path), format: f.Name, kind: f.Kind}
		l.root = l
		l.unsaid = f.Clock != ingest.BaseEpoch && in.Clock == ingest.Clock{} && j.Config.Ingest.StartNS == 0
		if f.Name == "" || f.Kind == ingest.KindNone {
			continue
		}
		g := groups[key(in)]
		if g == nil {
			g = &group{unnamed: in.Host == ""}
			groups[key(in)] = g
		}
		if f.Kind == ingest.KindSample {
			g.samples = append(g.samples, l)
		} else {
			g.logs = append(g.logs, l)
		}
	}
	for _, g := range groups {
		g.settle()
	}
	return groups, err
}

// rankOf orders what is aligned with what: the block layer's first.
func rankOf(k ingest.LatencyKind) int {
	switch k {
	case ingest.KindQ2C:
		return 0
	case ingest.KindD2C:
		return 1
	}
	return 2
}

func (g *group) settle() {
	dated := func(l *groupLog) int {
		if l.unsaid {
			return 1
		}
		return 0
	}
	for _, list := range []*[]*groupLog{&g.logs, &g.samples} {
		slices.SortFunc(*list, func(a, b *groupLog) int {
			return cmp.Or(cmp.Compare(rankOf(a.kind), rankOf(b.kind)), dated(a)-dated(b), cmp.Compare(a.id, b.id))
		})
		*list = (*list)[:min(len(*list), togetherLogs)]
	}
}

// asks says whether there is anything to be found: a log without a date, or a host
// without a name, and another tool that may have seen the same, one of them at the
// block layer.
func (g *group) asks() bool {
	unsaid, block := false, false
	formats := map[string]bool{}
	for _, l := range g.logs {
		unsaid, block = unsaid || l.unsaid, block || l.block()
		formats[l.format] = true
	}
	return block && (unsaid || g.unnamed) && (len(formats) > 1 || len(g.samples) > 0)
}

// readGroup reads the logs of a group, some at once.
func (j *Job) readGroup(ctx context.Context, g *group, inputs []ingest.Input, beside besides) error {
	var large sync.Mutex
	moments := 0
	if len(g.samples) > 0 {
		moments = align.MaxMoments / max(1, len(g.logs)/togetherRefs)
	}
	failed := make([]error, len(g.logs))
	err := j.each(ctx, len(g.logs), func(i int) {
		l := g.logs[i]
		failed[i] = j.readLog(ctx, l, inputs[l.at], beside, &large, func(b *ingest.Batch) {
			l.source.Add(b)
			for k := range b.Events {
				if e := &b.Events[k]; l.held < moments && l.block() && (e.Op == ingest.OpRead || e.Op == ingest.OpWrite) {
					d := b.Names.String(e.Device)
					l.moments[d] = append(l.moments[d], align.Moment{TimeNS: e.TimeNS, Bytes: e.SizeBytes, Write: e.Op == ingest.OpWrite})
					l.held++
				}
			}
		})
	})
	wanted := map[string]bool{}
	for i, l := range g.logs {
		if err == nil {
			err = failed[i]
		}
		for d, all := range l.moments {
			wanted[d] = true
			slices.SortStableFunc(all, func(a, b align.Moment) int { return cmp.Compare(a.TimeNS, b.TimeNS) })
		}
	}
	g.logs = slices.DeleteFunc(g.logs, func(l *groupLog) bool { return l.source == nil })
	if err != nil || len(wanted) == 0 {
		return err
	}
	failed = make([]error, len(g.samples))
	err = j.each(ctx, len(g.samples), func(i int) {
		l := g.samples[i]
		failed[i] = j.readLog(ctx, l, inputs[l.at], beside, &large, func(b *ingest.Batch) {
			for k := range b.Samples {
				if d := b.Names.String(b.Samples[k].Device); wanted[d] && l.held < togetherRows {
					l.rows[d] = append(l.rows[d], b.Samples[k])
					l.held++
				}
			}
		})
	})
	for i, l := range g.samples {
		if err == nil {
			err = failed[i]
		}
		for _, all := range l.rows {
			slices.SortStableFunc(all, func(a, b ingest.Sample) int { return cmp.Compare(a.TimeNS, b.TimeNS) })
		}
	}
	g.samples = slices.DeleteFunc(g.samples, func(l *groupLog) bool { return l.source == nil })
	return err
}

// readLog reads one log; what has no rows gets no source.
func (j *Job) readLog(ctx context.Context, l *groupLog, in ingest.Input, beside besides, large *sync.Mutex, add func(*ingest.Batch)) error {
	l.source = align.NewSource(l.name)
	l.source.Keep(togetherIOs)
	l.moments, l.rows = map[string][]align.Moment{}, map[string][]ingest.Sample{}
	names := beside.names[filepath.Dir(in.Path)]
	own := ""
	see := func(b *ingest.Batch, host ingest.Name) {
		switch h := b.Names.String(host); {
		case h == own:
		case l.host == "" || l.host == h:
			l.host = h
		default:
			l.many = true
		}
	}
	workers := 1
	if in.Size >= largeInput {
		large.Lock()
		defer large.Unlock()
		workers = j.workers()
	}
	rep, err := ingest.Read(ctx, in, j.Config.Ingest, workers, func(c *ingest.Chunk) error {
		if len(names) > 0 {
			c.Names.Rename(func(old string) string { return cmp.Or(names[old], old) })
		}
		own = cmp.Or(in.Host, ingest.StandIn(c.ID))
		last := ingest.Name(math.MaxUint32)
		for i := range c.Events {
			if h := c.Events[i].Host; h != last {
				last = h
				see(c.Batch, h)
			}
		}
		for i := range c.Samples {
			see(c.Batch, c.Samples[i].Host)
		}
		add(c.Batch)
		return nil
	})
	if err != nil || rep.Problem != "" || rep.Events+rep.Samples == 0 {
		l.source = nil // what is wrong with it, its own reading says
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return nil
	}
	if l.many {
		l.host = ""
	}
	l.loose = rep.Clock.Loose
	return nil
}
