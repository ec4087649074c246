package generate

import "github.com/iopathy/iopathy/ingest"

// Program is a name of a task, none of which tells what it does to the device.
type Program uint8

// programs are names as users have them, and behind them those of the kernel's workers.
var programs = [...]string{
	"postgres", "mysqld", "java", "python3", "rsync", "nginx", "etcd", "indexer", "worker", "ffmpeg", "redis-server", "backupd", "ingestd", "node", "app-main", "scheduler",
	"kworker/0:1H", "kworker/1:1H", "kworker/2:1H", "kworker/3:1H",
}

const kworker Program = 16

func (p Program) String() string { return programs[p] }

const (
	kib = 1 << 10
	mib = 1 << 20
)

// site is a device that loads are drawn for.
type site struct {
	*draws
	law  *Law
	rate float64 // requests a second that the device is to see when it is healthy
	pids int32
}

// load begins a workload of a program of its own, over all of the device but
// its end, which logs have.
func (s *site) load(a Arrival) Load {
	s.pids += 16
	data := s.law.Bytes / 100 &^ 4095
	return Load{
		Comm: Program(s.below(int(kworker))), PID: 1000 + s.pids + int32(s.below(9))*131, Arrival: a, Sizes: []int64{4 * kib}, Pattern: Random,
		Lo: data, Hi: 95 * data, LogLo: 96 * data, LogHi: 96*data + 128*mib,
	}
}

// atMost lowers a rate so that the load takes no more than a share of what the
// device can do.
func (s *site) atMost(l *Load, share float64) {
	l.Rate = min(l.Rate, share*1e9/s.law.costNS(l.Read, l.meanSize()))
}

// ceilingNSB is the least time that the device takes for a byte of a stream.
func (s *site) ceilingNSB() float64 {
	if s.law.Rotates {
		return max(s.law.ChannelNSB, s.law.LinkNSB)
	}
	return max(s.law.ChannelNSB/float64(s.law.Channels), s.law.LinkNSB)
}

// mix is sizes as programs have them.
func (s *site) mix() []int64 {
	return pick(s.draws, []int64{4 * kib}, []int64{8 * kib}, []int64{16 * kib}, []int64{4 * kib, 4 * kib, 4 * kib, 16 * kib, 64 * kib}, []int64{4 * kib, 32 * kib})
}

// random is open work in small requests, the commonest of all.
func (s *site) random(share float64) Load {
	l := s.load(Poisson)
	l.Rate, l.Sizes, l.Read = s.rate, s.mix(), pick(s.draws, 1, 0.9, 0.7, 0.5)
	if s.chance(0.5) {
		l.Pattern, l.Skew = Skewed, float64(pick(s.draws, 2, 3))
	}
	s.atMost(&l, share)
	return l
}

// log is small synced writes, each with a flush.
func (s *site) log(rate float64) Load {
	l := s.load(Poisson)
	l.Rate, l.Limit = rate, 4
	if s.law.Rotates {
		l.Rate = min(rate, 6)
	}
	l.Steps = []step{
		{op: ingest.OpWrite, flags: ingest.FlagSync, sizes: []int64{4 * kib, 4 * kib, 8 * kib, 16 * kib}, log: true},
		{op: ingest.OpFlush},
	}
	return l
}

// journal is the steps of a file system's commit: blocks, a flush, the record
// that makes them count, a flush.
func journal(blocks ...int64) []step {
	const how = ingest.FlagSync | ingest.FlagMeta
	return []step{
		{op: ingest.OpWrite, flags: how, sizes: blocks, log: true},
		{op: ingest.OpFlush},
		{op: ingest.OpWrite, flags: how | ingest.FlagFUA, sizes: []int64{4 * kib}, log: true},
		{op: ingest.OpFlush},
	}
}

// stream is reads or writes one after the other that take a share of the ceiling.
func (s *site) stream(share float64) Load {
	l := s.load(Poisson)
	l.Pattern, l.Streams, l.Sizes = Stream, pick(s.draws, 1, 1, 2, 4), []int64{int64(pick(s.draws, 128, 256, 512)) * kib}
	l.Read = pick(s.draws, 1.0, 1, 0)
	l.Rate = share * 1e9 / (s.ceilingNSB() * float64(l.Sizes[0]))
	if l.Rate > 5*s.rate {
		l.Rate = 5 * s.rate
	}
	if s.law.Rotates && l.Streams > 1 { // between two of its requests the head is elsewhere
		l.Rate = min(l.Rate, 0.35*1e9/s.law.aloneNS(l.Sizes[0]))
	}
	return l
}

