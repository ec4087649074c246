// Package duckcheck holds a lake against a reader that is not ours: its tests
// write parts and ask DuckDB what is in them. It is a module of its own, since
// DuckDB needs cgo and half a gigabyte of libraries:
//
//	cd ingest/lake/duckcheck && go test ./...
//
// With IOPATHY_LAKE=DIR they also open every part of that lake. The program
// ratios compares the two in CPU, memory and bytes; docs/PERFORMANCE.md tells
// what came of it.
package duckcheck
