// Package heatmap turns windows into pixels that carry three facts at once:
// red is throughput, green is one minus latency, blue is queue depth.
//
//  1. A Scale says which value is full red, no green, full blue; Color maps
//     three raw values to one colour.
//  2. Fleet lays windows on a grid of devices by time, Joint counts them on a
//     grid of IOPS by latency. Both give a Raster: colours beside the raw
//     values they came from, gaps as gaps.
//  3. Pack turns a Raster into planes of bytes (log-coded values and small
//     codes) from which a page paints every view of the same cells: all
//     channels, one channel, the change against normal.
//
// Pixels only, no words: axes, legends and captions are the report's. Nothing
// here touches files, clocks or random sources.
package heatmap
