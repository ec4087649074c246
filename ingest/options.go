package ingest

// Options are what a user may say about the inputs.
type Options struct {
	Format      string  `mapstructure:"format"`       // force one format; empty: by content
	Host        string  `mapstructure:"host"`         // host for inputs that name none
	StartNS     int64   `mapstructure:"start_ns"`     // epoch of a relative time base; 0: none
	Zone        string  `mapstructure:"zone"`         // IANA zone of local stamps; default UTC
	Interval    string  `mapstructure:"interval"`     // interval of samples without stamps, a duration
	LatencyUnit string  `mapstructure:"latency_unit"` // fio per-I/O logs: ns or us; empty: ns
	ReadBytes   int     `mapstructure:"read_bytes"`   // size of a read; the result does not depend on it
	ChunkBytes  int64   `mapstructure:"chunk_bytes"`  // decompressed bytes of a chunk
	Expand      float64 `mapstructure:"expand"`       // bound of decompressed over compressed bytes, above 1 GiB
}

// DefaultOptions are the options of a run that says nothing.
func DefaultOptions() Options {
	return Options{Zone: "UTC", Interval: "1s", ReadBytes: 1 << 20, ChunkBytes: 64 << 20, Expand: 1000}
}
