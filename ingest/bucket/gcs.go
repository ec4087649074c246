//go:build gcs

package bucket

import _ "gocloud.dev/blob/gcsblob" // links gs://
