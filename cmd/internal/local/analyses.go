package local

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cluster/analysis"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

// analysedDevices bounds the devices of a report that are analysed: the worst.
const analysedDevices = 60

// amplifiedHosts bounds the hosts without a sick device whose layers are held
// against each other.
const amplifiedHosts = 500

// Analyses answers the single questions of package cluster/analysis for the
// worst of the sick devices, by host and device; and, of every host of which two
// layers are given, what one asks of the other.
func (j *Job) Analyses(d *Diagnosed) ([]analysis.Finding, error) {
	all, err := j.analyse(d, worstDevices(d))
	if err != nil {
		return nil, err
	}
	told := map[string]bool{}
	for i := range all {
		told[all[i].Host] = true
	}
	others := 0
	for from := 0; from < d.Windows.Len() && others < amplifiedHosts; {
		host, to := d.key(from).Host, from // a host's windows stand together
		for to < d.Windows.Len() && d.key(to).Host == host {
			to++
		}
		if !told[host] && d.layered(from, to) {
			if found := analysis.Amplifications(host, d.Windows.Range(from, to)); len(found) > 0 {
				all = append(all, found...)
				others++
			}
		}
		from = to
	}
	return all, nil
}

// AnalysesOf answers them for one device.
func (j *Job) AnalysesOf(d *Diagnosed, k features.Key) ([]analysis.Finding, error) {
	return j.analyse(d, []features.Key{k})
}

// worstDevices lists the sick devices that are analysed, by their worst
// episode or window.
func worstDevices(d *Diagnosed) []features.Key {
	keys := sickDevices(d)
	return keys[:min(len(keys), analysedDevices)]
}

// sickDevices are those with a sick window or an episode, the worst first.
func sickDevices(d *Diagnosed) []features.Key {
	worst := map[features.Key]float64{}
	for i := range d.Result.Diagnoses.Len() {
		if x := d.cell(i); x.Verdict == cluster.Sick {
			worst[x.Key] = max(worst[x.Key], x.Severity)
		}
	}
	for i := range d.Result.Episodes {
		e := &d.Result.Episodes[i]
		worst[e.Key] = max(worst[e.Key], 10+e.Severity) // an episode before windows alone
	}
	keys := make([]features.Key, 0, len(worst))
	for k := range worst {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b features.Key) int { return cmp.Or(cmp.Compare(worst[b], worst[a]), byKey(a, b)) })
	return keys
}

func byKey(a, b features.Key) int {
	return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Device, b.Device))
}

// analyse asks the questions of the devices, and of their hosts.
func (j *Job) analyse(d *Diagnosed, keys []features.Key) ([]analysis.Finding, error) {
	hosts := map[string]bool{}
	for _, k := range keys {
		hosts[k.Host] = true
	}
	profiles, err := j.profiles(func(k features.Key) bool { return hosts[k.Host] })
	if err != nil {
		return nil, err
	}
	byHost := map[string]map[string]*features.Profile{}
	for k, p := range profiles {
		if byHost[k.Host] == nil {
			byHost[k.Host] = map[string]*features.Profile{}
		}
		byHost[k.Host][k.Device] = p
	}
	pauses := map[string][]analysis.HostPause{}
	var all []analysis.Finding
	for _, host := range sortedKeys(byHost) {
		found, err := j.hostPauses(host, byHost[host])
		if err != nil {
			return nil, err
		}
		pauses[host] = found
		all = append(all, analysis.Pauses(host, found, len(byHost[host])))
	}
	// A device's windows stand together, and so do a host's.
	devices, own, ofHost := map[string]int{}, map[features.Key][2]int{}, map[string][2]int{}
	var last features.Key
	for i := range d.Windows.Len() {
		k := d.key(i)
		if i == 0 || k != last {
			devices[k.Host]++
			own[k] = [2]int{i, i}
			if i == 0 || k.Host != last.Host {
				ofHost[k.Host] = [2]int{i, i}
			}
			last = k
		}
		own[k], ofHost[k.Host] = [2]int{own[k][0], i + 1}, [2]int{ofHost[k.Host][0], i + 1}
	}
	for _, host := range sortedKeys(ofHost) {
		if at := ofHost[host]; hosts[host] && d.layered(at[0], at[1]) {
			all = append(all, analysis.Amplifications(host, d.Windows.Range(at[0], at[1]))...)
		}
	}
	keys = slices.Clone(keys)
	slices.SortFunc(keys, byKey)
	for _, k := range keys {
		if f, ok := analysis.Neighbours(k, d.Result.Episodes, devices); ok {
			all = append(all, f)
		}
		p := profiles[k]
		if p == nil {
			continue // of an earlier version's lake
		}
		if f, ok := analysis.PausedDevice(k, pauses[k.Host]); ok {
			all = append(all, f)
		}
		windows := d.Windows.Range(own[k][0], own[k][1]).Slice()
		full := analysis.Saturation(k, p)
		all = append(all, full, analysis.Conflict(p, &full))
		if f, ok := analysis.MetadataKnee(windows, &full); ok {
			all = append(all, f)
		}
		all = append(all, analysis.Periodic(k, p), analysis.SlowRegion(k, p), analysis.Alignment(k, windows), analysis.Merging(k, windows), analysis.Tier(k, p))
	}
	return all, nil
}

