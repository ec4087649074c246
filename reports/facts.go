package reports

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/heatmap"
)

// facts is the Input counted once: page and JSON take their numbers here, so
// that they can't differ.
type facts struct {
	in           *Input
	all          *Digest // of the windows
	scale        heatmap.Scale
	first, last  int64 // of the windows
	time         moments
	verdicts     map[cluster.Verdict]int
	appVerdicts  map[cluster.Verdict]int // of the windows of apps
	byPathology  map[string]int          // sick windows by slug
	byClass      map[int]int             // sick windows by class id; 0 outside
	classDevices map[int]map[features.Key]bool
	stages       map[int]*analysis.Ladder // by class id
	devices      []*device                // worst first
	apps         applications             // not counted in verdicts, nor in what follows
	index        map[features.Key]*device
	appsOutside  int // sick windows of apps outside the classes
	sickDevices  int
	attention    int // devices with an episode of some level
	sickSeconds  float64
	delayedBytes float64
	quality      quality
	groups       []group          // of the scatter
	byGroup      map[string][]int // healthy windows by group of normals, once asked for
	usuals       map[usualOf]float64
	listed       []cluster.Episode
	band         *band     // of the plane, once asked for
	leftOut      int       // episodes beyond the budget
	spare        []float64 // for medians
	// What the pictures of the cards take of the page, in the order of the cards.
	drawing                 bool // the card in hand has its pictures
	pictureBytes, gridBytes int
	drawnCards              int
	gridsDrawn, gridsLeft   int
}

// device is what is known of one device.
type device struct {
	features.Key
	place      int   // in facts.devices
	above      bool  // an application's, of whose disks there are recordings too
	windows    []int // by time
	last       int64 // start of the window that came last
	disordered bool  // they came in another order
	verdicts   map[cluster.Verdict]int
	worst      float64 // largest severity of its sick windows, or of its episodes
	level      string  // of its worst episode
	episodes   []cluster.Episode
	run        *deviceRun // what its windows are when healthy; nil where they don't stand together
}

// quality is the account of the data in one line.
type quality struct {
	level    string // good, fair, poor
	coverage float64
	low      int // windows below half coverage
	lines    int64
	rejects  int64
	unpaired int64
	artefact int
}

func gather(in *Input) (*facts, error) {
	all := in.Digest
	if all == nil {
		var err error
		if all, err = NewDigest(in, 1, Labels{}); err != nil {
			return nil, err
		}
	}
	f := &facts{
		in: in, all: all, scale: in.Scale,
		verdicts: map[cluster.Verdict]int{}, appVerdicts: map[cluster.Verdict]int{}, byPathology: map[string]int{}, byClass: map[int]int{},
		classDevices: map[int]map[features.Key]bool{}, stages: map[int]*analysis.Ladder{}, index: map[features.Key]*device{},
	}
	if f.scale == (heatmap.Scale{}) {
		f.scale = heatmap.GroupScale(all)
	}
	f.tally()
	above := all.ApplicationsAbove()
	f.time = newMoments(f.first, f.last)
	f.listed, f.leftOut = cluster.Costliest(in.Result.Episodes, in.Budget)
	for _, e := range in.Result.Episodes {
		if !above[e.Key] {
			f.sickSeconds += e.SickSeconds
			f.delayedBytes += e.DelayedBytes
		}
		if dev := f.index[e.Key]; dev != nil {
			dev.episodes = append(dev.episodes, e)
			dev.worst = max(dev.worst, e.Severity)
			if rank(e.Level) > rank(dev.level) {
				dev.level = e.Level
			}
		}
	}
	covered, judged := all.covered, all.judged
	f.quality.low = all.low
	if !all.straight {
		covered, judged, f.quality.low = 0, 0, 0
	}
	for _, d := range f.devices {
		if d.disordered {
			slices.SortStableFunc(d.windows, func(a, b int) int { return cmp.Compare(all.row(a).startNS, all.row(b).startNS) })
		}
		if !all.straight {
			f.cover(d, &covered, &judged)
		}
		sick, attention := b2i(d.verdicts[cluster.Sick] > 0), b2i(d.level != "")
		if d.above = above[d.Key]; d.above {
			f.setApart(d, sick, attention)
			continue
		}
		f.sickDevices += sick
		f.attention += attention
	}
	f.quality.coverage = 1
	if judged > 0 {
		f.quality.coverage = covered / float64(judged)
	}
	slices.SortFunc(f.devices, func(a, b *device) int {
		return cmp.Or(cmp.Compare(rank(b.level), rank(a.level)), cmp.Compare(min(len(b.episodes), 1), min(len(a.episodes), 1)), cmp.Compare(b.episode(), a.episode()), cmp.Compare(b.worst, a.worst),
			cmp.Compare(b.verdicts[cluster.Sick], a.verdicts[cluster.Sick]),
			cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device))
	})
	for i, d := range f.devices {
		d.place = i
	}
	f.groups = f.scatterGroups()
	f.judgeQuality()
	return f, nil
}

