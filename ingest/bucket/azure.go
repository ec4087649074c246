//go:build azure

package bucket

import _ "gocloud.dev/blob/azureblob" // links azblob://
