package alerts

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/template"
)

//go:embed night.tmpl
var shippedTemplate string

// longestText bounds what a template writes, in bytes.
const longestText = 16 << 10

// Template reads the template at path, or the shipped one for "", and tries it.
func Template(path string) (*template.Template, error) {
	text := shippedTemplate
	if path != "" {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("alert.text.template: %w", err)
		}
		text = string(b)
	}
	t, err := template.New("alert.text.template").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	try := &Message{Date: "2026-11-29", Episodes: []Episode{{Host: "h", Device: "d", Pathology: "p", From: "f", To: "t"}}}
	if _, err := words(t, try); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// words are what the template says of a message, with names that are inert.
func words(t *template.Template, m *Message) (string, error) {
	said := *m
	said.Episodes = nil
	for _, e := range m.Episodes {
		for _, s := range []*string{&e.Host, &e.Device, &e.Pathology, &e.Cause, &e.CauseID, &e.Advice} {
			*s = inert(*s)
		}
		said.Episodes = append(said.Episodes, e)
	}
	var b bounded
	if err := t.Execute(&b, &said); err != nil && !errors.Is(err, errLong) {
		return "", err
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD"), nil
}

var errLong = errors.New("the text is too long")

// bounded keeps so much of a text.
type bounded struct{ strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	if room := longestText - b.Len(); len(p) > room {
		n, _ := b.Builder.Write(p[:room])
		return n, errLong
	}
	return b.Builder.Write(p)
}
