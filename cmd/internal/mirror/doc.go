// Package mirror lets the stages work on a lake that lies in a bucket as on one
// in a directory.
//
//  1. Open makes a working copy: a directory that a lake's files appear in. What
//     says which files count (manifests, models, the registry) is read at once;
//     of all others stands a hole of their size, until Fetch is asked for them.
//     Open reads a part by ranges: its blocks lie beside the working copy.
//  2. The stages read and write there. They know nothing of buckets.
//  3. Publish sends what they changed. A journal in the bucket is the moment at
//     which all of it is seen: before it a reader finds the lake as it was, after
//     it as it is, whenever the process is killed.
//  4. A lease in the bucket is the right to Publish. It is renewed while it is
//     held, and taken over once it was not renewed for its whole length.
//
// Beside the lake's own files the bucket holds, for as long as they are needed,
// .writer/N (the lease), .publish (the journal) and .staged/ (what waits to take
// another's place). Nothing but S3's basic requests is used: put, put if absent,
// get, list, copy, delete.
package mirror
