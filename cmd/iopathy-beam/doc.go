// Command iopathy-beam runs iopathy's main job on an engine that speaks Apache
// Beam's portable protocol: Prism, which is built in, for tests and laptops; others
// by their job server.
//
//  1. list finds the inputs and cuts them into pieces: files, or chunks of files
//     (offset and length);
//  2. read parses a piece, sorts it and writes parts of the lake; what goes on to the
//     next step is the account of its lines and the names of the parts;
//  3. gather makes the manifest of all pieces, and N shares of the days, devices and
//     slices of time that the lake holds;
//  4. fold makes the ticks, windows and profiles of a share;
//  5. take makes these the lake's, and N shares of the hosts that have windows;
//  6. sample leaves the windows of a share that a fit may take;
//  7. fit takes a bounded number of all of them and gives the model, which goes to all
//     of the next step as a side input;
//  8. label judges the windows of a share of hosts;
//  9. report takes the labels into the lake and writes the report.
//
// All of it is done by the functions that iopathy itself runs, so that the result
// is to the byte the same. The rows never pass through the engine: workers and the
// submitting program share a file system. A step that is tried again takes the place of
// the first try, since names follow from the inputs and files appear whole.
//
// It is a module of its own: nobody else pays for Beam.
package main