// light is work of one to four requests at a time, far below what the device can do.
func (s *site) light() Load {
	if s.chance(0.5) {
		l := s.random(0.12)
		l.Pattern = Random
		return l
	}
	l := s.load(Closed)
	l.Depth, l.Sizes, l.Read = 1+s.below(4), s.mix(), pick(s.draws, 1, 0.7, 0.5)
	l.ThinkNS = int64(float64(l.Depth) * 1e9 / min(s.rate, 0.2*1e9/s.law.costNS(l.Read, l.meanSize())))
	return l
}

// healthy is work within what the device can do. Some of it looks like a
// pathology: busy, in bursts, with checkpoints, at half of the ceiling.
func (s *site) healthy() (kind string, loads []Load) {
	kind = pick(s.draws, "random", "random", "log", "stream", "on-off", "sway", "think", "idle", "busy", "bursts", "checkpoints", "files", "backup")
	switch kind {
	case "random":
		loads = []Load{s.random(0.4)}
	case "log":
		loads = []Load{s.random(0.3), s.log(s.between(2, 20))}
	case "stream":
		loads = []Load{s.stream(s.between(0.15, 0.5))}
	case "on-off":
		l := s.random(0.4)
		l.OnNS, l.OffNS = int64(s.logBetween(0.5e9, 20e9)), int64(s.logBetween(0.5e9, 10e9))
		loads = []Load{l}
	case "sway":
		l := s.random(0.3)
		l.Sway, l.SwayNS = s.between(0.3, 0.8), int64(s.logBetween(60e9, 1200e9))
		loads = []Load{l}
	case "think":
		loads = []Load{s.light()}
	case "idle":
		l := s.random(0.1)
		l.Rate = s.logBetween(0.2, 2)
		loads = []Load{l}
	case "busy":
		l := s.random(1)
		l.Sizes = []int64{int64(pick(s.draws, 64, 128, 256)) * kib}
		l.Rate = 8 * s.rate
		s.atMost(&l, s.between(0.5, 0.65))
		loads = []Load{l}
	case "bursts":
		b := s.load(Burst)
		b.Depth, b.Read, b.Sizes = 2+s.below(max(s.law.Channels, 4)), 1, s.mix()
		b.PeriodNS = int64(max(s.between(0.3e9, 4e9), 5*float64(b.Depth)*s.law.costNS(1, b.meanSize())))
		loads = []Load{s.random(0.2), b}
	case "checkpoints":
		loads = []Load{s.random(0.25), s.checkpoint(0.02, 4)}
	case "files":
		f := s.load(Poisson)
		f.Rate, f.Limit, f.Steps = s.logBetween(0.2, 1.5), 2, journal(8*kib, 16*kib)
		loads = []Load{s.random(0.25), f}
	case "backup":
		l := s.stream(s.between(0.2, 0.45))
		if s.law.Rotates { // between two of its requests the head is elsewhere
			l.Rate = min(l.Rate, 0.35*1e9/s.law.aloneNS(l.Sizes[0]))
		}
		loads = []Load{s.random(0.15), l}
	}
	return kind, loads
}

// checkpoint is a flood of writes that takes a share of the time, so many at once.
func (s *site) checkpoint(share float64, depth int) Load {
	l := s.load(Flood)
	l.PeriodNS = int64(s.logBetween(4e9, 30e9))
	l.Pattern, l.Read, l.Sizes = Stream, 0, []int64{int64(pick(s.draws, 128, 256, 512, 1024)) * kib}
	l.Depth, l.Flush = depth, true
	l.Bytes = int64(share*float64(l.PeriodNS)/max(s.ceilingNSB(), s.law.DrainB)) &^ (mib - 1)
	l.Bytes = max(l.Bytes, 4*l.Sizes[0])
	return l
}
