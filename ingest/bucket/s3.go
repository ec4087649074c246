package bucket

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob" // links s3://
)

// entityTag is S3's name of a version of an object.
func entityTag(r *blob.Reader) string {
	var out s3.GetObjectOutput
	if r.As(&out) && out.ETag != nil {
		return *out.ETag
	}
	return ""
}

// noRange says that a store refused a range that begins behind the object's end.
func noRange(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "InvalidRange"
}

// refused says that S3 understood a request and will not do it, however often
// it is asked.
func refused(err error) bool {
	var status interface{ HTTPStatusCode() int }
	var api smithy.APIError
	if !errors.As(err, &status) || !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode() {
	case "RequestTimeout", "IncompleteBody", "BadDigest", "OperationAborted", "ConditionalRequestConflict":
		return false
	}
	n := status.HTTPStatusCode()
	return n >= 400 && n < 500 && n != 408 && n != 429
}
