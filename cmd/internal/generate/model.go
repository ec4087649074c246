package generate

import (
	"math"

	"github.com/iopathy/iopathy/ingest"
)

// Law is how a device serves requests: times in ns, rates in ns a byte.
//
// A request takes a channel for a fixed cost with a log-normal spread and its
// bytes at the channel's rate; all bytes pass one link. Writes go to a cache,
// whose content is written out at a rate of its own: a full cache makes writes
// wait, and a flush waits for what is left of it.
type Law struct {
	Profile   string
	Model     string // of the inventory
	Rotates   bool
	Bytes     int64 // size of the device
	Channels  int   // requests that are served at once
	Tags      int   // requests that the driver takes at once
	Scheduler bool  // requests are inserted into a scheduler's queue

	ReadNS, WriteNS float64 // median of the fixed cost
	Sigma           float64 // of its logarithm
	ChannelNSB      float64
	LinkNSB         float64
	RequestNS       float64 // a limit of requests a second, as a gap; 0: none
	BurstNS         float64 // how far that limit and a cap may run ahead

	HiccupShare, HiccupFactor float64 // requests that the device's own upkeep delays

	FlushNS float64
	CacheNS float64 // what the cache holds, in time to write it out; 0: no cache
	DrainNS float64 // a request's share of writing out
	DrainB  float64 // a byte's

	SeekNS, FarNS, TurnNS float64 // of a head: shortest and longest seek, a turn
}

// drawLaw gives one device of a profile: no two are alike.
func drawLaw(d *draws, profile string) Law {
	about := func(v, share float64) float64 { return v * d.between(1-share, 1+share) }
	perMB := func(mbs float64) float64 { return 1e9 / (about(mbs, 0.15) * 1e6) }
	switch profile {
	case "hdd":
		return Law{
			Profile: profile, Model: pick(d, "SPIN-7200-4T", "SPIN-7200-8T"), Rotates: true, Bytes: int64(pick(d, 1, 2, 4)) << 40,
			Channels: 1, Tags: 32, Scheduler: true,
			ReadNS: about(80e3, 0.2), WriteNS: about(90e3, 0.2), Sigma: 0.25, ChannelNSB: perMB(180), LinkNSB: perMB(500),
			FlushNS: about(4e6, 0.3), CacheNS: about(250e6, 0.3), DrainNS: about(2.5e6, 0.2), DrainB: perMB(160),
			SeekNS: about(0.8e6, 0.2), FarNS: about(12e6, 0.2), TurnNS: 60e9 / 7200,
		}
	case "nvme":
		return Law{
			Profile: profile, Model: pick(d, "FLASH-NVME-1T", "FLASH-NVME-2T"), Bytes: int64(pick(d, 1, 2)) << 40,
			Channels: pick(d, 16, 32), Tags: 1023,
			ReadNS: about(75e3, 0.25), WriteNS: about(18e3, 0.25), Sigma: 0.2, ChannelNSB: perMB(900), LinkNSB: perMB(3200),
			HiccupShare: 0.0003, HiccupFactor: 10,
			FlushNS: about(60e3, 0.3), CacheNS: about(40e6, 0.3), DrainNS: about(2e3, 0.3), DrainB: perMB(1500),
		}
	case "network":
		return Law{
			Profile: profile, Model: pick(d, "VOLUME-GP", "VOLUME-STD"), Bytes: int64(pick(d, 128, 256, 512)) << 30,
			Channels: 64, Tags: 256, Scheduler: d.chance(0.5),
			ReadNS: about(550e3, 0.25), WriteNS: about(750e3, 0.25), Sigma: 0.3, ChannelNSB: perMB(350), LinkNSB: perMB(260),
			RequestNS: 1e9 / float64(pick(d, 3000, 6000)), BurstNS: 20e6,
			HiccupShare: 0.0005, HiccupFactor: 6, FlushNS: about(800e3, 0.3),
		}
	}
	return Law{
		Profile: "ssd", Model: pick(d, "FLASH-SATA-480", "FLASH-SATA-960"), Bytes: int64(pick(d, 480, 960)) * 1e9,
		Channels: 8, Tags: 32, Scheduler: d.chance(0.6),
		ReadNS: about(110e3, 0.2), WriteNS: about(55e3, 0.2), Sigma: 0.25, ChannelNSB: perMB(220), LinkNSB: perMB(480),
		HiccupShare: 0.0005, HiccupFactor: 8,
		FlushNS: about(900e3, 0.3), CacheNS: about(80e6, 0.3), DrainNS: about(12e3, 0.3), DrainB: perMB(380),
	}
}

