// Package deps holds the requirements until the packages that need them stand.
package deps

import (
	_ "github.com/apache/arrow/go/v17/parquet"
	_ "github.com/apache/arrow/go/v17/parquet/compress"
	_ "github.com/apache/arrow/go/v17/parquet/file"
	_ "github.com/apache/arrow/go/v17/parquet/metadata"
	_ "github.com/apache/arrow/go/v17/parquet/pqarrow"
	_ "github.com/apache/arrow/go/v17/parquet/schema"
	_ "github.com/chromedp/chromedp"
	_ "github.com/expr-lang/expr"
	_ "github.com/go-echarts/go-echarts/v2/charts"
	_ "github.com/go-echarts/go-echarts/v2/opts"
	_ "github.com/go-echarts/statsview/statics"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/klauspost/compress/gzip"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/muesli/clusters"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/spf13/cobra"
	_ "github.com/spf13/viper"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/term"
	_ "gonum.org/v1/gonum/dsp/fourier"
	_ "gonum.org/v1/gonum/mat"
	_ "gonum.org/v1/gonum/stat"
)
