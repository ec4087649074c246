// Package configs composes the stages' own options with the keys of a run
// and reads them: flags over environment over file over defaults.
//
// A default stands beside the code that it tunes; this package only collects
// them. Unknown keys are errors that name the key and its line. The catalogue
// of pathologies and the shipped model are embedded here, checked here, and
// handed to the stages as values.
package configs