// pausesAsked bounds the moments of a host for which its ticks are read.
const pausesAsked = 64

// hostPauses finds the pauses of a host. Its ticks are read only where two
// devices stopped together, to see whether a third went on.
func (j *Job) hostPauses(host string, profiles map[string]*features.Profile) ([]analysis.HostPause, error) {
	maybe := analysis.HostPauses(profiles)
	slices.SortStableFunc(maybe, func(a, b analysis.HostPause) int { return cmp.Compare(b.ToNS-b.FromNS, a.ToNS-a.FromNS) })
	maybe = maybe[:min(len(maybe), pausesAsked)]
	slices.SortStableFunc(maybe, func(a, b analysis.HostPause) int { return cmp.Compare(a.FromNS, b.FromNS) })
	if len(maybe) == 0 {
		return nil, nil
	}
	worked := make([]bool, len(maybe))
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	first, last := maybe[0].FromNS, maybe[0].ToNS
	for _, h := range maybe {
		last = max(last, h.ToNS)
	}
	for _, part := range lake.Parts(manifests, lake.Ticks) {
		if name, ok := dated(part, first, last); !ok || name.Host != host {
			continue
		}
		path := j.at(part.Path)
		if err := eachTick(j.opener(), path, first, last, func(device string, t *features.Tick) {
			for i := range maybe {
				worked[i] = worked[i] || maybe[i].RefutedBy(device, t, profiles[device].TickNS())
			}
		}, profiles); err != nil {
			return nil, err
		}
	}
	var all []analysis.HostPause
	for i, h := range maybe {
		if !worked[i] {
			all = append(all, h)
		}
	}
	return all, nil
}

// eachTick gives the ticks of a part whose row groups touch a span, of devices
// that have a profile.
func eachTick(o lake.Opener, path string, fromNS, toNS int64, give func(device string, t *features.Tick), profiles map[string]*features.Profile) error {
	r, err := o.Open(path, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	var keep []int
	for i, g := range r.RowGroups() {
		lo, lok := g.Min["time_ns"].(int64)
		hi, hok := g.Max["time_ns"].(int64)
		if !(lok && lo >= toNS || hok && hi < fromNS-dayNS) {
			keep = append(keep, i)
		}
	}
	r.Select(keep)
	for {
		cols, _, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		keys, ticks, err := features.TicksFromColumns(cols)
		if err != nil {
			return err
		}
		for i := range ticks {
			if ticks[i].StartNS >= fromNS && ticks[i].StartNS < toNS && profiles[keys[i].Device] != nil {
				give(keys[i].Device, &ticks[i])
			}
		}
	}
}
