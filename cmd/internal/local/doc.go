// Package local is the driver for one machine: it runs the pure stages over
// files with goroutines, and the lake between them.
//
//  1. Ingest reads the inputs, several at once, and writes each chunk's rows as
//     sorted parts of the lake; a manifest accounts for every line.
//  2. Features merges a device's parts in the total order, folds them into
//     ticks and windows, device by device, and stores both.
//  3. Diagnose fits (or loads) the models on the windows and labels them.
//  4. Write puts the report's files into the output directory, each whole.
//
// Verify holds the lake against its checksums, Repair writes anew what is
// damaged. Explain tells why a window has its label, Shuffled whether names
// have a say in the classes.
//
// Nothing is decided here that a stage could decide: the same stages give the
// same answers under another driver.
package local