// setApart takes a device of applications out of what is counted of all.
func (f *facts) setApart(d *device, sick, attention int) {
	f.apps.Devices++
	f.apps.SickDevices += sick
	f.apps.Attention += attention
	f.apps.Windows += len(d.windows)
	f.apps.Sick += d.verdicts[cluster.Sick]
	for v, n := range d.verdicts {
		f.verdicts[v] -= n
		f.appVerdicts[v] += n
	}
	for _, i := range d.windows {
		if g := f.all.row(i); g.verdict() == cluster.Sick && !f.hasClass(int(g.class)) {
			f.appsOutside++
		}
	}
}

// tally counts the windows. They stand device by device, mostly in long runs
// of one verdict, so the maps are asked once a run.
func (f *facts) tally() {
	all := f.all
	number := int32(-1) // of dev
	var (
		dev      *device
		verdict  cluster.Verdict
		run      int // windows of dev with verdict, not yet counted
		slug     string
		class    = -1
		stages   *analysis.Ladder
		sickRun  int // sick windows of slug and class, not yet counted
		classRaw int
	)
	flush := func() {
		if run > 0 {
			dev.verdicts[verdict] += run
			f.verdicts[verdict] += run
		}
		if sickRun > 0 {
			f.byPathology[slug] += sickRun
			f.byClass[class] += sickRun
		}
		run, sickRun = 0, 0
	}
	for i := range all.Len() {
		r := all.row(i)
		if i == 0 || r.startNS < f.first {
			f.first = r.startNS
		}
		if i == 0 || r.endNS > f.last {
			f.last = r.endNS
		}
		if r.device != number {
			flush()
			key := all.keys[r.device]
			if dev = f.index[key]; dev == nil {
				dev = &device{Key: key, verdicts: map[cluster.Verdict]int{}}
				if all.straight {
					dev.run = &all.runs[r.device]
					dev.windows = make([]int, 0, dev.run.to-dev.run.from)
				}
				f.index[key] = dev
				f.devices = append(f.devices, dev)
			}
			class, number = -1, r.device
		}
		dev.disordered = dev.disordered || len(dev.windows) > 0 && r.startNS < dev.last
		dev.windows, dev.last = append(dev.windows, i), r.startNS
		if v := r.verdict(); v != verdict {
			flush()
			verdict = v
		}
		run++
		if verdict != cluster.Sick {
			continue
		}
		dev.worst = max(dev.worst, r.severity)
		if class < 0 || all.slugs[r.slug] != slug || int(r.class) != classRaw {
			if sickRun > 0 {
				f.byPathology[slug] += sickRun
				f.byClass[class] += sickRun
				sickRun = 0
			}
			slug, classRaw, class = all.slugs[r.slug], int(r.class), int(r.class)
			if !f.hasClass(class) {
				class = 0
			}
			if f.classDevices[class] == nil {
				f.classDevices[class] = map[features.Key]bool{}
				f.stages[class] = &analysis.Ladder{}
			}
			f.classDevices[class][dev.Key] = true
			stages = f.stages[class]
		}
		sickRun++
		if r.flags&rowLadder != 0 {
			stages.Add(f.in.Windows.At(i))
		}
	}
	flush()
}

func (f *facts) hasClass(id int) bool {
	for i := range f.in.Result.Classes {
		if f.in.Result.Classes[i].ID == id {
			return id != 0
		}
	}
	return false
}

// rank orders the levels of an episode.
func rank(level string) int {
	return slices.Index([]string{"", "warn", "bad", "critical"}, level)
}

