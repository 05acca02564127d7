SELECT version(),
       pg_is_in_recovery(),
       current_setting('is_superuser') = 'on',
       pg_has_role('pg_read_all_settings', 'usage'),
       pg_has_role('pg_monitor', 'usage'),
       current_user::text,
       ARRAY(SELECT rolname::text FROM pg_roles WHERE rolname = ANY ($1) ORDER BY 1),
       ARRAY(SELECT DISTINCT split_part(name, '.', 1) FROM pg_settings
             WHERE split_part(name, '.', 1) = ANY ($2) AND name LIKE '%.%' ORDER BY 1),
       EXISTS (SELECT FROM pg_proc WHERE proname = 'aurora_version')
-- Who we are, and the marks that providers leave: roles, settings with a prefix
-- of their own, Aurora's function.
