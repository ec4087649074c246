// Package reduce turns windows into points: deviations from healthy, robustly
// scaled and rotated to their principal components.
//
//  1. Normals of latency at load per device, group (model), rotational kind,
//     or the prior, by a low quantile of windows whose labels are unknown;
//  2. robust z about the healthy centre, clipped;
//  3. principal components of the second moment about the healthy origin (not
//     centred: cosine needs the origin at healthy), gonum's EigenSym.
//
// Fit returns an immutable Model; Project is a pure map.
package reduce
