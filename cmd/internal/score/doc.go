// Package score holds labels against a truth.
//
//  1. ReadTruth and ReadFaults take what is known: the span of each device's
//     fault, and what caused it where that is told. CountRequests adds which
//     windows a recording holds, so that a window without a label is seen.
//  2. ReadLabels takes what was said, from a labels.csv.
//  3. Score compares window by window and gives the measures, all of them
//     plain numbers.
//
// Nothing here opens a file; a driver does.
package score
