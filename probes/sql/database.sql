SELECT sum(xact_commit)::float8,
       sum(xact_rollback)::float8,
       sum(blks_hit)::float8,
       sum(blks_read)::float8,
       sum(temp_files)::float8,
       sum(temp_bytes)::float8,
       sum(tup_returned)::float8,
       sum(tup_fetched)::float8,
       sum(tup_inserted)::float8,
       sum(tup_updated)::float8,
       sum(tup_deleted)::float8
FROM pg_stat_database
-- Sums over all databases and the shared objects (13 to 18).
