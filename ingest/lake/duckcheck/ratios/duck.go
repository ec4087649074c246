package main

import (
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"

	_ "github.com/duckdb/duckdb-go/v2"
)

// tasks are the processes that are measured, beside iopathy's, by their first
// argument.
var tasks = map[string]func(args []string) error{
	"trace": func(args []string) error {
		size, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil {
			return err
		}
		f, err := os.Create(args[0])
		if err != nil {
			return err
		}
		if err := writeTrace(f, size); err != nil {
			f.Close()
			return err
		}
		return f.Close()
	},
	"copy":     func(args []string) error { return duckDo(args[1], fmt.Sprintf(copySQL, args[0], args[2])) },
	"rewrite":  func(args []string) error { return duckDo("1", fmt.Sprintf(rewriteSQL, args[0], args[1])) },
	"features": duckFeatures,
}

func duckVersion() string {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err.Error()
	}
	defer db.Close()
	var v string
	if err := db.QueryRow("SELECT version()").Scan(&v); err != nil {
		return err.Error()
	}
	return "DuckDB " + v
}

// duckDo runs a statement by so many threads.
func duckDo(threads, statement string) error {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("SET threads = " + threads); err != nil {
		return err
	}
	if _, err := db.Exec("SET preserve_insertion_order = false"); err != nil {
		return err
	}
	_, err = db.Exec(statement)
	return err
}

// copySQL makes the columns of a lake, in its order. DuckDB can't tell where a
// line stands in its file: it gives each a number, which takes about as much.
const copySQL = `COPY (
	SELECT (ts + rt - 116444736000000000) * 100 AS time_ns, host, disk AS device, lower(op) AS op, off AS offset_bytes, size AS size_bytes,
		rt * 100 AS latency_ns, 'q2c' AS latency_kind, 0::INTEGER AS error, '00000000000000000000000000000000' AS input, n AS source_offset
	FROM (SELECT *, row_number() OVER () AS n FROM read_csv('%s', header = false, auto_detect = false, delim = ',',
		columns = {ts: 'BIGINT', host: 'VARCHAR', disk: 'VARCHAR', op: 'VARCHAR', off: 'BIGINT', size: 'BIGINT', rt: 'BIGINT'}))
	ORDER BY host, device, time_ns
) TO '%s' (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)`

// rewriteSQL writes the rows of a lake anew.
const rewriteSQL = `COPY (SELECT * FROM read_parquet('%s', hive_partitioning = false) ORDER BY host, device, time_ns)
TO '%s' (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)`

// duckFeatures is the 12 features in SQL, less than iopathy does: re-reads are
// told by the first block of a read alone, the autocorrelation of
// burst_queueing is left out, ticks and facts are not kept.
func duckFeatures(args []string) error {
	ns := func(s string) (string, error) {
		v, err := strconv.ParseFloat(s, 64)
		return strconv.FormatInt(int64(v*1e9), 10), err
	}
	window, err := ns(args[1])
	if err != nil {
		return err
	}
	tick, err := ns(args[2])
	if err != nil {
		return err
	}
	source := "read_parquet('" + args[0] + "', hive_partitioning = false)"
	return duckDo("1", strings.NewReplacer("{src}", source, "{win}", window, "{tick}", tick, "{out}", args[3]).Replace(featureSQL))
}