// costNS is about how long the device is held by one random request alone: what
// capacity is reckoned with.
func (l *Law) costNS(read float64, size int64) float64 {
	each := (read*l.ReadNS + (1-read)*l.WriteNS + float64(size)*l.ChannelNSB) / float64(l.Channels)
	if l.Rotates {
		each += read*(l.SeekNS+(l.FarNS-l.SeekNS)*0.5+l.TurnNS/2) + (1-read)*l.DrainNS
	}
	return max(each, float64(size)*l.LinkNSB, l.RequestNS, (1-read)*(l.DrainNS+float64(size)*l.DrainB))
}

// aloneNS is about how long a read of this size takes that nobody is in the way of.
func (l *Law) aloneNS(size int64) float64 {
	t := l.ReadNS + float64(size)*l.ChannelNSB
	if l.Rotates {
		t += l.SeekNS + (l.FarNS-l.SeekNS)*0.3 + l.TurnNS/2
	}
	return t
}

// device is a Law at work.
type device struct {
	Law
	ill
	random mix // of what seldom happens
	took   *factors
	rests  *waits
	calm   int    // requests until upkeep delays one
	head   int64  // where the last request of the head ended
	link   int64  // when the link is free, as times below
	gate   int64  // when the limit of requests lets the next one through
	cap    int64  // when the cap of bytes does
	drain  int64  // when the cache will be written out, if that is to come
	ways   [4]way // by operation
}

// way is what an operation asks of a device without a head.
type way struct {
	fixed           float64
	drainB, drainNS float64 // of the cache
	cache           int64   // what it may hold; of reads without an end
}

// ill is what is wrong with a device from fromNS to toNS.
type ill struct {
	fromNS, toNS int64
	slow, slower float64 // factor of service at the start and at the end; 0: none
	lo, hi       int64   // bytes that it holds for; hi 0: all
	retryShare   float64
	retryNS      [2]float64
	capNSB       float64    // the device passes no more bytes than this
	stalls       [][2]int64 // it serves nothing
	locked       bool       // stalls hold up what is issued, not what is served
	next         int        // the first stall that is not over
}

// serve gives when a request is done whose service may begin at start.
func (v *device) serve(r *Request, start int64) int64 {
	if len(v.stalls) > 0 && !v.locked {
		start = v.awake(start)
	}
	if r.Op == ingest.OpFlush {
		done := max(start, v.drain) + int64(v.FlushNS*v.took.take())
		v.drain = start
		return v.through(start, done)
	}
	// What reads and writes differ in are numbers, not branches, since nobody could
	// foretell these.
	how, size := &v.ways[r.Op&3], float64(r.Size)
	took := how.fixed*v.took.take() + size*v.ChannelNSB
	if v.calm--; v.calm < 0 {
		took += v.hiccup(how.fixed)
	}
	var full int64 // how long the cache takes nothing
	switch {
	case !v.Rotates:
		v.drain = max(v.drain, start) + int64(size*how.drainB+how.drainNS)
		full = max(0, v.drain-start-how.cache)
	case r.Op == ingest.OpRead || v.CacheNS == 0:
		took += v.seek(r, start)
	default:
		out := size * v.DrainB
		if r.Offset != v.head {
			out += v.DrainNS
		}
		v.head = r.Offset + r.Size
		took = v.WriteNS + size*v.LinkNSB
		v.drain = max(v.drain, start) + int64(out)
		full = max(0, v.drain-start-how.cache)
	}
	sick := start >= v.fromNS && start < v.toNS
	if sick {
		took = v.sicken(r, start, took+float64(full))
		full = 0
	}
	// Who begins first has the link first, for its bytes alone: a request that takes
	// long for another reason holds up nobody.
	v.link = max(v.link, start) + int64(size*v.LinkNSB)
	done := max(start+int64(took)+full, v.link)
	if v.RequestNS > 0 {
		v.gate = max(v.gate, start-int64(v.BurstNS)) + int64(v.RequestNS)
		done = max(done, v.gate)
	}
	if sick && v.capNSB > 0 {
		v.cap = max(v.cap, start-2e6) + int64(size*v.capNSB)
		done = max(done, v.cap)
	}
	if len(v.stalls) > 0 {
		return v.through(start, done)
	}
	return done
}

