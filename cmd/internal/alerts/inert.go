package alerts

import (
	"strings"
	"unicode"

	"github.com/iopathy/iopathy/cmd/internal/local"
)

// lookalikes take the place of what chats and mail programs act on: mentions,
// markup, links. Names of hosts and devices have none of these.
var lookalikes = strings.NewReplacer("<", "‹", ">", "›", "@", "＠", "`", "ʼ", "[", "⟦", "]", "⟧", "://", "։//", "*", "∗")

// inert makes one line without control characters and without anything that a
// reader of text acts on of a name that a log gave.
func inert(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) {
			return '\uFFFD'
		}
		return r
	}, s)
	return lookalikes.Replace(local.Printable(s))
}
