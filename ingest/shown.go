package ingest

import "bytes"

// bom is the byte order mark that some editors put before UTF-8 text.
var bom = []byte("\xef\xbb\xbf")

// escape begins a sequence that steers a terminal.
const escape = 0x1b

// uncoloured is a line without the sequences that set colours or clear the rest of a
// line ("ESC [ 1;32 m", "ESC [ K"), which tools write that think they write to a
// terminal. The line itself stays as it is.
func uncoloured(line []byte) []byte {
	at := bytes.IndexByte(line, escape)
	if at < 0 {
		return line
	}
	out := append(make([]byte, 0, len(line)), line[:at]...)
	for i := at; i < len(line); i++ {
		if line[i] == escape && i+1 < len(line) && line[i+1] == '[' {
			end := i + 2
			for end < len(line) && (line[end] == ';' || line[end]-'0' <= 9) {
				end++
			}
			if end < len(line) && (line[end] == 'm' || line[end] == 'K') {
				i = end
				continue
			}
		}
		out = append(out, line[i])
	}
	return out
}

// sniffed is what formats are asked about of an input's head: a text without its byte
// order mark, colours and line ends that were made Windows' twice, and without the hole at its start that is left where a log was
// cut to nothing (logrotate's copytruncate) while its writer went on at its old place.
func sniffed(head []byte) []byte {
	head = bytes.TrimPrefix(head, bom)
	text := head
	if len(text) > 0 && text[0] == 0 {
		text = bytes.TrimLeft(text, "\x00")
		text = text[bytes.IndexByte(text, '\n')+1:] // what stands behind the hole may be half a line
	}
	head, text = head[:min(len(head), SniffBytes)], text[:min(len(text), SniffBytes)]
	if len(text) == 0 || bytes.IndexByte(text, 0) >= 0 { // it is no text, or a damaged one
		return head
	}
	if bytes.Contains(text, []byte("\r\r\n")) {
		text = bytes.ReplaceAll(text, []byte("\r\r\n"), []byte("\r\n"))
	}
	return uncoloured(text)
}
