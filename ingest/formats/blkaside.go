package formats

import "bytes"

// blkAside says whether a line that is no record is one of those that stand
// beside them: blank lines, the summary ("CPU0 (sdb):", rows of " Name: n"), and
// what blkparse says of its inputs.
func blkAside(line []byte) bool {
	text := bytes.TrimSpace(line)
	if len(text) == 0 {
		return true
	}
	for _, p := range blkSummary {
		if bytes.HasPrefix(text, p) {
			return true
		}
	}
	return blkProcess(text)
}

// blkProcess says whether a line heads the figures of one process (blkparse -s):
// "kjournald (697)", "java (12, 13, ...)".
func blkProcess(text []byte) bool {
	open := bytes.LastIndexByte(text, '(')
	if open < 2 || open > 17 || text[open-1] != ' ' || text[len(text)-1] != ')' {
		return false
	}
	for _, c := range text[open+1 : len(text)-1] {
		if !isDigit(c) && c != ',' && c != ' ' && c != '.' {
			return false
		}
	}
	return isDigit(text[open+1])
}

var blkSummary = func() (all [][]byte) {
	for _, p := range []string{
		"CPU", "Total (", "Total:", "=== ", "You have ", "Consider using a larger buffer", "Reads ", "Read ", "Writes ", "Write ", "IO unplugs:", "PC ", "Allocation wait:", "Dispatch wait:",
		"Completion wait:", "Throughput (", "Events (", "Skips:", "Input file ", "Trace started at ", "Discards ", "Bad ",
	} {
		all = append(all, []byte(p))
	}
	return all
}()
