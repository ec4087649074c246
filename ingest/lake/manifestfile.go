package lake

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// A manifest names every input and every part, of which a lake may have
// hundreds of thousands. So its file is written and read an element at a time:
// whole, as text, it takes several times the memory of what it says.

// encode writes the manifest as json.MarshalIndent would, with a newline after it;
// a folded one has a line for each element.
func (m *Manifest) encode(to io.Writer) error {
	w := bufio.NewWriterSize(to, 64<<10)
	n := 0
	field := func(name string) {
		sep := ",\n"
		if n++; n == 1 {
			sep = "{\n"
		}
		fmt.Fprintf(w, "%s  %q: ", sep, name) // an error stays until Flush
	}
	value := func(v any, indent string) error {
		b, err := json.MarshalIndent(v, indent, "  ")
		if m.Folded { // a line for each element: it has very many
			b, err = json.Marshal(v)
		}
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	}
	single := func(name string, v any) error {
		field(name)
		return value(v, "  ")
	}
	list := func(name string, length int, at func(i int) any) error {
		field(name)
		if length == 0 {
			_, err := w.WriteString("[]")
			return err
		}
		for i := range length {
			sep := ",\n    "
			if i == 0 {
				sep = "[\n    "
			}
			w.WriteString(sep)
			if err := value(at(i), "    "); err != nil {
				return err
			}
		}
		_, err := w.WriteString("\n  ]")
		return err
	}
	err := errors.Join(single("schema", m.Schema), single("run", m.Run), single("sequence", m.Sequence), single("version", m.Version))
	if len(m.Options) > 0 {
		err = errors.Join(err, single("options", m.Options))
	}
	err = errors.Join(err, list("inputs", len(m.Inputs), func(i int) any { return &m.Inputs[i] }))
	if len(m.Parts) > 0 {
		err = errors.Join(err, list("parts", len(m.Parts), func(i int) any { return &m.Parts[i] }))
	}
	if len(m.Bundles) > 0 {
		err = errors.Join(err, list("bundles", len(m.Bundles), func(i int) any { return &m.Bundles[i] }))
	}
	if len(m.Removed) > 0 {
		err = errors.Join(err, list("removed", len(m.Removed), func(i int) any { return m.Removed[i] }))
	}
	if len(m.Cells) > 0 {
		err = errors.Join(err, list("cells", len(m.Cells), func(i int) any { return &m.Cells[i] }))
	}
	if len(m.Judged) > 0 {
		err = errors.Join(err, list("judged", len(m.Judged), func(i int) any { return &m.Judged[i] }))
	}
	if len(m.Closed) > 0 {
		err = errors.Join(err, list("closed", len(m.Closed), func(i int) any { return &m.Closed[i] }))
	}
	if m.Folded {
		err = errors.Join(err, single("folded", true))
	}
	w.WriteString("\n}\n")
	return errors.Join(err, w.Flush())
}

func readManifest(path string) (m Manifest, err error) {
	f, err := os.Open(path)
	if err != nil {
		return m, err
	}
	defer f.Close()
	room := 64 << 10
	if info, err := f.Stat(); err == nil && info.Size() < int64(room) { // most are small, and there are many
		room = int(info.Size()) + 1
	}
	err = m.decode(bufio.NewReaderSize(f, room))
	return m, err
}

// decode reads what encode wrote. Fields that it doesn't know are left out.
func (m *Manifest) decode(from io.Reader) error {
	d := json.NewDecoder(from)
	if err := delim(d, '{'); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		switch name {
		case "schema":
			err = d.Decode(&m.Schema)
		case "run":
			err = d.Decode(&m.Run)
		case "sequence":
			err = d.Decode(&m.Sequence)
		case "version":
			err = d.Decode(&m.Version)
		case "options":
			err = d.Decode(&m.Options)
		case "inputs":
			m.Inputs, err = elements[Input](d)
		case "parts":
			m.Parts, err = elements[Part](d)
		case "removed":
			m.Removed, err = elements[string](d)
		case "cells":
			m.Cells, err = elements[Cell](d)
		case "judged":
			m.Judged, err = elements[Judged](d)
		case "closed":
			m.Closed, err = elements[Day](d)
		case "folded":
			err = d.Decode(&m.Folded)
		case "bundles":
			m.Bundles, err = elements[Part](d)
		default:
			var skipped json.RawMessage
			err = d.Decode(&skipped)
		}
		if err != nil {
			return err
		}
	}
	if err := delim(d, '}'); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its end")
	}
	return nil
}

func delim(d *json.Decoder, want json.Delim) error {
	t, err := d.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err == nil && t != want {
		err = fmt.Errorf("%v where %v is wanted", t, want)
	}
	return err
}

// elements reads a list, or null.
func elements[T any](d *json.Decoder) ([]T, error) {
	t, err := d.Token()
	if err != nil || t == nil {
		return nil, err
	}
	if t != json.Delim('[') {
		return nil, fmt.Errorf("%v where a list is wanted", t)
	}
	out := []T{}
	for d.More() {
		var v T
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, delim(d, ']')
}
