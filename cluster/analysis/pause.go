package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/features"
)

// togetherNS is how near to each other devices of one host stop and go on, if
// it is the host that paused.
const togetherNS = int64(20e6)

// HostPause is a time in which all devices of a host that had I/O stood still.
type HostPause struct {
	FromNS, ToNS int64
	Devices      []string
}

// HostPauses finds the pauses that at least two devices of a host share: all
// stop, and go on, within 20 ms of each other. RefutedBy says which of them a
// device that went on working takes away.
func HostPauses(profiles map[string]*features.Profile) (all []HostPause) {
	type one struct {
		features.Pause
		device string
	}
	var list []one
	for d, p := range profiles {
		for _, x := range p.Pauses() {
			list = append(list, one{x, d})
		}
	}
	slices.SortFunc(list, func(a, b one) int {
		return cmp.Or(cmp.Compare(a.ToNS, b.ToNS), cmp.Compare(a.FromNS, b.FromNS), strings.Compare(a.device, b.device))
	})
	used := make([]bool, len(list))
	for i := range list {
		if used[i] {
			continue
		}
		h := HostPause{FromNS: list[i].FromNS, ToNS: list[i].ToNS, Devices: []string{list[i].device}}
		with := []int{i}
		for k := i + 1; k < len(list) && list[k].ToNS-list[i].ToNS <= togetherNS; k++ {
			from, to := min(h.FromNS, list[k].FromNS), max(h.FromNS, list[k].FromNS)
			if used[k] || slices.Contains(h.Devices, list[k].device) || to-from > togetherNS {
				continue
			}
			h.FromNS = from
			h.Devices = append(h.Devices, list[k].device)
			with = append(with, k)
		}
		if len(with) < 2 {
			continue
		}
		slices.Sort(h.Devices)
		for _, k := range with {
			used[k] = true
			h.ToNS = max(h.ToNS, list[k].ToNS)
		}
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b HostPause) int { return cmp.Compare(a.FromNS, b.FromNS) })
	return all
}

// RefutedBy reports whether a tick of some device of the host lies within the
// pause and shows that the device worked.
func (h *HostPause) RefutedBy(device string, t *features.Tick, tickNS int64) bool {
	return t.Requests() > 0 && t.StartNS >= h.FromNS && t.StartNS+tickNS <= h.ToNS && !slices.Contains(h.Devices, device)
}

// Pauses says of a host what HostPauses found.
func Pauses(host string, all []HostPause, devices int) Finding {
	f := Finding{Kind: HostPaused, Key: features.Key{Host: host}}
	if devices < 2 {
		f.Says = "whether the host paused can't be told: only one of its devices was recorded"
		return f
	}
	f.Told = true
	if len(all) == 0 {
		f.Says = fmt.Sprintf("the %d devices never stopped together", devices)
		return f
	}
	f.Holds = true
	longest, sum := all[0], int64(0)
	for _, h := range all {
		sum += h.ToNS - h.FromNS
		if h.ToNS-h.FromNS > longest.ToNS-longest.FromNS {
			longest = h
		}
	}
	f.FromNS, f.ToNS = longest.FromNS, longest.ToNS
	length := float64(longest.ToNS-longest.FromNS) / 1e9
	f.Figures = append(f.Figures, figure("pauses", "1", float64(len(all))), figure("longest", "s", length), figure("together", "s", float64(sum)/1e9), figure("devices of the longest", "1", float64(len(longest.Devices))))
	names := slices.Clone(longest.Devices)
	if len(names) > 6 {
		names = append(names[:6:6], fmt.Sprintf("%d more", len(names)-6))
	}
	f.Says = fmt.Sprintf("all devices with I/O (%s) stopped and went on within 20 ms of each other, %s for up to %s: the host, or what all of them share, paused, not the devices", plain(strings.Join(names, ", ")), times(len(all)), seconds(length))
	return f
}

// PausedDevice says of one device that its stalls are the host's.
func PausedDevice(key features.Key, all []HostPause) (Finding, bool) {
	f := Finding{Kind: HostPaused, Key: key, Told: true}
	n, longest := 0, HostPause{}
	for _, h := range all {
		if slices.Contains(h.Devices, key.Device) {
			n++
			if h.ToNS-h.FromNS > longest.ToNS-longest.FromNS {
				longest = h
			}
		}
	}
	if n == 0 {
		return f, false
	}
	f.FromNS, f.ToNS, f.Holds = longest.FromNS, longest.ToNS, true
	length := float64(longest.ToNS-longest.FromNS) / 1e9
	f.Figures = append(f.Figures, figure("pauses", "1", float64(n)), figure("longest", "s", length))
	f.Says = fmt.Sprintf("it stood still with all busy devices of its host, %s for up to %s: that is not this device's fault", times(n), seconds(length))
	return f, true
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Neighbours tells which other devices were sick while a device's worst
// episode lasted. devices is how many each host has.
func Neighbours(key features.Key, episodes []cluster.Episode, devices map[string]int) (Finding, bool) {
	f := Finding{Kind: SickTogether, Key: key, Told: true}
	worst := -1
	for i := range episodes {
		if e := &episodes[i]; e.Key == key && (worst < 0 || e.Severity > episodes[worst].Severity) {
			worst = i
		}
	}
	if worst < 0 {
		return f, false
	}
	own := &episodes[worst]
	f.FromNS, f.ToNS = own.FromNS, own.ToNS
	here, elsewhere, hosts, alike := map[string]bool{}, map[features.Key]bool{}, map[string]bool{}, map[features.Key]bool{}
	for i := range episodes {
		e := &episodes[i]
		if e.Key == key || min(e.ToNS, own.ToNS) <= max(e.FromNS, own.FromNS) {
			continue
		}
		if e.Host == key.Host {
			here[e.Device] = true
		} else {
			elsewhere[e.Key], hosts[e.Host] = true, true
		}
		if e.Pathology == own.Pathology {
			alike[e.Key] = true
		}
	}
	others, rest, all := devices[key.Host]-1, 0, 0
	for h, n := range devices {
		all++
		if h != key.Host {
			rest += n
		}
	}
	if others+rest <= 0 {
		f.Told = false
		f.Says = "whether others were sick at the same time can't be told: no other device was recorded"
		return f, true
	}
	f.Figures = append(f.Figures, figure("devices of its host sick at the same time", "1", float64(len(here))), figure("other devices of its host", "1", float64(others)),
		figure("devices of other hosts sick at the same time", "1", float64(len(elsewhere))), figure("other hosts with them", "1", float64(len(hosts))), figure("of the same pathology", "1", float64(len(alike))))
	f.Holds = len(here) >= 1 && 2*len(here) >= others || rest > 0 && len(elsewhere) >= 2 && 4*len(elsewhere) >= rest
	f.Says = fmt.Sprintf("while its worst episode lasted, %d of %s of its host and %d of %s of %s were sick, %d of them in the same way", len(here), cluster.Counted(others, "other device"), len(elsewhere), cluster.Counted(rest, "device"), cluster.Counted(all-1, "other host"), len(alike))
	return f, true
}
