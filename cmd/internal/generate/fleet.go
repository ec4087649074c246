package generate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Options say what is made.
type Options struct {
	Devices     int
	Hours       float64
	Format      string
	Seed        uint64
	Hosts       int      // 0: one for eight devices
	Rate        float64  // mean requests a second of a healthy device; each has its own about it
	Sick        float64  // share of devices that something befalls
	Pathologies []string // what may befall them; empty: all
	Workers     int
	Compress    bool // gzip
}

// DefaultOptions make a small fleet of which a third gets sick.
func DefaultOptions() Options {
	return Options{Devices: 8, Hours: 0.1, Format: "event-csv", Rate: 100, Sick: 0.35, Workers: 1}
}

// startNS is when all logs begin: 2026-01-01 00:00 UTC.
const startNS = 1767225600 * int64(1e9)

// mostRate keeps times apart: a rate above it is no device's.
const mostRate = 1e6

// Check says what is wrong with the options.
func (o *Options) Check() error {
	if _, ok := formatNamed(o.Format); !ok {
		return fmt.Errorf("generate: format %q can't be written; these can: %s", o.Format, strings.Join(Names(), ", "))
	}
	if err := o.check(); err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	return nil
}

func (o *Options) check() error {
	switch {
	case o.Devices < 1 || o.Devices > 1e6:
		return fmt.Errorf("devices: %d is not between 1 and 1000000", o.Devices)
	case !(o.Hours > 0 && o.Hours <= 24*366):
		return fmt.Errorf("hours: %g is not above 0, up to a year", o.Hours)
	case !(o.Rate > 0 && o.Rate <= mostRate):
		return fmt.Errorf("rate: %g requests a second is not above 0, up to %g", o.Rate, float64(mostRate))
	case !(o.Sick >= 0 && o.Sick <= 1):
		return fmt.Errorf("sick: %g is no share", o.Sick)
	case o.Hosts < 0 || o.Hosts > o.Devices:
		return fmt.Errorf("hosts: %d for %d devices", o.Hosts, o.Devices)
	}
	for _, p := range o.Pathologies {
		if labelOf(p) == 0 {
			return fmt.Errorf("pathology %q is none of %v", p, Pathologies)
		}
	}
	return nil
}

// Disk is one device of a fleet: its law, its place and what is to happen to it.
type Disk struct {
	Run          string // run-0001
	Host, Name   string
	Major, Minor int
	Number       int // of the device on its host, from 0
	Law          Law
	Kind         string // of healthy work; empty if a fault is planted
	Fault        *Fault
	FromNS, ToNS int64

	draws *draws
	loads []Load
	ill   ill
}

// Fleet is who is there. Disk makes one of them: all are never in memory.
type Fleet struct {
	o     Options
	order []int // which place of the plan a device has
}

// NewFleet reckons with the options.
func NewFleet(o Options) (*Fleet, error) {
	if o.Hosts == 0 {
		o.Hosts = (o.Devices + 7) / 8
	}
	if len(o.Pathologies) == 0 {
		o.Pathologies = Pathologies
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	return &Fleet{o: o, order: rand.New(rand.NewPCG(o.Seed, 0)).Perm(o.Devices)}, nil
}

// label is what befalls the i-th device, or "": the share of sick ones is kept,
// and each pathology has its turn, in an order that tells nothing.
func (f *Fleet) label(i int) string {
	k := f.order[i]
	before, upTo := int(math.Floor(float64(k)*f.o.Sick)), int(math.Floor(float64(k+1)*f.o.Sick))
	if upTo == before {
		return ""
	}
	return f.o.Pathologies[before%len(f.o.Pathologies)]
}

// Disk makes the i-th device, which depends on the seed and i.
func (f *Fleet) Disk(i int) *Disk {
	d := newDraws(f.o.Seed, uint64(i)+1)
	host := i % f.o.Hosts
	v := &Disk{
		Run: fmt.Sprintf("run-%04d", i+1), Host: fmt.Sprintf("h%03d", host+1), Number: i / f.o.Hosts,
		FromNS: startNS, ToNS: startNS + int64(f.o.Hours*3600e9), draws: d,
	}
	v.Law = drawLaw(d, pick(d, "hdd", "ssd", "ssd", "nvme", "nvme", "network"))
	v.name()
	s := &site{draws: d, law: &v.Law, rate: f.o.Rate * d.logBetween(0.4, 2.5), pids: int32(v.Number) * 200}
	label := f.label(i)
	if label == "" {
		v.Kind, v.loads = s.healthy()
		return v
	}
	span := float64(v.ToNS - v.FromNS)
	from := v.FromNS + int64(d.between(0.1, 0.5)*span)
	to := from + int64(d.between(0.25, 1)*float64(v.ToNS-from))
	p := s.plant(label, from, to)
	v.ill, v.loads = p.ill, slices.Concat(p.base, p.extra)
	for j := range v.loads {
		if j >= len(p.base) {
			v.loads[j].ToNS = min(v.loads[j].ToNS, p.toNS)
		}
	}
	v.Fault = &Fault{Label: label, FromNS: from, ToNS: p.toNS, Stalls: p.stalls, Notes: p.notes}
	return v
}

// name gives the device its name on the host and its numbers, as Linux would.
func (v *Disk) name() {
	n := v.Number
	switch v.Law.Profile {
	case "nvme":
		v.Name, v.Major, v.Minor = fmt.Sprintf("nvme%dn1", n), 259, n
	case "network":
		v.Name, v.Major, v.Minor = "vd"+letters(n), 252, 16*n
	default:
		v.Name, v.Major, v.Minor = "sd"+letters(n), 8, 16*n
	}
}

// letters counts as Linux names disks: a, b, ... z, aa, ab.
func letters(n int) string {
	s := ""
	for n++; n > 0; n = (n - 1) / 26 {
		s = string(rune('a'+(n-1)%26)) + s
	}
	return s
}

// play runs the device's queue into a sink and settles when its fault was over.
// It tells how many requests there were.
func (v *Disk) play(sink Sink, staged bool, at Stage) int64 {
	q := v.queue(sink, staged, at)
	q.run()
	if v.Fault != nil {
		v.Fault.ToNS = max(v.Fault.ToNS, q.held)
	}
	return q.count
}

// queue is the device's, into a sink.
func (v *Disk) queue(sink Sink, staged bool, at Stage) *queue {
	q := newQueue(newDevice(v.Law, v.ill, v.draws), v.draws, v.loads, v.FromNS, v.ToNS, sink, staged, at)
	if v.Fault != nil {
		q.fault = [2]int64{v.Fault.FromNS, v.Fault.ToNS}
	}
	q.open = q.unseen && v.Fault == nil
	return q
}
