// Package formats is the shelf of log formats: each is one file, with others
// of its own name where it is large, and one folder of testdata.
//
// A format registers itself with ingest by a package-level variable, so that
// importing this package puts all of them on the shelf. Its folder holds logs
// (NAME.log) and what they give as text (NAME.golden); TestFormats walks both
// and fails where one lacks the other. The same logs seed the fuzz target and
// feed the benchmark.
//
// What a decoder must keep to:
//
//   - base units, unknown is ingest.Missing, an impossible value is a reject;
//   - each line has one fate;
//   - a line that was cut off costs that line only;
//   - names are told to out at each event, since they start anew with each chunk.
package formats
