SELECT pg_backend_pid(),
       current_setting('server_version_num')::int,
       a.backend_start,
       pg_size_bytes(current_setting('track_activity_query_size'))::int,
       coalesce(host(a.client_addr), ''),
       coalesce(a.client_port, -1)
FROM pg_stat_get_activity(pg_backend_pid()) a
-- pgtlb's own session as the server sees it, once per connection.
