package bucket

import (
	"context"
	"errors"
	"net"
	"net/url"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob" // links s3://
)

// reach is how long a connection to a store may take to be made.
const reach = 5 * time.Second

// quiet opens a bucket of S3 anew, with a client that writes nothing to standard
// error: what goes wrong comes back as an error, or is done again. Where the
// objects are to be encrypted in a way of their own the client stays as it is.
func quiet(ctx context.Context, b *blob.Bucket, p Place) (*blob.Bucket, error) {
	var client *s3.Client
	q, err := url.ParseQuery(p.Query)
	if err != nil || !b.As(&client) || q.Has("ssetype") || q.Has("kmskeyid") {
		return b, err
	}
	o := client.Options()
	o.Logger = logging.Nop{}
	if c, ok := o.HTTPClient.(*awshttp.BuildableClient); ok {
		o.HTTPClient = c.WithDialerOptions(func(d *net.Dialer) { d.Timeout = reach })
	}
	silent, err := s3blob.OpenBucket(ctx, s3.New(o), p.Bucket, &s3blob.Options{RequestChecksumCalculation: o.RequestChecksumCalculation})
	return silent, errors.Join(err, b.Close())
}

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
