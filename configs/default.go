package configs

import _ "embed"

//go:embed default.yaml
var defaultFile string

// DefaultFile is a settings file with every key, its default and what it is.
func DefaultFile() string { return defaultFile }
