SELECT coalesce(sourcefile, ''),
       coalesce(sourceline, 0),
       coalesce(name, ''),
       coalesce(setting, ''),
       coalesce(applied, false),
       coalesce(error, '')
FROM pg_file_settings
ORDER BY seqno
-- The configuration files as they are on disk now. For superusers, and for roles
-- that were granted the view and its function.
