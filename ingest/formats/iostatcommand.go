package formats

import (
	"bytes"
	"slices"
)

// ioTold is what a command line says of the run behind it.
type ioTold struct {
	known  bool
	skips  bool  // -y: no report since boot
	period int64 // hundredths of a second
}

// ioCommand reads "iostat -xty 5 12" as it stands in a terminal's text above the
// banner. Without an interval it says nothing: there is one report.
func ioCommand(tok [][]byte) (told ioTold) {
	at := slices.IndexFunc(tok, func(t []byte) bool { return string(t) == "iostat" || bytes.HasSuffix(t, []byte("/iostat")) })
	if at < 0 {
		return told
	}
	for _, t := range tok[at+1:] {
		n, end := scanDigits(t, 0)
		switch {
		case len(t) > 1 && t[0] == '-' && t[1] != '-':
			told.skips = told.skips || bytes.IndexByte(t, 'y') > 0
		case told.period == 0 && end == len(t) && n > 0 && n <= 86400:
			told.known, told.period = true, n*100
		case isShellSign(t):
			return told
		}
	}
	return told
}

// isShellSign tells what ends a command: a pipe, a redirection.
func isShellSign(t []byte) bool {
	return len(t) > 0 && (t[0] == '|' || t[0] == '>' || t[0] == '&' || t[0] == ';' || t[0] == '2' && len(t) > 1 && t[1] == '>')
}
