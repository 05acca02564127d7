SELECT coalesce(usename::text, ''), count(*)::int
FROM pg_stat_activity
WHERE datid IS NOT NULL AND coalesce(backend_type, 'client backend') = 'client backend'
  AND pid <> pg_backend_pid()
GROUP BY 1
ORDER BY 2 DESC, 1
-- Client sessions but our own. backend_type of other roles is NULL without
-- pg_read_all_stats; only parallel workers are counted too then.
