SELECT coalesce(sum(calls), 0)::float8, coalesce(sum(total_exec_time), 0)::float8
FROM {schema}.pg_stat_statements(false)
-- Before version 1.9 of the extension. false: without the query texts, which
-- would be read from a file each time.
