// Package lake stores tables as Parquet files in a directory laid out by
// table, date and host, and reads them back.
//
//  1. A Writer takes columns as plain Go slices, one row group a call, and
//     writes them under a hidden name; Close makes the file appear whole.
//  2. A Part says what was written, with the SHA-256 of every 1 MiB block; a
//     Manifest names the parts of a run. Readers see only named parts.
//  3. A Reader gives batches of at most BatchRows rows of the row groups asked
//     for; Streams gives the rows of one device, part by part.
//  4. Names from logs become folder names by Partition, which escapes them.
//
// The lake knows tables, not types: it imports no other package of this
// module, and it alone imports arrow. FORMAT.md draws what lies on the disk.
package lake

// Schema is the version of the files' layout; it stands in each file's
// metadata under SchemaKey and in each manifest.
const Schema = "1"

// SchemaKey is the metadata key of a file's schema version.
const SchemaKey = "iopathy.schema"

// BatchRows is the most rows that a batch of a Reader or a Stream holds.
const BatchRows = 8 << 10

// GroupRows is the most rows that Cuts puts into a row group.
const GroupRows = 64 << 10

// SharedRows is the most rows of a row group that several devices share. Who
// reads device by device keeps such groups decoded, one of each part: they are
// small, so that 10,000 devices in many parts fit.
const SharedRows = 8 << 10
