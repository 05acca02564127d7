SELECT pid,
       coalesce(backend_type, ''),
       coalesce(state, ''),
       coalesce(datname::text, ''),
       coalesce(usename::text, ''),
       coalesce(application_name, ''),
       coalesce(wait_event_type, ''),
       coalesce(wait_event, ''),
       coalesce(query, ''),
       backend_start
FROM pg_stat_activity
-- Every process that the server lists, auxiliary ones included (13 to 18).
-- No text function touches query: its bytes may be no valid text here, when it
-- comes from a database with another encoding. Columns of other roles are NULL
-- without pg_read_all_stats.
