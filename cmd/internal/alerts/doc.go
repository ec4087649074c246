// Package alerts tells others of a night: a webhook, words for a chat or an
// e-mail, figures for Prometheus, and systems that act on episodes.
//
// What is told of a date is put into a queue on disk before the labels of the
// date are stored, so that a night that is killed loses nothing: the next one
// sends it. Messages leave in their order, one at a time, each until the
// receiver has taken it; a receiver may see one twice, and knows it by its id.
//
// Nothing here changes what is found, and no receiver that is down makes a
// night fail.
package alerts