// newDevice puts a law to work, whatever is wrong with the device.
func newDevice(law Law, sick ill, d *draws) device {
	v := device{Law: law, ill: sick, took: newFactors(law.Sigma, d.split()), rests: newWaits(d.split()), random: d.split()}
	read, write := way{fixed: law.ReadNS, cache: math.MaxInt64}, way{fixed: law.WriteNS, cache: math.MaxInt64}
	if law.CacheNS > 0 {
		write.drainB, write.drainNS, write.cache = law.DrainB, law.DrainNS, int64(law.CacheNS)
	}
	v.ways[ingest.OpRead], v.ways[ingest.OpWrite] = read, write
	v.rest()
	return v
}

// rest draws how many requests come between two that upkeep delays, each of which
// is one of those with the same chance: a geometric law, as the whole part of an
// exponential one.
func (v *device) rest() {
	v.calm = math.MaxInt
	if v.HiccupShare > 0 {
		v.calm = int(v.rests.take() / -math.Log1p(-v.HiccupShare))
	}
}

// hiccup is what upkeep adds to a request of this fixed cost.
func (v *device) hiccup(fixed float64) float64 {
	v.rest()
	return fixed * v.HiccupFactor * v.random.unit()
}

// seek moves the head.
func (v *device) seek(r *Request, at int64) float64 {
	took := v.reach(r.Offset)
	if v.drain > at && v.random.unit() < 0.5 {
		took += v.DrainNS // the head was writing out
	}
	v.head = r.Offset + r.Size
	return took
}

// reach is what it takes the head to get to a place and the platter to turn.
func (v *device) reach(offset int64) float64 {
	far := math.Abs(float64(offset-v.head)) / float64(v.Bytes)
	switch {
	case far == 0:
		return 0
	case far < 1e-7: // the same track
		return v.TurnNS * v.random.unit() * 0.25
	}
	return v.SeekNS + (v.FarNS-v.SeekNS)*math.Sqrt(far) + v.TurnNS*v.random.unit()
}

// sicken is how long service takes during a fault that takes this long on a sound device.
func (v *device) sicken(r *Request, start int64, took float64) float64 {
	if v.hi > 0 && (r.Offset < v.lo || r.Offset >= v.hi) {
		return took
	}
	if v.slow > 0 {
		part := float64(start-v.fromNS) / float64(v.toNS-v.fromNS)
		took *= v.slow * math.Pow(v.slower/v.slow, part)
	}
	if v.retryShare > 0 && v.random.unit() < v.retryShare {
		took += v.retryNS[0] + (v.retryNS[1]-v.retryNS[0])*v.random.unit()
	}
	return took
}

// awake is the time from which on the device does anything.
func (v *device) awake(t int64) int64 {
	for v.next < len(v.stalls) && v.stalls[v.next][1] <= t {
		v.next++
	}
	if v.next < len(v.stalls) && v.stalls[v.next][0] <= t {
		return v.stalls[v.next][1]
	}
	return t
}

// through moves an end by the stalls that fall between it and the start.
func (v *device) through(start, done int64) int64 {
	if v.locked {
		return done
	}
	for _, s := range v.stalls[v.next:] {
		if s[0] >= done {
			break
		}
		if s[0] >= start {
			done += s[1] - s[0]
		}
	}
	return done
}