// featureSQL finds what is in flight by a line that moves over starts, ends and
// the borders of ticks. The rows are read once, and host and device are a
// number: that takes four fifths of the time of names and a read for each part.
const featureSQL = `CREATE TEMP TABLE names AS SELECT host, device, (row_number() OVER ())::USMALLINT AS d FROM (SELECT DISTINCT host, device FROM {src});
CREATE TEMP TABLE e AS SELECT d, time_ns, latency_ns, size_bytes, offset_bytes, op FROM {src} JOIN names USING (host, device);
COPY (
WITH points AS (
	SELECT d, time_ns - latency_ns AS t, 1::TINYINT AS s FROM e
	UNION ALL SELECT d, time_ns, -1::TINYINT FROM e
	UNION ALL SELECT d, unnest(range(lo, hi)) * {tick}, 0::TINYINT FROM (
		SELECT d, min((time_ns - latency_ns) // {tick}) AS lo, max(time_ns // {tick}) + 2 AS hi FROM e GROUP BY ALL)
), line AS (
	SELECT d, t, s, sum(s) OVER w AS depth, lead(t) OVER w - t AS span FROM points
	WINDOW w AS (PARTITION BY d ORDER BY t, s ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
), ticks AS (
	SELECT d, t // {tick} AS tick, coalesce(sum(depth * span), 0) AS flight, coalesce(sum(span) FILTER (depth > 0), 0) AS busy,
		max(depth) AS peak, max(span) FILTER (depth > 0) AS gap
	FROM line GROUP BY ALL
), done AS (
	SELECT d, time_ns // {tick} AS tick, sum(size_bytes) AS bytes, sum(size_bytes) FILTER (op = 'write') AS written FROM e GROUP BY ALL
), course AS (
	SELECT d, tick, tick * {tick} // {win} AS win, flight, busy, peak, gap, coalesce(bytes, 0) AS bytes, coalesce(written, 0) AS written,
		abs(flight - lag(flight) OVER (PARTITION BY d ORDER BY tick)) / {tick} AS jump
	FROM ticks LEFT JOIN done USING (d, tick)
), levels AS (
	SELECT *, avg(flight / {tick}) OVER (PARTITION BY d, win) AS mean FROM course
), windows AS (
	SELECT d, win, sum(flight) / greatest(sum(busy), 1) AS depth, sum(busy) / (count(*) * {tick}) AS busy, max(peak) AS peak, max(gap) AS gap,
		stddev_pop(bytes) FILTER (busy > 0) / avg(bytes) FILTER (busy > 0) AS cv, avg((jump > greatest(1, mean / 2))::INTEGER) AS jumps,
		CASE WHEN sum(bytes) > 0 THEN 1 - (ln(sum(bytes)) - sum(bytes * ln(greatest(bytes, 1))) / sum(bytes)) / ln(count(*)) END AS uneven,
		CASE WHEN sum(written) > 0 THEN 1 - (ln(sum(written)) - sum(written * ln(greatest(written, 1))) / sum(written)) / ln(count(*)) END AS flood
	FROM levels GROUP BY ALL
), events AS (
	SELECT d, time_ns // {win} AS win, avg(latency_ns) AS mean, kurtosis_pop(latency_ns) AS kurtosis, quantile_cont(latency_ns, 0.5) AS mid,
		avg(size_bytes) AS size, sum(size_bytes) FILTER (op = 'write') / sum(size_bytes) AS written, avg((op = 'flush')::INTEGER) AS sync, avg((op = 'read')::INTEGER) AS reads
	FROM e GROUP BY ALL
), again AS (
	SELECT d, time_ns // {win} AS win, avg((time_ns - before < 30000000000)::INTEGER) AS share
	FROM (SELECT d, time_ns, lag(time_ns) OVER (PARTITION BY d, offset_bytes // 4096 ORDER BY time_ns) AS before FROM e WHERE op = 'read')
	GROUP BY ALL
)
SELECT host, device, win, log10(mean / 1000) - log10(greatest(depth, 1)), asinh(kurtosis), sqrt(greatest(uneven, 0)),
	w.busy * exp(-cv / 0.15) * least(greatest(log10(size + 512) - 4.4, 0), 1), log10(greatest(depth, 1)), sqrt(jumps), w.busy,
	least(log10(peak + 1) / 2, 1) * (1 - w.busy), sqrt(e.written * greatest(flood, 0)), sqrt(sync), sqrt(share * sqrt(reads)), greatest(log10(gap / greatest(1e8, 8 * mid)), 0)
FROM events e LEFT JOIN windows w USING (d, win) LEFT JOIN again USING (d, win) JOIN names USING (d)
) TO '{out}' (FORMAT parquet)`
