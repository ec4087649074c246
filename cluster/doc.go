// Package cluster finds the classes of sick windows and names them.
//
//  1. A matched filter gates the points: the direction says which pathology a
//     window leans to, the projection on it whether it is sick at all.
//  2. Average-linkage agglomeration by cosine distance, without a distance
//     matrix, cuts the sick points into k classes (8 by default).
//  3. Every window is assigned to a class by muesli/clusters' Nearest over our
//     own Observation, whose distance is the cosine's.
//  4. Classes take names from the Catalogue by signature and evidence; a class
//     without evidence stays unrecognised.
//  5. Neighbouring windows of a device make episodes; root causes are voted
//     for by evidence.
//  6. A Registry keeps what classes were called, so that one that a later fit
//     finds again has the id that it had.
//
// Explain tells what decided about one window. Calibrate learns gates, shipped
// classes and the reliability of scores from labelled recordings; its outcome
// is the model that configs embeds.
package cluster
