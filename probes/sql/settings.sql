SELECT name, current_setting(name), source
FROM pg_settings
WHERE source NOT IN ('default', 'override', 'client', 'session')
ORDER BY name
-- Settings that somebody made, with the value as SHOW prints it. Left out are
-- what the server computes (override) and pgtlb's own session (client, session).
