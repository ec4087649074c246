package local

import (
	"cmp"
	"slices"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reports"
)

// culpritEpisodes bounds the episodes of a device whose culprits are told: the
// most severe.
const culpritEpisodes = 4

// margin is the time before and after a span that it is held against.
func marginOf(fromNS, toNS int64) int64 { return min(max(toNS-fromNS, leastMargin), mostMargin) }

// episodesOf are the most severe episodes of a device, in time.
func (d *Diagnosed) episodesOf(k features.Key) []cluster.Episode {
	var own []cluster.Episode
	for i := range d.Result.Episodes {
		if d.Result.Episodes[i].Key == k {
			own = append(own, d.Result.Episodes[i])
		}
	}
	slices.SortStableFunc(own, func(a, b cluster.Episode) int { return cmp.Compare(b.Severity, a.Severity) })
	own = own[:min(len(own), culpritEpisodes)]
	slices.SortFunc(own, func(a, b cluster.Episode) int { return cmp.Compare(a.FromNS, b.FromNS) })
	return own
}

// culpritFold is an episode whose requests are counted by who made them.
type culpritFold struct {
	episode cluster.Episode
	*features.Incident
}

func newCulpritFolds(episodes []cluster.Episode, fromNS, toNS int64, kind ingest.LatencyKind, names *ingest.Names) []culpritFold {
	var all []culpritFold
	for _, e := range episodes {
		from, to := max(e.FromNS, fromNS), min(e.ToNS, toNS) // where only a part is read, that part
		if from >= to {
			continue
		}
		all = append(all, culpritFold{e, features.NewIncident(from, to, marginOf(e.FromNS, e.ToNS), kind, names)})
	}
	return all
}

// culprits tells who did it by the requests, or, where these name no cgroup, by
// the counters of cgroups.
func (f *culpritFold) culprits(counters []features.Actor) reports.EpisodeCulprits {
	c := reports.EpisodeCulprits{Key: f.episode.Key, FromNS: f.episode.FromNS, ToNS: f.episode.ToNS}
	for by := range features.ActorKind(3) {
		c.List = append(c.List, analysis.Culprits(by.String(), "", f.Actors(by))...)
	}
	return withCounters(c, counters)
}

func withCounters(c reports.EpisodeCulprits, counters []features.Actor) reports.EpisodeCulprits {
	cgroup := features.ByCgroup.String()
	if !slices.ContainsFunc(c.List, func(x analysis.Culprit) bool { return x.By == cgroup }) {
		c.List = append(c.List, analysis.Culprits(cgroup, "io.stat", counters)...)
	}
	return c
}

// Culprits tells who did it of one episode, from the requests around it.
func (j *Job) Culprits(d *Diagnosed, e *cluster.Episode, kind ingest.LatencyKind) (reports.EpisodeCulprits, error) {
	counters, err := j.cgroupShares(d, e.Key, []cluster.Episode{*e})
	if err != nil {
		return reports.EpisodeCulprits{}, err
	}
	if kind == ingest.KindSample {
		return withCounters(reports.EpisodeCulprits{Key: e.Key, FromNS: e.FromNS, ToNS: e.ToNS}, counters[0]), nil
	}
	manifests, err := j.Manifests()
	if err != nil {
		return reports.EpisodeCulprits{}, err
	}
	var names ingest.Names
	f := culpritFold{*e, features.NewIncident(e.FromNS, e.ToNS, marginOf(e.FromNS, e.ToNS), kind, &names)}
	if err := j.foldIncident(manifests, e.Key, kind, f.Incident, &names, &reports.IncidentDevice{}); err != nil {
		return reports.EpisodeCulprits{}, err
	}
	all := []reports.EpisodeCulprits{f.culprits(counters[0])}
	err = j.withCalls(manifests, d, all)
	return all[0], err
}

// cgroupShares folds what the counters of cgroups tell of a device around some
// episodes: a list of actors for each.
func (j *Job) cgroupShares(d *Diagnosed, k features.Key, episodes []cluster.Episode) ([][]features.Actor, error) {
	all := make([][]features.Actor, len(episodes))
	parts, err := j.evidenceParts(d)
	if err != nil || len(parts[k.Host]) == 0 || len(episodes) == 0 {
		return all, err
	}
	index, err := j.opener().Index(parts[k.Host])
	if err != nil {
		return nil, err
	}
	var spans []features.Phased
	for _, e := range episodes {
		spans = append(spans, features.Phased{FromNS: e.FromNS, ToNS: e.ToNS, MarginNS: marginOf(e.FromNS, e.ToNS)})
	}
	for _, name := range features.EvidenceOf(k.Device) {
		if name == "" || !slices.Contains(index.Devices(), name) {
			continue // what a cgroup does to the host is nothing of this device's
		}
		fold := features.NewShareFold(spans)
		if err := eachEvidence(index, name, fold.Add); err != nil {
			return nil, err
		}
		found := false
		for i := range all {
			all[i] = fold.Actors(i)
			found = found || len(all[i]) > 0
		}
		if found {
			break
		}
	}
	return all, nil
}

// evidenceParts are the parts of evidence by the host that they speak of.
func (j *Job) evidenceParts(d *Diagnosed) (map[string][]string, error) {
	hosts, err := j.evidenceByHost()
	if n := d.Windows.Len(); err != nil || len(hosts) == 0 || n == 0 || d.Windows.At(0).Host != d.Windows.At(n-1).Host {
		return hosts, err
	}
	of := d.Windows.At(0).Host
	all := slices.Concat(hosts[of], unplaced(of, hosts))
	slices.Sort(all)
	hosts[of] = all
	return hosts, nil
}
