package formats

import "github.com/iopathy/iopathy/ingest"

// TraceCmd is the text of trace-cmd report: ftrace's layout, without or with
// flags, with a banner and with calls as sys_enter_X and sys_exit_X. Stamps have
// microseconds, with -t nanoseconds.
var TraceCmd = ingest.Register(ingest.Format{
	Name:  "trace-cmd",
	Doc:   "trace-cmd report (also -t, -l): block and syscalls events",
	Kind:  ingest.KindQ2C,
	Needs: tpNeeds,
	Clock: ingest.BaseBoot,
	Lacks: tpLacks + "; raw fields (-R) are rejected",
	Sniff: func(head []byte, _ string) int {
		if traceText(head) == traceCmd {
			return 2
		}
		return 0
	},
	Lines: func(src *ingest.Source) (ingest.LinesDecoder, error) {
		return &ftrace{tracepoints: newTracepoints(src)}, nil
	},
})
