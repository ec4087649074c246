package bucket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/aws/smithy-go"
	"gocloud.dev/gcerrors"
)

// Wrong says of an error that it lies with what was asked for and by whom: a bucket that
// there is not, credentials that are missing or that a store does not take, a region. It
// is the same however often it is tried.
func Wrong(err error) bool {
	var f failure
	return errors.As(err, &f) && f.wrong
}

// Down says of an error that a store does not do what it was rightly asked for, or can't be
// reached: another time it may.
func Down(err error) bool {
	var f failure
	return errors.As(err, &f) && !f.wrong && gcerrors.Code(f.err) != gcerrors.NotFound
}

// refusals are the words of stores of S3 that understood a request and refuse it for
// good; AWS's own, and those of MinIO, Ceph and versitygw where they have others.
var refusals = map[string]string{
	"NoSuchBucket":                 "there is no such bucket",
	"InvalidBucketName":            "that is no name of a bucket",
	"InvalidAccessKeyId":           "the store does not know the access key",
	"XAdminUserNotFound":           "the store does not know the access key",
	"SignatureDoesNotMatch":        "the store does not take the secret key",
	"InvalidToken":                 "the store does not take the session token",
	"ExpiredToken":                 "the credentials have expired",
	"RequestTimeTooSkewed":         "this machine's clock is wrong",
	"AccessDenied":                 "the credentials do not allow it",
	"Forbidden":                    "the credentials do not allow it, or are wrong", // of a request whose answer has no words
	"AllAccessDisabled":            "the credentials do not allow it",
	"AccountProblem":               "the credentials do not allow it",
	"PermanentRedirect":            "the bucket lies in another region: say which by region= in the URL or AWS_REGION",
	"MovedPermanently":             "the bucket lies in another region: say which by region= in the URL or AWS_REGION",
	"AuthorizationHeaderMalformed": "the bucket lies in another region: say which by region= in the URL or AWS_REGION",
	"IllegalLocationConstraint":    "the bucket lies in another region: say which by region= in the URL or AWS_REGION",
}

// why says in words why a request failed, where that is known, and whether it is Wrong.
func why(err error) (words string, wrong bool) {
	var api smithy.APIError
	if errors.As(err, &api) {
		if words := refusals[api.ErrorCode()]; words != "" {
			if said := api.ErrorMessage(); said != "" && len(said) < 200 {
				return fmt.Sprintf("%s (%s: %s)", words, api.ErrorCode(), said), true
			}
			return fmt.Sprintf("%s (%s)", words, api.ErrorCode()), true
		}
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "get credentials:"), strings.Contains(text, "could not find default credentials"), strings.Contains(text, "DefaultAzureCredential"):
		return "there are no credentials for it, neither in the environment nor in the files of its tools (a bucket that is open to all: anonymous=true in the URL): " + last(text), true
	case strings.Contains(text, "failed to get shared config profile"):
		return "there is no such profile in the credentials' files: " + last(text), true
	case strings.Contains(text, "Invalid region") || strings.Contains(text, "A region must be set"):
		return "no region, or none that can be, is set: say which by region= in the URL or AWS_REGION", true
	}
	var name *net.DNSError
	if errors.As(err, &name) && name.IsNotFound {
		return fmt.Sprintf("there is no host %s", name.Name), false
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return fmt.Sprintf("%v can't be reached: %v", dial.Addr, dial.Err), false
	}
	if errors.Is(err, context.DeadlineExceeded) && !answered(err) {
		return "the store does not answer", false
	}
	return "", false
}

// last is the end of a chain of reasons.
func last(text string) string {
	if i := strings.LastIndex(text, "get credentials: "); i >= 0 {
		text, _, _ = strings.Cut(text[i+len("get credentials: "):], ", operation error")
	}
	if len(text) > 200 {
		text = text[:200] + " ..."
	}
	return text
}

// chatter is what the stores' clients say of every request: of use to nobody but the store.
var chatter = regexp.MustCompile(`blob \((?:key "[^"]*"\) \()?code=[A-Za-z]+\): |(?:RequestID|HostID): [^,]*, `)

// answered says of the outcome of a request that the store has answered it.
func answered(err error) bool {
	var status interface{ HTTPStatusCode() int }
	if errors.As(err, &status) {
		return status.HTTPStatusCode() > 0
	}
	return err == nil || gcerrors.Code(err) != gcerrors.Unknown && gcerrors.Code(err) != gcerrors.DeadlineExceeded && gcerrors.Code(err) != gcerrors.Canceled
}

// hopeless says that an error of a store that has never answered is worth no other try,
// beyond the three that the client of S3 makes: it is the URL that is wrong, more likely
// than the network for a while.
func hopeless(err error) bool {
	var dial *net.OpError
	_, wrong := why(err)
	return wrong || errors.As(err, &dial) && dial.Op == "dial" || errors.Is(err, context.DeadlineExceeded)
}
