// Package nights is what a timer starts: one night's work on a lake, after the
// logs were ingested, and what keeps the lake from growing for ever.
//
//  1. The windows of the days whose rows are others than before are made anew.
//  2. Each date with such windows, or whose labels an earlier night did not get
//     to, is judged and reported; its labels are stored last: with them it is done.
//  3. The steps after the nights follow, one function each: the index page,
//     retention, compaction.
//
// It decides when and what; how is local's and the lake's.
package nights
