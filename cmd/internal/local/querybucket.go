package local

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/iopathy/iopathy/ingest/bucket"
	"github.com/iopathy/iopathy/ingest/lake"
)

// store is how a bucket is reached, in the words of other engines.
type store struct {
	bucket.Place
	region, endpoint string // "" is the engine's own way to find it
	plain            bool   // over http
	pathStyle        bool
}

func storeOf(p bucket.Place) store {
	s := store{Place: p}
	q, err := url.ParseQuery(p.Query)
	if err != nil {
		return s // Parse has read it
	}
	s.region, s.endpoint = q.Get("region"), q.Get("endpoint")
	s.pathStyle = q.Get("use_path_style") == "true" || q.Get("s3ForcePathStyle") == "true"
	s.plain = strings.HasPrefix(s.endpoint, "http://") || q.Get("disable_https") == "true"
	return s
}

// host is the endpoint without its scheme.
func (s *store) host() string {
	_, host, ok := strings.Cut(s.endpoint, "://")
	if !ok {
		host = s.endpoint
	}
	return strings.TrimRight(host, "/")
}

// duckdb is what DuckDB needs to be told before it reads the bucket: credentials
// come by the usual chain, and stand in no text.
func (s *store) duckdb() string {
	kind, needs := map[string]string{"s3": "s3", "gs": "gcs", "azblob": "azure"}[s.Scheme], "INSTALL httpfs; LOAD httpfs; INSTALL aws; LOAD aws; "
	if s.Scheme == "azblob" {
		needs = "INSTALL azure; LOAD azure; "
	}
	secret := fmt.Sprintf("CREATE SECRET (TYPE %s, PROVIDER credential_chain", kind)
	if s.region != "" {
		secret += ", REGION " + quoted(s.region)
	}
	if s.endpoint != "" {
		secret += ", ENDPOINT " + quoted(s.host())
	}
	if s.pathStyle {
		secret += ", URL_STYLE 'path'"
	}
	if s.plain {
		secret += ", USE_SSL false"
	}
	return needs + secret + ");"
}

// options are those of Polars (object_store's names), as a dict of Python.
func (s *store) options() string {
	var all []string
	add := func(k, v string) { all = append(all, python(k)+": "+python(v)) }
	if s.region != "" {
		add("aws_region", s.region)
	}
	if s.endpoint != "" {
		scheme := "https://"
		if s.plain {
			scheme = "http://"
		}
		add("aws_endpoint_url", scheme+s.host())
	}
	if s.plain {
		add("aws_allow_http", "true")
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// arrow is the same for Arrow, as arguments of Python.
func (s *store) arrow() string {
	var all []string
	add := func(k, v string) { all = append(all, k+"="+python(v)) }
	if s.region != "" {
		add("region", s.region)
	}
	if s.endpoint != "" {
		add("endpoint_override", s.host())
	}
	if s.plain {
		add("scheme", "http")
	}
	return strings.Join(all, ", ")
}

// ViewsIn is Views of a lake in a bucket: DuckDB reads the objects where they lie.
func (j *Job) ViewsIn(p bucket.Place) (sql string, empty []string, err error) {
	s := storeOf(p)
	sql, empty, err = j.Views()
	if sql != "" {
		sql = s.duckdb() + "\n" + sql
	}
	return sql, empty, err
}

// OneLinersIn is OneLiners of a lake in a bucket.
func (j *Job) OneLinersIn(p bucket.Place, query string) [][2]string {
	s := storeOf(p)
	root := map[string]string{"s3": "s3", "gs": "gs", "azblob": "az"}[p.Scheme] + strings.TrimPrefix(strings.TrimRight(j.Named(), "/"), p.Scheme)
	glob := func(table string) string { return root + "/" + table + "/**/*.parquet" }
	views, frames := []string{s.duckdb()}, []string{}
	for _, t := range []string{lake.Events, lake.Windows, lake.Labels} {
		views = append(views, fmt.Sprintf("CREATE VIEW %s AS FROM read_parquet(%s, union_by_name = true, hive_partitioning = false);", t, quoted(glob(t))))
		frames = append(frames, fmt.Sprintf("%s=pl.scan_parquet(%s, hive_partitioning=False, missing_columns=%s, extra_columns=%s, storage_options=%s)", t, python(glob(t)), python("insert"), python("ignore"), s.options()))
	}
	lines := [][2]string{{"duckdb", "duckdb -c " + shell(strings.Join(views, " ")+" "+query)}}
	if p.Scheme == "s3" {
		lines = append(lines, [2]string{"pandas", "python3 -c " + shell(fmt.Sprintf("import pandas as pd; from pyarrow import fs; print(pd.read_parquet(%s, filesystem=fs.S3FileSystem(%s), partitioning=None).describe())",
			python(strings.TrimPrefix(root, "s3://")+"/"+lake.Labels), s.arrow()))})
		lines = append(lines, [2]string{"polars", "python3 -c " + shell("import polars as pl; print(pl.SQLContext("+strings.Join(frames, ", ")+").execute("+python(query)+", eager=True))")})
	}
	return lines
}
