package local

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/ingest/lake"
)

// Tables are the lake's tables, in the order in which rows go through them.
var Tables = []string{lake.Events, lake.Samples, lake.Evidence, lake.Ticks, lake.Windows, lake.Profiles, lake.Labels, lake.Baselines}

// Views is SQL (DuckDB's) that makes each table of the lake a view of its
// name, of the parts that count; tables without parts are named in empty.
func (j *Job) Views() (sql string, empty []string, err error) {
	manifests, err := j.Manifests()
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	for _, table := range Tables {
		parts := lake.Parts(manifests, table)
		if len(parts) == 0 {
			empty = append(empty, table)
			continue
		}
		fmt.Fprintf(&b, "CREATE VIEW %s AS SELECT * FROM read_parquet([\n", table)
		files, err := lake.Files(manifests, parts)
		if err != nil {
			return "", nil, err
		}
		for i, p := range files {
			if i > 0 {
				b.WriteString(",\n")
			}
			b.WriteString("  " + quoted(unglobbed(j.named(p.Path))))
		}
		b.WriteString("], union_by_name = true, hive_partitioning = false);\n")
	}
	return b.String(), empty, nil
}

// quoted is an SQL string.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// unglobbed is a path of which DuckDB's patterns match itself alone. One with
// a backslash is left as it is: DuckDB can't quote that, and takes a pattern that
// nothing matches for a name.
func unglobbed(path string) string {
	if strings.Contains(path, `\`) {
		return path
	}
	return strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]").Replace(path)
}

// OneLiners are commands of other engines that ask the lake the same, or open
// its tables where they have no SQL. They go to the lake first, so that nothing
// in its path is taken for a pattern. A lake that was killed in the midst of a
// write holds parts that count for nothing until the next run: see verify.
func (j *Job) OneLiners(query string) ([][2]string, error) {
	tables, err := j.tables()
	if err != nil {
		return nil, err
	}
	glob := func(table string) string { return table + "/**/*.parquet" }
	var views, frames, spark []string
	// A part lacks the columns that its source can't fill, and a host's name is
	// escaped in the path, where the column has it as it is.
	click := []string{"SET schema_inference_mode = 'union'; SET use_hive_partitioning = 0;"}
	for _, t := range tables {
		views = append(views, fmt.Sprintf("CREATE VIEW %s AS FROM read_parquet(%s, union_by_name = true, hive_partitioning = false);", t, quoted(glob(t))))
		frames = append(frames, fmt.Sprintf("%s=t(%s)", t, python(glob(t))))
		spark = append(spark, fmt.Sprintf("spark.read.option('recursiveFileLookup','true').option('mergeSchema','true').parquet(%s).createOrReplaceTempView(%s)", python(hadoop(filepath.Join(j.Lake, t))), python(t)))
		click = append(click, fmt.Sprintf("CREATE VIEW %s AS SELECT * FROM file(%s, Parquet);", t, quoted(glob(t))))
	}
	to := "cd " + shell(j.Lake) + " && "
	if strings.HasPrefix(j.Lake, "-") {
		to = "cd " + shell("./"+j.Lake) + " && "
	}
	lines := [][2]string{
		{"duckdb", to + "duckdb -c " + shell(strings.Join(views, " ")+" "+query)},
		{"polars", to + "python3 -c " + shell("import glob, polars as pl; t = lambda g: pl.concat([pl.scan_parquet(f, hive_partitioning=False, glob=False) for f in sorted(glob.glob(g, recursive=True))], how="+python("diagonal")+"); print(pl.SQLContext("+strings.Join(frames, ", ")+").execute("+python(query)+", eager=True))")},
		{"pandas", to + "python3 -c " + shell(fmt.Sprintf("import pandas as pd; print(pd.read_parquet(%s, partitioning=None).describe())", python(tables[len(tables)-1])))},
		{"spark", "pyspark, then: " + strings.Join(spark, "; ") + fmt.Sprintf("; spark.sql(%s).show()", python(query))},
	}
	// ClickHouse takes patterns in the whole path, and can't quote them.
	if path, err := filepath.Abs(j.Lake); err == nil && !strings.ContainsAny(path, "*?{}") {
		lines = append(lines, [2]string{"clickhouse", to + "clickhouse local -q " + shell(strings.Join(click, " ")+" "+query)})
	}
	return lines, nil
}

// tables are those of the lake that have parts, and the labels last; without any, the
// events.
func (j *Job) tables() ([]string, error) {
	manifests, err := j.Manifests()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, t := range Tables {
		if len(lake.Parts(manifests, t)) > 0 {
			all = append(all, t)
		}
	}
	if at := slices.Index(all, lake.Labels); at >= 0 {
		all = append(slices.Delete(all, at, at+1), lake.Labels)
	}
	if len(all) == 0 {
		all = []string{lake.Events}
	}
	return all, nil
}

// hadoop is a path of which Hadoop's patterns match itself alone.
func hadoop(path string) string {
	return strings.NewReplacer(`\`, `\\`, "{", `\{`, "}", `\}`, "[", `\[`, "]", `\]`, "*", `\*`, "?", `\?`).Replace(filepath.ToSlash(path))
}

// python is a string of Python.
func python(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b) // its escapes are Python's, too
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // no string fails
	return strings.TrimSuffix(b.String(), "\n")
}

// shell quotes a word for a POSIX shell.
func shell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
