// Package generate makes logs of any size whose truth is known.
//
//  1. NewFleet draws devices (model.go), what works on them (healthy.go) and
//     what befalls some of them in a span of time (faults.go), all from a seed.
//  2. A queue (queue.go) is run for each device: requests arrive (load.go), wait
//     for a tag, wait for a channel of the device and are served. Nothing is
//     drawn but what a workload asks for and how long the device serves it: all
//     stamps of a request follow from who stood in its way.
//  3. A Format (format.go, write_*.go) writes what happened as a tool would have.
//  4. The truth (truth.go) is a table of labels, an inventory beside it.
//
// Each device has generators of numbers of its own, and of these one says what there is
// and others what happens, so that what is written does not depend on the number of
// workers. Memory is bounded by what is in flight.
package generate
