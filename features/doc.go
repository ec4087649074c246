// Package features describes each device and window by 12 temporal features.
//
//  1. The events of one device, in the total order (completion, start,
//     offset, size, op, input, position), are folded into ticks: counts, bytes, the
//     exact time-weighted integral of the queue depth, busy time.
//  2. The ticks of a window, on the epoch grid, and what needs the order of
//     single I/Os (gaps, re-reads, peak depth) become a Window.
//  3. A Window carries the Vector of 12 features, each a deviation that is 0
//     when nothing is wrong, and the Context: facts used as evidence and for
//     pictures, never for distance.
//
// Fold does so for events, SampleFold for interval counters. Ticks and windows
// become plain columns by TickColumns and WindowColumns, and come back.
//
// What a source can't tell is missing, not zero. Nothing here touches files,
// clocks, flags or random sources.
package features
