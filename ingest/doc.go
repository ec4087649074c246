// Package ingest turns the bytes of I/O logs into events, samples and evidence.
//
// It is the only room that knows byte order, time zones, units and dirt:
//
//  1. a source (file, directory, glob, tar archive, standard input) becomes
//     inputs, each known by the content of its head (Identity);
//  2. an input is decompressed by its magic bytes and cut into chunks of a
//     fixed span of decompressed bytes;
//  3. exactly one Format of the shelf (ingest/formats) claims it and decodes
//     its lines or records;
//  4. every line has exactly one Fate, every bad line is a value (Reject);
//  5. what comes out is in base units: nanoseconds since the Unix epoch,
//     nanoseconds, bytes.
package ingest
