package formats

import "github.com/iopathy/iopathy/ingest"

// cpuName names a share of CPU time of a host by its column or key, "" if it is
// none: iostat's avg-cpu lines and mpstat's and vmstat's columns have the same.
func cpuName(b []byte) string {
	if len(b) > 1 && b[0] == '%' {
		b = b[1:]
	}
	switch string(b) {
	case "user", "usr", "us":
		return "cpu_user_share"
	case "nice":
		return "cpu_nice_share"
	case "system", "sys", "sy":
		return "cpu_system_share"
	case "iowait", "wa":
		return "cpu_iowait_share"
	case "irq":
		return "cpu_irq_share"
	case "soft":
		return "cpu_softirq_share"
	case "steal", "st":
		return "cpu_steal_share"
	case "guest", "gu":
		return "cpu_guest_share"
	case "gnice":
		return "cpu_gnice_share"
	case "idle", "id":
		return "cpu_idle_share"
	}
	return ""
}

// cpuShare is a share of CPU time, of a fact's name.
type cpuShare struct {
	name  string
	share float64
}

// percentShare reads a percentage as a share, 0..1: with a decimal comma or a
// sign, too. What rounding takes above 100 is 1.
func percentShare(b []byte) (float64, bool) {
	if n := len(b); n > 0 && b[n-1] == '%' {
		b = b[:n-1]
	}
	x, ok := counterNumber(b, true)
	if !ok || x < 0 || x > 101 {
		return 0, false
	}
	return min(x/100, 1), true
}

// cpuMost bounds the shares of a line.
const cpuMost = 12

// cpuHeader reads the names of the columns behind "avg-cpu:".
func cpuHeader(tok [][]byte, dst []string) []string {
	for _, t := range tok {
		if len(dst) == cpuMost {
			break
		}
		dst = append(dst, cpuName(t)) // "" for one that is not known
	}
	return dst
}

// ioCPU is the CPU shares of one report, and the line that they stand on.
type ioCPU struct {
	shares   [cpuMost]cpuShare
	n        int
	lines    int64 // that wait for a fate
	position int64
}

// put adds a share; one that is there already opens no second report.
func (c *ioCPU) put(name string, share float64) {
	if name != "" && c.n < cpuMost {
		c.shares[c.n] = cpuShare{name, share}
		c.n++
	}
}

// settleCPU makes facts of a report's CPU shares, at the time of its end. Those
// of a first report are means since boot, unless its devices show an interval.
func (p *ioReports) settleCPU(r *ioReport, host string, boot bool, out *ingest.Out) {
	fate := ingest.FateNote
	if use := !r.first || p.keepFirst || !boot && !r.zero(); use && r.shares.n > 0 {
		fate = ingest.FateEvent
		for _, s := range r.shares.shares[:r.shares.n] {
			out.Evidence = append(out.Evidence, ingest.Evidence{
				TimeNS: p.clockNS, Host: out.Names.InternString(host), Name: out.Names.InternString(s.name), Value: s.share, Position: r.shares.position,
			})
		}
	}
	out.Count(fate, "", r.shares.lines)
}

// zero says that no device of the report did anything.
func (r *ioReport) zero() bool {
	for i := range r.rows {
		if r.rows[i].reason == "" && !r.rows[i].zero() {
			return false
		}
	}
	return true
}