// Shares from which the data are no longer good: fair means look, poor means
// that the verdict may be wrong.
const (
	fairCoverage, poorCoverage = 0.98, 0.9
	fairRejects, poorRejects   = 0.001, 0.01
	fairUnpaired, poorUnpaired = 0.01, 0.05
	fairArtefact, poorArtefact = 0.005, 0.05
)

// cover adds up what was seen of a device's judged windows. A recording that
// begins or ends within a window is no loss: at such an edge only the share of
// the I/O that is known counts.
func (f *facts) cover(d *device, covered *float64, judged *int) {
	var before, w *features.Window
	for k := range d.windows {
		before = w
		if w = f.in.Windows.At(d.windows[k]); w.Idle {
			continue
		}
		seen := w.Coverage
		if k == 0 || before.EndNS != w.StartNS || k == len(d.windows)-1 || f.in.Windows.At(d.windows[k+1]).StartNS != w.EndNS {
			seen = w.Known
		}
		*covered += seen
		*judged++
		if seen < 0.5 {
			f.quality.low++
		}
	}
}

func (f *facts) judgeQuality() {
	q := &f.quality
	for i := range f.in.Ingest.Sources {
		s := &f.in.Ingest.Sources[i]
		q.lines += s.Lines
		q.rejects += s.Rejected()
		q.unpaired += s.UnpairedLines()
	}
	q.artefact = f.verdicts[cluster.Artefact]
	share := func(n int64) float64 { return float64(n) / float64(max(q.lines, 1)) }
	artefacts := float64(q.artefact) / float64(max(f.windows(), 1))
	switch {
	case f.in.Windows.Len() == 0, q.coverage < poorCoverage, share(q.rejects) > poorRejects,
		share(q.unpaired) > poorUnpaired, artefacts > poorArtefact:
		q.level = "poor"
	case q.coverage < fairCoverage, share(q.rejects) > fairRejects, share(q.unpaired) > fairUnpaired, artefacts > fairArtefact:
		q.level = "fair"
	default:
		q.level = "good"
	}
}

// episode is the severity of the device's worst episode.
func (d *device) episode() float64 {
	worst := 0.0
	for _, e := range d.episodes {
		worst = max(worst, e.Severity)
	}
	return worst
}

// withEpisodes counts the devices with an episode; they stand first.
func (f *facts) withEpisodes() int {
	n := 0
	for n < len(f.devices) && len(f.devices[n].episodes) > 0 {
		n++
	}
	return n
}

// disks is the number of devices but for those of applications above others.
func (f *facts) disks() int { return len(f.devices) - f.apps.Devices }

// windows is the number of windows of disks.
func (f *facts) windows() int { return f.in.Windows.Len() - f.apps.Windows }

// headline is the verdict in one sentence, and another on what applications saw of the
// same work if they saw more.
func (f *facts) headline() string {
	judged := f.verdicts[cluster.Healthy] + f.verdicts[cluster.Sick]
	verb := "need"
	if f.attention == 1 {
		verb = "needs"
	}
	said := fmt.Sprintf("%d of %s %s attention.", f.attention, plural(f.disks(), "device"), verb)
	switch {
	case f.in.Windows.Len() == 0 && len(f.in.Result.Findings) > 0:
		return fmt.Sprintf("No I/O was recorded; other logs tell of %s.", plural(len(f.in.Result.Findings), "finding"))
	case f.in.Windows.Len() == 0:
		return "Nothing to judge: the input holds no window with I/O."
	case judged == 0:
		said = fmt.Sprintf("Nothing to judge: all %s are idle or too damaged.", plural(f.windows(), "window"))
	case f.attention == 0 && f.sickDevices == 0 && f.disks() == 1:
		said = "The one device looks healthy."
	case f.attention == 0 && f.sickDevices == 0:
		said = fmt.Sprintf("All %s look healthy.", plural(f.disks(), "device"))
	case f.attention == 0:
		said = fmt.Sprintf("No device needs attention at once; %d of %s had short or mild episodes.", f.sickDevices, plural(f.disks(), "device"))
	}
	return said + f.apps.words()
}

// pathologyName is a slug's name in the catalogue.
func (f *facts) pathologyName(slug string) string {
	if p := f.in.pathology(slug); p != nil && p.Name != "" {
		return p.Name
	}
	if slug == cluster.Unrecognised {
		return "Unrecognised"
	}
	return label(slug)
}
