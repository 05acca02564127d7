WITH s AS (
    SELECT name, setting FROM pg_settings
    WHERE name IN ('data_directory', 'huge_pages', 'huge_pages_status', 'huge_page_size',
                   'shared_memory_size_in_huge_pages', 'shared_memory_size', 'max_connections')
)
SELECT current_setting('server_version'),
       current_setting('server_version_num')::int,
       pg_postmaster_start_time(),
       current_database()::text,
       current_user::text,
       (pg_size_bytes(current_setting('shared_buffers')) / 1024)::bigint,
       (SELECT setting FROM s WHERE name = 'data_directory'),
       (SELECT setting FROM s WHERE name = 'huge_pages'),
       (SELECT setting FROM s WHERE name = 'huge_pages_status'),
       (SELECT setting::bigint FROM s WHERE name = 'huge_page_size'),
       (SELECT setting::bigint FROM s WHERE name = 'shared_memory_size_in_huge_pages'),
       (SELECT setting::bigint * 1024 FROM s WHERE name = 'shared_memory_size'),
       (SELECT setting::int FROM s WHERE name = 'max_connections')
-- What the server says about itself (13 to 18). pg_settings, not
-- current_setting, for what another version does not have or this role may not
-- see: then the column is NULL.
