SELECT coalesce(sum(calls), 0)::float8, coalesce(sum(total_exec_time), 0)::float8
FROM {schema}.pg_stat_statements(false)
WHERE toplevel
-- From version 1.9 on nested statements can be told apart: counting them would
-- count their time twice.
