// Package align finds how far the clocks of two sources are apart that have seen
// the same I/Os of one host.
//
//  1. An I/O is its operation, size, offset and, where both sources name it alike,
//     its device. Where one counts offsets within a file and the other on the device,
//     the distance between the two is found first, by what does not depend on it: the
//     steps from one I/O to those after it (shifts.go).
//  2. All pairs of equal I/Os vote for the difference of their stamps: the true one is
//     where they agree. A second place that is nearly as dense makes the match
//     ambiguous, and is refused (vote.go).
//  3. Pairs are then taken in the order of time, each I/O once, about the line that the
//     last round found, ever closer to it (match.go). What only one source has seen has
//     no partner and takes no part.
//  4. Sources of one layer stamp one moment, the completion: offset and drift are a
//     line through the differences, by Theil's medians and then least squares
//     without what lies apart. A program's I/O holds that of the block layer
//     within it: there the offset is bounded by cause before effect, from both ends,
//     as in Duda et al., "Estimating global time in distributed systems", ICDCS 1987
//     (fit.go).
//
// Nothing here reads a file or a clock. Times are ns; memory is bounded by
// MaxIOs of each source.
package align
