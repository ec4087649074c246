package local

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/configs"
	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest"
	"github.com/iopathy/iopathy/reduce"
)

// Pseudonyms gives names that say nothing of those that they stand for: the
// field, and 64 bits of an HMAC-SHA256 of field and name by a secret key. The same
// key gives a name the same pseudonym in every run; without the key nobody can
// try names out. What is a pseudonym already stays one.
//
// Well-known names, which tell of no machine and nobody, stay: see WellKnown.
type Pseudonyms struct {
	key  []byte
	kept map[pseudonymOf]string // of names that come again and again
}

type pseudonymOf struct{ field, name string }

// The fields that have pseudonyms.
const (
	HostField   = "host"
	DeviceField = "device"
	CommField   = "comm"
	FileField   = "file"
	CgroupField = "cgroup"
	LogField    = "log"  // paths of inputs
	FactField   = "fact" // names of figures that a log gives by itself
	TextField   = "text" // of evidence
)

// PseudonymFields are the fields, for people.
var PseudonymFields = []string{HostField, DeviceField, CommField, FileField, CgroupField, LogField, FactField, TextField}

// keptPseudonyms bounds those that are remembered: names from logs may be endless.
const keptPseudonyms = 1 << 16

// NewPseudonyms gives those of the key file that the settings name; nil when
// they name none.
func NewPseudonyms(c *configs.Config) (*Pseudonyms, error) {
	key, err := c.AnonymiseKey()
	if err != nil || len(key.Bytes()) == 0 {
		return nil, err
	}
	return &Pseudonyms{key: key.Bytes(), kept: map[pseudonymOf]string{}}, nil
}

// another is the same ones for another goroutine.
func (p *Pseudonyms) another() *Pseudonyms {
	if p == nil {
		return nil
	}
	return &Pseudonyms{key: p.key, kept: map[pseudonymOf]string{}}
}

// pseudonymDigits is the hexadecimal digits behind the field.
const pseudonymDigits = 16

// mac is the HMAC of field and name.
func (p *Pseudonyms) mac(field, name string) string {
	m := hmac.New(sha256.New, p.key)
	m.Write([]byte(field + "\x00" + name)) // never fails
	return hex.EncodeToString(m.Sum(nil))[:pseudonymDigits]
}

// Mark tells which key it is, and nothing of it.
func (p *Pseudonyms) Mark() string {
	if p == nil {
		return ""
	}
	return p.mac("key", "")
}

// Of is the pseudonym of a name in a field.
func (p *Pseudonyms) Of(field, name string) string {
	if p == nil || name == "" || isPseudonym(field, name) || WellKnown(field, name) {
		return name
	}
	k := pseudonymOf{field, name}
	if s := p.kept[k]; s != "" {
		return s
	}
	if len(p.kept) >= keptPseudonyms {
		clear(p.kept)
	}
	s := field + "-" + p.mac(field, name)
	p.kept[k] = s
	return s
}

func isPseudonym(field, name string) bool {
	digits, ok := strings.CutPrefix(name, field+"-")
	return ok && len(digits) == pseudonymDigits && strings.Trim(digits, "0123456789abcdef") == ""
}

var (
	// kernelDevice is what Linux calls devices by itself, by number or letter.
	kernelDevice = regexp.MustCompile(`^((sd|hd|vd|xvd|ubd|dasd)[a-z]{1,3}|(dm-|md|loop|sr|ram|zram|zd|nbd|rbd|pmem|bcache|drbd|mmcblk|fd)[0-9]{1,5}|nvme[0-9]{1,4}(c[0-9]{1,4})?(n[0-9]{1,4})?)(p?[0-9]{1,3})?$|^dev(:[0-9]{1,7}:[0-9]{1,7}|[0-9]{1,7}-[0-9]{1,7})$`)
	// kernelThread is what Linux calls its threads, with no more than numbers and its own devices.
	kernelThread = regexp.MustCompile(`^(kworker/(u?[0-9]+:[0-9]+H?)([-+](flush-[0-9]+:[0-9]+|events(_[a-z_]+)?|kblockd|writeback))?|(jbd2|xfsaild|xfs-cil|xfs-buf|xfs-conv|btrfs-transaction|dmcrypt_write|ext4lazyinit|f2fs_ckpt)(/(sd[a-z]{1,3}|vd[a-z]{1,2}|dm-|md|nvme[0-9]+n)[0-9]*(p?[0-9]+)?(-[0-9]+)?)?|(kswapd|kcompactd|ksoftirqd|migration|rcu_[a-z_]+|watchdog|irq|loop|md|kthreadd|khugepaged|khungtaskd|ksmd|kauditd|swapper)/?[0-9]*(_raid[0-9]+|_resync)?)$`)
	// plainValue is a number, maybe with a unit, or a span of two; no address.
	plainValue = regexp.MustCompile(`^[-+]?[0-9]+([.,][0-9]+)?(\.\.[0-9]+)? ?([kKMGTP]?i?B(/s)?|ns|us|ms|s|%|C|W|GT/s|x[0-9]+)?$`)
	// inQuotes is what words say that stood in a log.
	inQuotes = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	// factName is what formats call their facts; a figure that a log names itself may look so, too.
	factName = regexp.MustCompile(`^[a-z][a-z0-9_.]*$`)
)

