SELECT quote_ident(n.nspname), e.extversion
FROM pg_extension e
JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'pg_stat_statements'
-- Where pg_stat_statements is installed in this database, if it is.
