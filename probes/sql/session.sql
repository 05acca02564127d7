SELECT pg_backend_pid(),
       current_setting('server_version_num')::int,
       a.backend_start,
       coalesce(host(a.client_addr), ''),
       coalesce(a.client_port, -1),
       octet_length(repeat(' ', least(30 << 20, current_setting('max_connections')::int * 4096)))
FROM pg_stat_get_activity(pg_backend_pid()) a
-- pgtlb's own session as the server sees it, once per connection. The last
-- column is there for what it leaves behind: after it has freed one large piece,
-- glibc's malloc gives smaller ones no more back to the kernel. Otherwise every
-- read of pg_stat_activity, for which the server copies all of it, gets that
-- memory anew, which for 1,000 connections are 350 page faults a second.