// wellKnownComms are programs that many machines run.
var wellKnownComms = strings.Fields(`awk bash cat cp cron crond dash dbus-daemon dd df docker dockerd containerd du fio find fsck fstrim git grep gunzip gzip head iostat ioping java journald kubelet
	ls lvm mdadm mkfs mongod mount mv mysqld nfsd nginx node ntpd perl postgres postmaster python python2 python3 qemu-system-x86 redis-server rm rpciod rsync rsyslogd
	sadc sed sh smartd sort ssh sshd sync systemd systemd-journal systemd-udevd tail tar udevd umount updatedb vi vim xargs xz zstd`)

// wellKnownCgroups are those that systemd and Kubernetes make everywhere.
var wellKnownCgroups = strings.Fields(`/ /init.scope /system.slice /user.slice /machine.slice /kubepods /kubepods.slice /docker`)

// WellKnown says of a name that it may stay: what the kernel calls devices and
// its threads, programs that many machines run, the cgroups that systemd makes, values
// without words, hosts that only stand in for one that nobody named.
func WellKnown(field, name string) bool {
	switch field {
	case HostField:
		return name == "localhost" || ingest.NamesNoHost(name)
	case DeviceField:
		return kernelDevice.MatchString(name)
	case CommField:
		return slices.Contains(wellKnownComms, name) || kernelThread.MatchString(name)
	case CgroupField:
		return slices.Contains(wellKnownCgroups, name)
	case LogField:
		return name == "-"
	case TextField:
		return name == wholeLoss || plainValue.MatchString(name) || kernelDevice.MatchString(name)
	}
	return false
}

// generalFormats take the names of facts from the log.
var generalFormats = []string{"counters", ingest.MappedText, ingest.MappedJSON, "prometheus", "prometheus-json"}

// rows gives the names of a chunk's rows their pseudonyms, each by its field.
func (p *Pseudonyms) rows(c *ingest.Chunk, asked map[string]bool) {
	if p == nil {
		return
	}
	type named struct {
		field string
		name  ingest.Name
	}
	done := map[named]ingest.Name{}
	put := func(field string, n *ingest.Name) {
		if *n == 0 {
			return
		}
		k := named{field, *n}
		to, ok := done[k]
		if !ok {
			old := c.Names.String(*n)
			if to = *n; p.Of(field, old) != old {
				to = c.Names.InternString(p.Of(field, old))
			}
			done[k] = to
		}
		*n = to
	}
	for i := range c.Events {
		e := &c.Events[i]
		put(HostField, &e.Host)
		put(DeviceField, &e.Device)
		put(CommField, &e.Comm)
		put(FileField, &e.File)
		put(CgroupField, &e.Cgroup)
	}
	for i := range c.Samples {
		put(HostField, &c.Samples[i].Host)
		put(DeviceField, &c.Samples[i].Device)
	}
	general := namesFacts(c.Format)
	type fact struct{ name, text ingest.Name }
	facts := map[fact]fact{}
	for i := range c.Evidence {
		e := &c.Evidence[i]
		put(HostField, &e.Host)
		put(DeviceField, &e.Device)
		was := fact{e.Name, e.Text}
		now, ok := facts[was]
		if !ok {
			name, text := p.fact(c.Names.String(e.Name), c.Names.String(e.Text), general, asked)
			now = fact{c.Names.InternString(name), c.Names.InternString(text)}
			facts[was] = now
		}
		e.Name, e.Text = now.name, now.text
	}
}

// namesFacts says that logs of a format give their facts names of their own.
func namesFacts(format string) bool {
	return slices.Contains(generalFormats, format) || !slices.ContainsFunc(ingest.Formats(), func(f ingest.Format) bool { return f.Name == format })
}

// fact is the name and the text of a piece of evidence.
func (p *Pseudonyms) fact(name, text string, general bool, asked map[string]bool) (string, string) {
	as := name
	if !asked[name] && (general || !factName.MatchString(name)) {
		as = p.Of(FactField, name)
	}
	if name == remapFact {
		return as, p.Of(DeviceField, text) // the device beneath
	}
	if span, what, two := strings.Cut(text, " "); two && plainValue.MatchString(span) && strings.Contains(span, "..") { // of a histogram
		return as, span + " " + p.Of(TextField, what)
	}
	return as, p.Of(TextField, text)
}

