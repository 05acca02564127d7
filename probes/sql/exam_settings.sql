WITH altered AS (
    SELECT DISTINCT split_part(c, '=', 1) AS name
    FROM pg_db_role_setting, unnest(setconfig) c
)
SELECT s.name,
       current_setting(s.name),
       s.setting,
       coalesce(s.unit, ''),
       s.vartype,
       s.context,
       s.source,
       coalesce(s.sourcefile, ''),
       coalesce(s.sourceline, 0),
       coalesce(s.boot_val, ''),
       coalesce(s.reset_val, ''),
       s.pending_restart
FROM pg_settings s
WHERE s.source NOT IN ('default', 'client', 'session')
   OR s.pending_restart
   OR s.name IN (SELECT name FROM altered)
   OR s.name = ANY ($1)
ORDER BY s.name
-- Settings that somebody made or that a database or role has of its own, and
-- those that checks ask for by name. Left out is pgtlb's own session (client,
-- session). File and line are NULL without pg_read_all_settings, and settings
-- for superusers have no row then.
