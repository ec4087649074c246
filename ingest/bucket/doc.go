// Package bucket reads and writes objects of S3, Google Cloud Storage and
// Azure (gocloud.dev/blob). What a network does to a request is dealt with
// here: a request that the server throttles, that breaks off or that stands
// still is made again, after a pause that doubles; a stream that broke goes on
// at the byte where it stopped, as long as the object is the same.
//
// S3 is always linked; Google's and Azure's stores are with the build tags gcs
// and azure. Credentials come by each SDK's own chain (environment, files,
// roles), never by a URL, and errors never show the query of one.
package bucket