// remapFact is evidence whose text is a device.
const remapFact = "remap"

// stack is the devices that lie on others.
func (p *Pseudonyms) stack(s stack) stack {
	if p == nil || s == nil {
		return s
	}
	out := stack{}
	for upper, lower := range s {
		for _, l := range lower {
			out.add(p.Of(DeviceField, upper), p.Of(DeviceField, l))
		}
	}
	return out
}

// inventory is under the pseudonyms of its devices; what it tells of them stays.
func (p *Pseudonyms) inventory(inv reduce.Inventory) reduce.Inventory {
	if p == nil || inv == nil {
		return inv
	}
	out := reduce.Inventory{}
	for k, d := range inv {
		out[features.Key{Host: p.Of(HostField, k.Host), Device: p.Of(DeviceField, k.Device)}] = d
	}
	return out
}

// Inventory reads that of the settings, under pseudonyms where they ask for them.
func Inventory(c *configs.Config) (reduce.Inventory, error) {
	inv, err := ReadInventory(c.Inventory)
	if err != nil {
		return nil, err
	}
	p, err := NewPseudonyms(c)
	return p.inventory(inv), err
}

// account puts pseudonyms into what is told of the inputs: paths, hosts, the
// words that may have them. hosts are names that were found to be those of inputs.
func (p *Pseudonyms) account(out *Ingested, inputs []ingest.Input, hosts []string, c *configs.Config) {
	if p == nil {
		return
	}
	pairs := map[string]string{}
	path := func(s string) {
		for ; len(s) > 1 && s != "."; s = filepath.Dir(s) { // and each folder above
			if pairs[s] == "" {
				pairs[s] = p.Of(LogField, s)
			}
			if base := filepath.Base(s); len(base) > 2 && pairs[base] == "" {
				pairs[base] = p.Of(LogField, base)
			}
			if filepath.Dir(s) == s {
				break
			}
		}
	}
	for i := range inputs {
		path(inputs[i].Path)
		hosts = append(hosts, inputs[i].Host)
	}
	for _, s := range out.Skips {
		path(s.Path)
	}
	for _, h := range append(hosts, c.Ingest.Host) {
		if h != "" {
			pairs[h] = p.Of(HostField, h)
		}
	}
	for _, o := range c.Ingest.ClockOffset {
		pairs[o] = p.Of(LogField, o)
	}
	var words []string
	for old := range pairs {
		words = append(words, old)
	}
	slices.SortFunc(words, func(a, b string) int { // the longest first
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	for i := len(words) - 1; i >= 0; i-- {
		words = slices.Insert(words, i+1, pairs[words[i]])
	}
	known := strings.NewReplacer(words...)
	scrub := func(text string) string { return inQuotes.ReplaceAllString(known.Replace(text), `"..."`) }
	for i := range out.Reports {
		r := &out.Reports[i]
		r.Problem, r.Note, r.Torn = scrub(r.Problem), scrub(r.Note), scrub(r.Torn)
		r.Path, r.Host, r.Mapping = p.Of(LogField, r.Path), p.Of(HostField, r.Host), ""
		r.Clock.Anchor = anchorKind(r.Clock.Anchor)
	}
	for i := range out.Skips {
		out.Skips[i].Path, out.Skips[i].Reason = p.Of(LogField, out.Skips[i].Path), scrub(out.Skips[i].Reason)
	}
	for i := range out.Warnings {
		out.Warnings[i] = scrub(out.Warnings[i])
	}
}

// anchorKind says what ties a clock without the names of files.
func anchorKind(s string) string {
	const mtime = "the time its file was last written"
	switch {
	case s == "" || s == "ingest.start_ns":
		return s
	case strings.HasPrefix(s, ingest.AlignedWith):
		return ingest.AlignedWith + "another log"
	case strings.HasSuffix(s, mtime):
		return mtime
	case strings.Contains(s, "--clock-offset"):
		return "--clock-offset"
	}
	return "what the log or a file beside it tells"
}

// told says by which key the names of a lake are pseudonyms. Rows with names
// and rows with pseudonyms, or with those of two keys, can't lie in one lake.
func (p *Pseudonyms) told(mark string, empty bool) error {
	switch {
	case mark == p.Mark():
		return nil
	case p == nil:
		return fmt.Errorf("config: anonymise: the names in this lake are pseudonyms: give the key file that they were made with, or another lake")
	case mark != "":
		return fmt.Errorf("config: anonymise: the pseudonyms in this lake were made with another key")
	case !empty:
		return fmt.Errorf("config: anonymise: this lake holds names as they are in the logs: take a lake that holds nothing yet")
	}
	return nil
}
