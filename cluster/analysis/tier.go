package analysis

import (
	"fmt"
	"math"

	"github.com/iopathy/iopathy/features"
)

const (
	tierWorth  = 0.5 // of what is read, from which on a tier that serves it is something to act upon
	tierMost   = 0.9 // of what any tier would serve: one of this size is nearly as good as the largest
	tierLeast  = 0.01
	tierPowers = 52 // of blocks of 4 KiB
)

// Tier tells how much of what is read was read before, how long ago, and which
// share an LRU tier (a cache before the device, empty at first, that all reads
// go through) of some size would have served (features.Profile.TierHits).
func Tier(key features.Key, p *features.Profile) Finding {
	f := Finding{Kind: Tiers, Key: key}
	var all features.ReuseSums
	ages := []features.ReadAge{features.FirstRead, features.WithinSoon, features.WithinHours, features.Later}
	for _, a := range ages {
		s := p.Reused(a)
		all.Sampled, all.Requests, all.Bytes = all.Sampled+s.Sampled, all.Requests+s.Requests, all.Bytes+s.Bytes
	}
	requests, bytes := p.Reads()
	if requests < fewRequests || all.Sampled < fewRequests || all.Requests <= 0 {
		f.Says = "whether a tier would serve its reads can't be told: the source gives no offsets and sizes of reads, or too few"
		return f
	}
	f.Told = true
	var again [4]float64 // shares of bytes
	f.Figures = append(f.Figures, figure("reads", "1", float64(requests)), figure("bytes read", "B", float64(bytes)))
	for i, name := range []string{"", "re-read within 30 s", "re-read after 30 s to 2 h", "re-read later"} {
		if i == 0 {
			continue
		}
		s := p.Reused(ages[i])
		again[i] = ratio(s.Bytes, all.Bytes)
		ofRequests := ratio(s.Requests, all.Requests)
		f.Figures = append(f.Figures, figure("bytes "+name, "B", again[i]*float64(bytes)), figure("share of bytes "+name, "0..1", again[i]),
			figure("requests "+name, "1", ofRequests*float64(requests)), figure("share of requests "+name, "0..1", ofRequests))
	}
	total := again[1] + again[2] + again[3]
	if total < tierLeast {
		f.Says = fmt.Sprintf("of %s read, %.2g %% had been read before: no tier would serve its reads", binary(float64(bytes)), 100*total)
		return f
	}
	enough, share := 0, 0.0
	hits := func(power int) float64 { return ratio(p.TierHits(power).Bytes, all.Bytes) }
	most := hits(tierPowers)
	before := 0.0
	for power := range tierPowers {
		v := hits(power)
		if v >= tierLeast && v > before {
			f.Figures = append(f.Figures, figure("hit share of a tier of "+binary(math.Ldexp(4096, power)), "0..1", v))
			before = v
		}
		if v >= tierMost*most {
			enough, share = power, v
			break
		}
	}
	f.Holds = share >= tierWorth
	f.Figures = append(f.Figures, figure("size of a tier that serves 90 % of the re-reads", "B", math.Ldexp(4096, enough)), figure("hit share of it", "0..1", share))
	f.Says = fmt.Sprintf("of %s read, %.0f %% had been read less than 30 s before, %.0f %% 30 s to 2 h, %.0f %% longer: an LRU tier of %s would have served %.0f %% of the bytes",
		binary(float64(bytes)), 100*again[1], 100*again[2], 100*again[3], binary(math.Ldexp(4096, enough)), 100*share)
	if enough >= 2 {
		if v := hits(enough - 2); v >= tierLeast {
			f.Says += fmt.Sprintf(", one of %s %.0f %%", binary(math.Ldexp(4096, enough-2)), 100*v)
		} else {
			f.Says += fmt.Sprintf(", one of %s nothing", binary(math.Ldexp(4096, enough-2)))
		}
	}
	return f
}

// binary is a number of bytes in words.
func binary(v float64) string {
	for _, u := range []string{"B", "KiB", "MiB", "GiB"} {
		if v < 1000 {
			return fmt.Sprintf("%.3g %s", v, u)
		}
		v /= 1024
	}
	return fmt.Sprintf("%.4g TiB", v)
}
