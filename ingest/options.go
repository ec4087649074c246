package ingest

// Options are what a user may say about the inputs. Zero sizes, zone and
// interval mean those of DefaultOptions.
type Options struct {
	Format      string  `mapstructure:"format"`       // force one format; empty: by content
	Host        string  `mapstructure:"host"`         // host for inputs that name none
	StartNS     int64   `mapstructure:"start_ns"`     // epoch of a relative time base; 0: none
	Zone        string  `mapstructure:"zone"`         // IANA zone of local stamps; default UTC
	Interval    string  `mapstructure:"interval"`     // interval of samples without stamps, a duration
	FirstReport bool    `mapstructure:"first_report"` // iostat: the first report is an interval (-y), not since boot
	LatencyUnit string  `mapstructure:"latency_unit"` // fio per-I/O logs: ns or us; empty: ns
	ReadBytes   int     `mapstructure:"read_bytes"`   // size of a read; the result does not depend on it
	ChunkBytes  int64   `mapstructure:"chunk_bytes"`  // decompressed bytes of a chunk
	Expand      float64 `mapstructure:"expand"`       // bound of decompressed over compressed bytes, above 1 GiB

	// ClockOffset are starts and corrections of clocks, each OFFSET or GLOB=OFFSET
	// (ParseClockOffset). ClockMtime takes, for a log with a relative clock that
	// nothing else ties to a date, the time at which its file was last written for
	// that of its last record.
	ClockOffset []string `mapstructure:"clock_offset"`
	ClockMtime  bool     `mapstructure:"clock_mtime"`

	// ClockAlign lets a driver date a log whose clock nothing else ties to a date by
	// others of the same host that saw the same I/Os.
	ClockAlign bool `mapstructure:"clock_align"`

	Mappings []Mapping `mapstructure:"mappings"` // how texts that no format knows are read
}

// DefaultOptions are the options of a run that says nothing.
func DefaultOptions() Options {
	return Options{Zone: "UTC", Interval: "1s", ReadBytes: 1 << 20, ChunkBytes: 64 << 20, Expand: 1000, ClockOffset: []string{}, ClockAlign: true}
}

// filled gives the options with the defaults in place of zero sizes.
func (o Options) filled() Options {
	d := DefaultOptions()
	if o.Zone == "" {
		o.Zone = d.Zone
	}
	if o.Interval == "" {
		o.Interval = d.Interval
	}
	if o.ReadBytes <= 0 {
		o.ReadBytes = d.ReadBytes
	}
	if o.ChunkBytes <= 0 {
		o.ChunkBytes = d.ChunkBytes
	}
	if o.Expand <= 0 {
		o.Expand = d.Expand
	}
	o.ReadBytes = min(o.ReadBytes, maxReadBytes)
	return o
}

// maxReadBytes bounds the memory that a mistaken read size can ask for.
const maxReadBytes = 64 << 20
