SELECT coalesce(d.datname::text, ''),
       coalesce(r.rolname::text, ''),
       split_part(c, '=', 1),
       substr(c, strpos(c, '=') + 1)
FROM pg_db_role_setting s
CROSS JOIN unnest(s.setconfig) c
LEFT JOIN pg_database d ON d.oid = s.setdatabase
LEFT JOIN pg_roles r ON r.oid = s.setrole
ORDER BY 3, 1, 2
-- ALTER DATABASE ... SET and ALTER ROLE ... SET; both names where the setting is
-- for a role in one database.
