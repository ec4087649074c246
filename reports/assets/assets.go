// Package assets holds the chart library that a report inlines, so that the
// page asks nothing of any network.
package assets

import (
	"embed"
	"regexp"
	"strings"

	"github.com/go-echarts/statsview/statics"
)

//go:embed files
var files embed.FS

// Script gives the source of echarts and its version: the given text if there
// is any (the file that a config names), else the file that a release build
// put into files/, else the one that a Go module carries.
func Script(given string) (source, version string) {
	source = given
	if source == "" {
		if b, err := files.ReadFile("files/echarts.min.js"); err == nil {
			source = string(b)
		}
	}
	if source == "" {
		source = statics.EchartJS
	}
	return source, Version(source)
}

var exported = regexp.MustCompile(`\.version="(\d+\.\d+\.\d+)"`)

// Version finds the version that a minified echarts exports; "unknown" if it
// names none.
func Version(source string) string {
	if m := exported.FindStringSubmatch(source); m != nil {
		return m[1]
	}
	return "unknown"
}

// Inline makes a script safe to stand between script tags: inside string and
// regular expression literals "<\/" means "</".
func Inline(source string) string {
	source = strings.ReplaceAll(source, "</", `<\/`)
	return strings.ReplaceAll(source, "<!--", `<\!--`)
}
