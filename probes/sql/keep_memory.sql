SELECT octet_length(repeat(' ', least(4 << 20,
       current_setting('max_connections')::bigint * (pg_size_bytes(current_setting('track_activity_query_size')) + 1024))::int))
-- Once per connection that reads pg_stat_activity, for what it leaves behind: after
-- it has freed one large piece, glibc's malloc gives smaller ones no more back to
-- the kernel. Otherwise every read, for which the server copies all rows, gets that
-- memory anew, page fault by page fault. The piece is as large as the copy, 4 MB at
-- most, and is given back at once.
