package cluster

// AdjustedRand is for tests from without.
var AdjustedRand = adjustedRand
